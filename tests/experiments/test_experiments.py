"""The framework of tables and figures: found, resumed, kept apart from each other's failures, fed with users' files."""

import gzip
import inspect
import itertools
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from experiments.__main__ import main
from experiments.paper import (
    own_files,
    page,
)

from experiments import pages, running

HERE = Path(running.__file__).parent


@pytest.fixture
def artefact(elsewhere, monkeypatch):
    """Makes modules that behave like those of experiments, and makes the command see only them."""
    known = {}

    def make(name, compute, render=lambda result: None, **extra):
        module = ModuleType(f"experiments.{name}")
        file = elsewhere / f"{name}.py"
        file.write_text("# first version\n")
        module.__dict__.update(
            {"TITLE": name, "NEEDS": (), "compute": compute, "render": render, "__file__": str(file), **extra}
        )
        monkeypatch.setitem(sys.modules, f"experiments.{name}", module)
        known[name] = module
        return file

    running._code.cache_clear()
    monkeypatch.setattr(running, "artefacts", lambda: known)
    yield make
    running._code.cache_clear()


def run_main(elsewhere, *arguments):
    return main([*arguments, "--docs", str(elsewhere / "docs")])


def finished(name, *, quick=False):
    """Return a kept result that must be there."""
    content = running.kept(name, quick=quick)
    assert content is not None
    return content


def test_every_module_that_renders_is_found_and_complete():
    written = {
        ".".join(file.relative_to(HERE).with_suffix("").parts)
        for file in HERE.rglob("*.py")
        if "\ndef compute(" in file.read_text() and "\ndef render(" in file.read_text()
    }
    found = running.artefacts()
    assert set(found) == written
    assert {"certified_path", "topics", "paper.figure1_captured", "paper.table2_pitprops"} <= written
    for name, module in found.items():
        assert module.__file__ is not None, f"{name} cannot be imported: {module.TITLE}"
        assert isinstance(module.TITLE, str)
        assert module.TITLE
        assert isinstance(module.NEEDS, tuple)
        assert list(inspect.signature(module.compute).parameters) == ["run"]
        assert len(inspect.signature(module.render).parameters) == 1
        assert (module.__doc__ or "").strip()


def test_every_section_of_the_page_has_its_place():
    mine = {name for name in running.artefacts() if name.startswith("paper.")}
    assert set(page.ORDER) == mine | {"about"}


def test_an_interrupted_run_goes_on_where_it_was(artefact, elsewhere):
    calls = []

    def compute(run):
        def step(name):
            calls.append(name)
            if calls == ["first", "second"]:
                raise KeyboardInterrupt
            return {"step": name}

        return [run.part(f"group: {name}", lambda name=name: step(name)) for name in ("first", "second", "third")]

    artefact("fake", compute)
    with pytest.raises(KeyboardInterrupt):
        run_main(elsewhere, "fake")
    assert running.kept("fake") is None
    assert run_main(elsewhere, "fake") == 0
    assert calls == ["first", "second", "second", "third"]
    content = finished("fake")
    assert content["result"] == [{"step": name} for name in ("first", "second", "third")]
    assert content["profile"] == "full"
    assert {"commit", "versions", "source"} <= content["machine"].keys()
    assert list(content["parts"]) == ["fake group"]


def test_parts_of_other_code_are_computed_again_unless_asked_for(artefact):
    count = itertools.count(1)
    file = artefact("fake", None)

    def part(**settings):
        return running.Run("fake", **{"quick": False, "files": {}, **settings}).part("one", lambda: next(count))

    assert part() == 1
    assert part() == 1
    file.write_text("# second version\n")
    running._code.cache_clear()
    assert part(stale=True) == 1
    assert part() == 2
    assert part(quick=True) == 3  # another profile


def test_a_damaged_part_is_computed_again(artefact):
    artefact("fake", None)
    run = running.Run("fake", False, {})
    assert run.part("one", lambda: 1) == 1
    (file,) = (running.CACHE / "fake").glob("*.json")
    for text in ("", "{", '{"value": 7}'):
        file.write_text(text)
        assert run.part("one", lambda: 2) == 2
        assert json.loads(file.read_text())["value"] == 2


