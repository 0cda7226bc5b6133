"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

python .ci/lowest_versions.py > lowest.txt && pip install --constraint lowest.txt .

What users install counts, and what reads their files: dependencies and extras. A tool of the tests may be any.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,]+\])?>=(?P<version>[\d.]+)(?:,[^;]*)?(?P<marker>\s*;.*)?$")


def constraints(project: str) -> list[str]:
    """Return a line for each dependency of a pyproject.toml, and for each of its extras."""
    content = tomllib.loads(project)["project"]
    wanted = content["dependencies"] + [name for extra in content["optional-dependencies"].values() for name in extra]
    return sorted({_lowest(requirement) for requirement in wanted})


def _lowest(requirement: str) -> str:
    found = REQUIREMENT.fullmatch(requirement.strip())
    if found is None:
        msg = f"{requirement!r} has no lowest version: write it as name>=version"
        raise ValueError(msg)
    return f"{found['name']}=={found['version']}{found['marker'] or ''}"


if __name__ == "__main__":
    sys.stdout.write("\n".join(constraints((ROOT / "pyproject.toml").read_text(encoding="utf-8"))) + "\n")
