"""Few loadings in a small matrix: there it is calls that cost and not numbers, so all of a search is one compiled loop.

The matrix is at hand, on the host, in double precision; what comes from elsewhere is formed there first.
"""

from certpca.search.narrow.searching import NarrowSearch

__all__ = ["NarrowSearch"]
