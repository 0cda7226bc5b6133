"""A file format is one file: nothing else in the package knows of it, and everything that reads files does."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.formats import base
from certpca.formats.settings import all_settings, reading_from_json
from certpca.frontends.cli.main import main
from certpca.frontends.report import read_labels
from certpca.runtime.errors import InvalidProblemError, MissingDependencyError

ROOT = Path(__file__).parents[2]
DRAWN = """
\"\"\"Tables as JSON: names, numbers and what is said about the samples.\"\"\"

import json

import numpy as np

from certpca.formats.arranging import Table
from certpca.formats.base import Format, register
from certpca.readers.reading import Setting, whole


@register
class Drawn(Format):
    kind = "drawn tables"
    endings = (".drawn",)
    settings = (Setting("scale_by", whole, "multiply numbers by this", "drawn tables", 1, option={"type": int}),)

    def open(self, file, wanted):
        held = json.loads(file.read_text())
        return Table(wanted.settings["scale_by"] * np.array(held["rows"]), tuple(held["names"]))

    def labels(self, file):
        return json.loads(file.read_text())["labels"]


@register
class Exotic(Format):
    kind = "tables that need a library"
    endings = (".exotic",)
    library = "a_library_that_nobody_has.of_tables"

    def open(self, file, wanted):
        return Table(self.needed().read(file))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that holds a format's module, and nothing else."""
    folder = tmp_path / "more_formats"
    folder.mkdir()
    (folder / "drawn.py").write_text(DRAWN)
    return folder


