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
from experiments.paper import cases, curves, figures, own_files, page, table1_constants, table2_pitprops, times
from experiments.paper.figure2_tightness import promises

from certpca.bounds.guarantees import low_rank_constant
from experiments import data, pages, running

HERE = Path(running.__file__).parent


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Nothing that tests make goes to the checkout."""
    monkeypatch.setattr(running, "CACHE", tmp_path / "cache" / "experiments")
    monkeypatch.setattr(running, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(pages, "DOCS", tmp_path / "docs")
    return tmp_path


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


@pytest.fixture(scope="module")
def pitprops(tmp_path_factory):
    """Pit props measured as the figures measure them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "CACHE", tmp_path_factory.mktemp("cache"))
        yield curves.of_case(running.Run("paper.figure4_more_data", True, {}), "pitprops")


def test_curves_lie_below_what_is_proved(pitprops):
    bounds = {row["sparsity"]: row for row in pitprops["bounds"]}
    assert [row["sparsity"] for row in pitprops["bounds"]] == [1, 7, 13]
    assert {row["method"] for row in pitprops["rows"]} == set(curves.METHODS)
    for row in pitprops["rows"]:
        assert 0 < row["raw"] <= row["refitted"] * (1 + 1e-12)
        assert row["refitted"] <= bounds[row["sparsity"]]["objective"] * (1 + 1e-12)
        assert row["refitted"] <= bounds[row["sparsity"]]["bound"] * (1 + 1e-9)
    assert bounds[7]["objective"] * pitprops["matrix"]["spectrum"][0] == pytest.approx(3.99619, abs=1e-5)
    said = " ".join(figures.verdicts(pitprops))
    assert "agrees with the paper" in said
    assert "within 0.01%" in said


def test_theorems_promise_no_more_than_was_reached(pitprops):
    for row in promises(pitprops):
        assert row["proved"] > 0.999
        for name in ("spca-svd, from its proof", "spca-sdp, k loadings", "spca-lowrank"):
            assert row["least"][name] <= row["achieved"][name.split(",")[0]][1] + 1e-9
        assert row["least"]["spca-svd"] <= row["least"]["spca-svd, from its proof"] + 1e-9
        assert row["least"]["spca-svd"] < 0


def test_a_method_that_falls_behind_is_named(pitprops):
    worse = json.loads(json.dumps(pitprops))
    for row in worse["rows"]:
        if row["method"] == "cwpca" and row["sparsity"] == 7:
            row["refitted"] *= 0.8
            row["cut"] = "OUT_OF_BUDGET"
        if row["method"] == "spca-sdp" and row["sparsity"] == 13:
            row["raw"] = 0.5 * row["refitted"]
    said = " ".join(figures.verdicts(worse))
    assert "at 2 of 3 sparsities" in said
    assert "fall behind the best found, at worst by: cwpca 20.0% (k = 7)." in said
    assert "cwpca stopped at" in said
    assert "With raw loadings, at worst: spca-sdp 50.0% (k = 13)." in said


def test_a_bound_holds_for_smaller_supports_too():
    rows = [{"sparsity": k, "refitted": f, "bound": b} for k, f, b in ((1, 0.3, None), (2, 0.2, 0.5), (3, 0.6, 0.7))]
    proofs = {"sparsities": [1, 2, 3], "objectives": [0.1, 0.2, 0.3], "bounds": [0.9, 0.8, 0.95]}
    brackets = curves._bounds(rows, proofs)
    assert [row["bound"] for row in brackets] == [0.5, 0.5, 0.7]
    assert [row["objective"] for row in brackets] == [0.3, 0.3, 0.6]


def test_density_leaves_out_what_stands_at_the_mean():
    values = np.array([[0, 1, -9], [2, 1, 0], [2, 1, 1]], dtype=np.int8)
    assert cases.density(values) == pytest.approx((3 + 0 + 2) / 9)
    floats = np.array([[0.0, np.nan], [1.0, 2.0], [2.0, 5.0]])
    assert cases.density(floats) == pytest.approx((2 + 2) / 6)


def test_the_papers_sparsities_are_shares_of_its_features():
    assert np.abs(np.subtract(cases.shares_of(37493), cases.CHR1)).max() <= 6
    assert cases.shares_of(20)[0] >= 1


def test_pit_props_agree_with_the_printed_table(shared):
    assert data.paper_tables()["pitprops_k7"]
    result = table2_pitprops.compute(running.Run("paper.table2_pitprops", True, {}))
    table2_pitprops.render(json.loads(json.dumps(result)))
    text = (pages.DOCS / "paper.md").read_text()
    for method in ("spca-svd", "spca-sdp", "dec", "cwpca"):
        assert f"- {method} agrees with the paper to rounding" in text
    assert "captures more than 3.996190" in text


def test_constants_and_times_are_rendered_from_results():
    constants = [{"printed": "chr1", "n": 37493, "title": "here", "size": 60, "rows": []}]
    printed = dict(zip(("k", "alpha", "beta", "epsilon"), [624, 0.9999, 1.0, 4.63], strict=True))
    spectrum = np.array([10.0, 4.0, 2.0, 1.0])
    constant = low_rank_constant(spectrum, 3, 60, 1, 2.0)
    row = {
        "paper": printed,
        "k": 1,
        "alpha": 1.5,
        "beta": 1.0,
        "epsilon": constant,
        "duality_gap": 1e-6,
        "cut": "TOO_LARGE",
    }
    constants[0]["rows"] = [row]
    table1_constants.render(constants)
    seconds = {"spca-svd": 1.0, "spca-sdp": 30.0, "dec": 3.0, "cwpca": 9.0, "spca-lowrank": 2.0, "auto": 20.0}
    hours = {"spca-svd": [2.5, 3], "spca-sdp": [20, 20], "dec": [5, 7], "cwpca": [5, 7], "spca-lowrank": [5, 7]}
    rows = [
        {"method": name, "seconds": [spent / 2, spent], "limit": 60.0, "cut": 0, "paper_hours": hours.get(name)}
        for name, spent in seconds.items()
    ]
    result = {"rows": rows, "limit": 9.0, "proofs": {"count": 2, "seconds": 50.0}, "hardware": "big", "shape": [2, 3]}
    times.render(result)
    text = (pages.DOCS / "paper.md").read_text()
    assert "Disagrees in part: α and β are not one everywhere" in text
    assert "1 of the 1 values of α" in text
    assert "Not solved within the limits of time and memory: k = 1;" in text
    assert "Agrees on the fastest, which is spca-svd here" in text
    assert "| spca-sdp | about 20 | 15.0 to 30.0 | none, 60 s | 2,400 |" in text
    assert text.index("Running times") < text.index("Table 1")


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