def test_code_is_that_of_the_modules_used_too():
    sources = running._sources(sys.modules["experiments.paper.curves"], set())
    assert {"curves.py", "cases.py", "data.py"} <= {Path(file).name for file in sources}
    assert "pages.py" not in {Path(file).name for file in sources}


def test_one_that_fails_does_not_stop_the_others(artefact, elsewhere, capsys):
    rendered = list[dict[str, int]]()

    def fail(run):
        msg = "no such luck"
        raise ValueError(msg)

    artefact("a_broken", fail)
    artefact("b_unrenderable", lambda run: 1, fail)
    artefact("c_good", lambda run: {"answer": 42}, rendered.append)
    assert run_main(elsewhere) == 1
    assert rendered == [{"answer": 42}]
    said = capsys.readouterr().err
    assert "a_broken: FAILED: ValueError: no such luck" in said
    assert "2 failed" in said
    assert finished("c_good")["result"] == {"answer": 42}


def test_one_that_cannot_be_imported_fails_alone():
    broken = running._broken("gone", SyntaxError("bad"))
    assert "bad" in broken.TITLE
    with pytest.raises(ImportError, match="gone"):
        broken.compute(None)


def test_a_result_that_is_current_is_drawn_and_not_computed(artefact, elsewhere):
    count, rendered = itertools.count(1), list[int]()
    artefact("fake", lambda run: next(count), rendered.append)
    assert run_main(elsewhere) == 0
    assert run_main(elsewhere) == 0
    assert run_main(elsewhere, "--render") == 0
    assert run_main(elsewhere, "--again") == 0
    assert rendered == [1, 1, 1, 2]


def test_quick_results_do_not_replace_full_ones(artefact, elsewhere):
    artefact("fake", lambda run: run.quick)
    assert run_main(elsewhere) == 0
    assert run_main(elsewhere, "--quick") == 0
    assert finished("fake")["result"] is False
    assert finished("fake", quick=True)["result"] is True


def test_data_that_are_absent_skip(artefact, elsewhere, capsys):
    artefact("fake", lambda run: pytest.fail("computed"), NEEDS=("no_such_folder",))
    assert run_main(elsewhere) == 0
    assert "no_such_folder" in capsys.readouterr().err


def test_files_reach_only_those_that_read_them(artefact, elsewhere, capsys):
    seen = {}
    artefact("reads", lambda run: seen.update(run.files), FILES=("hgdp",))
    artefact("does_not", lambda run: seen.update(other=bool(run.files)))
    assert run_main(elsewhere) == 0
    assert "bring --hgdp FILE" in capsys.readouterr().err
    file = elsewhere / "x.bed"
    file.write_bytes(b"x")
    assert run_main(elsewhere, "--hgdp", str(file)) == 0
    assert seen == {"hgdp": file, "other": False}


@pytest.mark.parametrize("arguments", [["nothing_like_this"], ["--hgdp", "/no/such/file.bed"]])
def test_mistakes_on_the_command_line_are_told(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert arguments[-1] in capsys.readouterr().err


def test_one_can_be_left_out(artefact, elsewhere):
    seen = list[str]()
    artefact("first", lambda run: seen.append("first"))
    artefact("second", lambda run: seen.append("second"))
    assert run_main(elsewhere, "--without", "first") == 0
    assert seen == ["second"]


def test_all_are_listed(capsys):
    assert main(["--list"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in running.artefacts())


def test_shared_parts_count_once():
    one = {"seconds": 12.0, "parts": {"curves x": 10.0}}
    other = {"seconds": 11.0, "parts": {"curves x": 10.0}}
    assert running.total_seconds([one, other, {"seconds": 5.0}]) == pytest.approx(18.0)


def test_reused_parts_keep_their_time(artefact, elsewhere):
    artefact("fake", lambda run: run.part("one", lambda: 1))
    running.CACHE.joinpath("fake").mkdir(parents=True)
    first = running.Run("fake", False, {})
    first.part("one", lambda: 1)
    (file,) = (running.CACHE / "fake").glob("*.json")
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "seconds": 100.0}))
    assert run_main(elsewhere) == 0
    assert finished("fake")["seconds"] >= 100.0


