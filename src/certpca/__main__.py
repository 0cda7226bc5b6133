"""`python -m certpca` is the command `certpca`."""

import sys

from certpca.frontends.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
