"""What a release consists of says the same everywhere: version, date, requirements, jobs of the workflows."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import certpca

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_version_and_date_are_the_same_everywhere():
    released = re.findall(r"^## (\S+), (\d{4}-\d{2}-\d{2})$", CHANGES, flags=re.MULTILINE)
    citation = read("CITATION.cff")
    assert released[0] == (certpca.__version__, str(citation["date-released"]))
    assert str(citation["version"]) == certpca.__version__
    assert read("recipe/recipe.yaml")["context"]["version"] == certpca.__version__


def test_changes_begin_with_what_is_not_released():
    headings = re.findall(r"^## .*$", CHANGES, flags=re.MULTILINE)
    assert headings[0] == "## Unreleased"
    assert all(re.fullmatch(r"## \d+\.\d+\.\d+, \d{4}-\d{2}-\d{2}", heading) for heading in headings[1:])


def test_classifiers_are_about_versions_that_are_tested():
    named = {line.rsplit(" ", 1)[1] for line in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", line)}
    tests = read(".github/workflows/ci.yml")["jobs"]["tests"]["strategy"]["matrix"]["python"]
    assert named <= set(tests)
    assert f">={min(named, key=lambda version: int(version[2:]))}" == PROJECT["project"]["requires-python"]


def test_the_conda_recipe_has_the_requirements_of_the_package():
    other_names = {"matplotlib": "matplotlib-base"}  # without a window system
    wanted = {f"python {PROJECT['project']['requires-python']}"}
    for requirement in PROJECT["project"]["dependencies"]:
        name, version = requirement.split(">=")
        wanted.add(f"{other_names.get(name, name)} >={version}")
    recipe = read("recipe/recipe.yaml")
    assert set(recipe["requirements"]["run"]) == wanted
    entries = {" = ".join(entry) for entry in PROJECT["project"]["scripts"].items()}
    assert set(recipe["build"]["python"]["entry_points"]) == entries
    assert recipe["about"]["license"] == PROJECT["project"]["license"]
    assert (ROOT / "recipe" / recipe["source"]["path"] / "pyproject.toml").is_file()
    assert (ROOT / recipe["about"]["license_file"]).is_file()


def test_lowest_versions_are_those_of_pyproject():
    script = ROOT / ".ci" / "lowest_versions.py"
    printed = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout
    lines = printed.splitlines()
    extras = PROJECT["project"]["optional-dependencies"].values()
    assert len(lines) == len(PROJECT["project"]["dependencies"]) + len({name for extra in extras for name in extra})
    assert all(re.match(r"[\w.-]+==[\d.]+( *;|$)", line) for line in lines)
    numpy = next(name for name in PROJECT["project"]["dependencies"] if name.startswith("numpy"))
    assert numpy.replace(">=", "==") in lines


def jobs_of_run() -> set[str]:
    """Return the jobs that ./run knows."""
    return set(re.findall(r"^    ([a-z]+)\)$", (ROOT / "run").read_text(encoding="utf-8"), flags=re.MULTILINE))


def test_help_tells_every_job():
    told = subprocess.run([str(ROOT / "run")], capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"\./run ([a-z]+)", told)) == jobs_of_run()


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_workflows_call_jobs_that_exist(file):
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert set(content) - {True} == {"name", "permissions", "jobs"} | (set(content) & {"concurrency", "env"})
    assert content[True]  # YAML 1.1 reads the key "on" so
    called = set()
    for job in content["jobs"].values():
        assert job["timeout-minutes"] <= 120
        assert job["steps"][0]["uses"].startswith("actions/checkout@")
        cases = job.get("strategy", {}).get("matrix", {}).get("include", [{}])
        for command in filter(None, (step.get("run") for step in job["steps"])):
            for case in cases:
                said = command
                for key, value in case.items():
                    said = said.replace(f"${{{{ matrix.{key} }}}}", value)
                program, name, *rest = said.split()
                assert program == "./run"
                called.add(name)
                assert not [path for path in rest if not (ROOT / path).exists()]
    assert called
    assert called <= jobs_of_run()


def test_everything_that_a_change_must_pass_is_in_the_workflow():
    jobs = re.findall(r"^\./run (\w+)", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(jobs) >= 3
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert not [job for job in jobs if f"./run {job}\n" not in text]