@pytest.fixture
def drawn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the package find the file as it finds its own, and forget it after the test."""
    import certpca.formats

    monkeypatch.setattr(certpca.formats, "__path__", [*certpca.formats.__path__, str(folder)])
    monkeypatch.setattr(base, "_registry", dict(base._registry))
    yield
    sys.modules.pop("certpca.formats.drawn", None)


@pytest.fixture
def file(tmp_path: Path, rng: np.random.Generator) -> Path:
    rows = rng.integers(0, 9, (20, 4)) * np.array([1, 2, 3, 4])
    labels = {"side": ["left", "right"] * 10}
    file = tmp_path / "a.drawn"
    file.write_text(json.dumps({"names": list("pqrs"), "rows": rows.tolist(), "labels": labels}))
    return file


@pytest.mark.usefixtures("drawn")
def test_it_is_read_with_names_and_settings(file: Path) -> None:
    table, larger = certpca.load_table(file), certpca.load_table(file, scale_by=3)
    assert (table.names, table.understood, table.reading) == (("p", "q", "r", "s"), "20 × 4", {})
    np.testing.assert_array_equal(larger.data, 3 * table.data)
    assert larger.reading == {"scale_by": 3}
    assert certpca.load_table(file, columns=["s", "p"]).names == ("s", "p")
    assert read_labels("side", file, 20) == ("left", "right") * 10
    with pytest.raises(InvalidProblemError, match="scale_by must be a whole number from 1, got 'x'"):
        reading_from_json({"scale_by": "x"})


@pytest.mark.usefixtures("drawn")
def test_what_it_does_not_understand_is_refused_and_so_is_what_others_do_not(file: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,5\n")
    with pytest.raises(InvalidProblemError, match=r"scale_by: only for drawn tables \(\.drawn\), got .*a\.csv"):
        certpca.load_table(tmp_path / "a.csv", scale_by=2)
    with pytest.raises(InvalidProblemError, match=r"maf: only for PLINK files \(\.bed, \.pgen\), got .*a\.drawn"):
        certpca.load_table(file, maf=0.1)
    with pytest.raises(InvalidProblemError, match="memory: only for files that can be streamed"):
        certpca.load_table(file, memory=1.0)
    with pytest.raises(TypeError, match=r"'scale' is no setting for reading a table; there are columns, .*scale_by"):
        certpca.load_table(file, scale=2)


@pytest.mark.usefixtures("drawn")
def test_one_name_means_one_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    known = base.format_of(Path("a.drawn"))
    settings = (replace(all_settings()["header"], help="whether there is one"),)
    monkeypatch.setattr(type(known), "settings", settings)
    with pytest.raises(ValueError, match="two formats have a setting 'header'"):
        all_settings()


@pytest.mark.usefixtures("drawn")
def test_a_library_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.exotic").write_text("?")
    said = r"reading \.exotic files needs a_library.*not installed: pip install a_library_that_nobody_has$"
    with pytest.raises(MissingDependencyError, match=said):
        certpca.load_table(tmp_path / "a.exotic")


@pytest.mark.usefixtures("drawn")
def test_help_and_errors_list_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["solve", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert ".drawn (drawn tables);" in shown
    assert "drawn tables (.drawn): --scale-by SCALE_BY multiply numbers by this" in shown
    with pytest.raises(OSError, match=r"unknown format; known endings are .*\.drawn \(drawn tables\)"):
        certpca.load_table(tmp_path / "a.sketched")


@pytest.mark.usefixtures("drawn")
def test_commands_take_it(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = str(tmp_path / "c.json")
    assert main(["solve", str(file), "-k", "2", "--scale-by", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (set(found["names"]) < set("pqrs"), found["reading"]) == (True, {"scale_by": 2})
    assert main(["certify", str(file), "-k", "2", "--scale-by", "2", "--output", made]) == 0
    assert main(["verify", made, str(file)]) == 0, "it is read as the certificate says"
    assert main(["verify", made, str(file), "--scale-by", "3"]) == 1
    assert "its file was read with --scale-by 2" in capsys.readouterr().err


PROGRAM = """
import sys, certpca.formats
certpca.formats.__path__.append(sys.argv[1])
from certpca.frontends.cli.main import main
sys.exit(main(sys.argv[2:]))
"""


def test_the_file_alone_is_enough_for_a_program(folder: Path, file: Path, tmp_path: Path) -> None:
    made = str(tmp_path / "c.json")
    for words in (["solve", str(file), "-k", "2"], ["certify", str(file), "-k", "2", "--output", made]):
        assert program(folder, *words).returncode == 0
    answer = program(folder, "verify", made, str(file))
    assert (answer.returncode, answer.stderr) == (0, f"{file}: 20 × 4\n")
    (folder / "drawn.py").unlink()
    assert "unknown format" in program(folder, "verify", made, str(file)).stderr


def program(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, str(folder), *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    )


# --- what the formats of the package say of themselves ---------------------------------------------


def test_endings_and_kinds_are_each_one_formats() -> None:
    endings = [ending for known in base.formats() for ending in known.all_endings()]
    assert len(set(endings)) == len(endings)
    for known in base.formats():
        assert base.format_of(Path(f"some{known.endings[0]}")) is known


def test_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for known in base.formats():
        if known.extra:
            packages = " ".join(extras[known.extra])
            assert known.library.partition(".")[0] in packages


@pytest.mark.parametrize("known", base.formats(), ids=lambda known: known.kind)
def test_settings_that_a_format_does_not_have_are_refused(known: base.Format, tmp_path: Path) -> None:
    file = tmp_path / f"a{known.endings[0]}"
    others = [setting for setting in all_settings().values() if setting.files and setting not in known.settings]
    assert others
    for setting in others:
        given: dict[str, Any] = {setting.name: "something"}
        with pytest.raises(InvalidProblemError, match=f"{setting.name}: only for {setting.files}"):
            certpca.load_table(file, **given)


def test_the_table_of_formats_in_the_documentation_is_that_of_the_registry() -> None:
    page = (ROOT / "docs" / "tables.md").read_text()
    rows = [("files", "format", "needs", "settings", "labels"), ("---",) * 5]
    for known in base.formats():
        packed = f", also packed: {_coded(known.packings)}" if known.packings else ""
        needs = f"`certpca[{known.extra}]`" if known.extra else "-"
        flags = [*(setting.flag for setting in known.settings), *(["--memory"] if known.streams else [])]
        labels = "-" if type(known).labels is base.Format.labels else "yes"
        rows.append((_coded(known.endings) + packed, known.kind, needs, _coded(flags) or "-", labels))
    expected = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    assert expected in page, f"write this in docs/tables.md:\n{expected}"


def _coded(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)