def test_sections_are_written_without_touching_others():
    pages.write_section("page", ["a", "b", "c"], "c", ["third"])
    pages.write_section("page", ["a", "b", "c"], "a", ["first", "", "- more"])
    pages.write_section("page", ["a", "b", "c"], "c", ["third, again"])
    text = (pages.DOCS / "page.md").read_text()
    assert text.index("first") < text.index("third, again")
    assert text.count("third") == 1
    assert "- more" in text


def write_bed(file: Path, genotypes: np.ndarray) -> None:
    """Write PLINK files by the format's own description: two bits for each call, variant by variant."""
    samples, variants = genotypes.shape
    code = {2: 0b00, -9: 0b01, 1: 0b10, 0: 0b11}
    content = bytearray([0x6C, 0x1B, 0x01])
    for variant in range(variants):
        for start in range(0, samples, 4):
            byte = 0
            for place, call in enumerate(genotypes[start : start + 4, variant]):
                byte |= code[int(call)] << (2 * place)
            content.append(byte)
    file.write_bytes(bytes(content))
    file.with_suffix(".bim").write_text("".join(f"1\trs{j}\t0\t{j + 1}\tA\tG\n" for j in range(variants)))
    file.with_suffix(".fam").write_text("".join(f"f{i} i{i} 0 0 0 -9\n" for i in range(samples)))


def write_series_matrix(file: Path, values: np.ndarray) -> None:
    samples, probes = values.shape
    lines = ['!Series_title\t"small"', "!Sample_title\t" + "\t".join(f'"s{i}"' for i in range(samples))]
    lines += ["!series_matrix_table_begin", '"ID_REF"\t' + "\t".join(f'"GSM{i}"' for i in range(samples))]
    lines += [f'"probe{j}"\t' + "\t".join(f"{value:.5f}" for value in values[:, j]) for j in range(probes)]
    lines += ["!series_matrix_table_end", ""]
    with gzip.open(file, "wt") as stream:
        stream.write("\n".join(lines))


def test_files_of_users_are_measured_and_drawn(elsewhere, rng, monkeypatch):
    genotypes = rng.binomial(2, 0.3, size=(30, 60)).astype(np.int8)
    genotypes[:15, :20] = rng.binomial(2, 0.8, size=(15, 20))
    genotypes[rng.random(genotypes.shape) < 0.02] = -9
    write_bed(elsewhere / "chr1.bed", genotypes)
    expression = rng.standard_normal((12, 50)) + np.outer(rng.standard_normal(12), np.r_[np.ones(10), np.zeros(40)])
    write_series_matrix(elsewhere / "GSE10072_series_matrix.txt.gz", expression)
    monkeypatch.setattr(own_files, "PROOF_SECONDS", (5.0, 5.0))
    files = ["--hgdp", str(elsewhere / "chr1.bed"), "--gse10072", str(elsewhere / "GSE10072_series_matrix.txt.gz")]
    assert main(["paper.own_files", "--quick", "--docs", str(elsewhere / "docs"), *files]) == 0
    text = (elsewhere / "docs" / "paper.md").read_text()
    assert "`chr1.bed`, 30 × 60, does not have a shape of the paper's HGDP/HapMap matrices" in text
    assert "`GSE10072_series_matrix.txt.gz`, 12 × 50" in text
    assert (elsewhere / "docs" / "figures" / "paper_own_files.png").stat().st_size > 10_000
    kept = finished("paper.own_files", quick=True)
    assert [case["name"] for case in kept["result"]] == ["hgdp", "gse10072"]
    largest = kept["result"][1]["matrix"]["spectrum"][0]
    centred = expression.round(5) - expression.round(5).mean(axis=0)
    assert largest == pytest.approx(np.linalg.svd(centred)[1][0] ** 2 / 11, rel=1e-4)
