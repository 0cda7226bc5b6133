"""The paper's tables and figures, on pit props: numbers, verdicts and pages."""

import json

import numpy as np
import pytest
from experiments.paper import cases, curves, figures, future_work, table1_constants, table2_pitprops, times, tradeoff
from experiments.paper.figure2_tightness import promises

import certpca
from certpca.bounds.guarantees import low_rank_constant
from experiments import certified_path, data, pages, running


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
    alone = curves._bounds(rows, proofs, [(2, 0.4), (4, 0.65)])
    assert [row["bound"] for row in alone] == [0.4, 0.4, 0.65]


def test_future_work_says_how_far_thresholding_is_below_what_is_proved(pitprops):
    losses = future_work._losses(pitprops)
    assert losses["sparsities"] == [1, 13]
    assert 0 <= losses["raw"][0] <= losses["raw"][1] < 0.1
    assert losses["refitted"][1] <= losses["raw"][1]
    assert losses["theorem"] < 0
    relaxed = {"title": "here", "features": 13, "sparsity": 5, "near": 4, "limit": 9.0}
    relaxed |= {"seconds": {"cold": 2.0, "warm": 1.0, "early": 0.5}, "steps": {"cold": 20, "warm": 7}}
    relaxed |= {"gaps": {"cold": 1e-5, "warm": 1e-5, "early": 0.01}}
    sets = [{"name": "disjoint", "sum": 7.25, "adjusted": 0.5, "gap": 1e-7}]
    recovered = [{"title": "small", "auto": 0.5, "sdp-threshold": 0.4, "svd-threshold": 0.3, "decided": 0.2}]
    future_work.render({"losses": [losses], "relaxed": [relaxed], "components": sets, "recovery": recovered})
    text = (pages.DOCS / "paper.md").read_text()
    assert "at all k on 1 of 1 sets" in text
    assert "1.0 s from the solution for k = 4 (7 steps" in text
    assert "| small | 50% | 40% | 30% | 20% |" in text


def test_the_readme_picture_is_drawn_from_the_curves(pitprops, monkeypatch):
    monkeypatch.setattr(
        curves, "of_case", lambda run, key: {**pitprops, "matrix": {**pitprops["matrix"], "samples": 180}}
    )
    found = json.loads(json.dumps(certified_path.compute(running.Run("certified_path", True, {}))))
    assert found[0]["sparsities"] == [1, 7, 13]
    assert all(bound >= best for bound, best in zip(found[0]["bounds"], found[0]["best"], strict=True))
    certified_path.render(found)
    assert (pages.DOCS / "figures" / "certified_path.png").stat().st_size > 10_000


def test_a_relaxation_serves_every_epsilon_that_keeps_as_much(monkeypatch, tmp_path):
    monkeypatch.setattr(running, "CACHE", tmp_path)
    monkeypatch.setattr(tradeoff, "problem", lambda key: cases.prepared(certpca.pitprops()))
    monkeypatch.setattr(tradeoff, "SHOWN", {"hgdp": 3})
    asked = list[float]()
    answer = tradeoff._answer

    def noted(run, key, algorithm, epsilon):
        asked.append(epsilon)
        return answer(run, key, algorithm, epsilon)

    monkeypatch.setattr(tradeoff, "_answer", noted)
    run = running.Run("paper.tradeoff", True, {})
    wide = tradeoff._answers(run, "hgdp", "spca-sdp")
    assert asked == [0.03]  # nine times k squared is more than there are features
    assert [row["epsilon"] for row in wide] == [1.0, 0.5, 0.03]
    assert len({row["loadings"] for row in wide}) == 1
    assert [row["most"] for row in wide] == sorted(row["most"] for row in wide)
    each = tradeoff._answers(run, "hgdp", "spca-svd")
    assert asked == [0.03, 0.03, 0.5, 1.0]
    assert all(row["captured"] <= row["bound_at_width"] * (1 + 1e-9) for row in each)


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
    constants = [{"key": "here", "beside": "chr1", "n": 37493, "title": "here", "size": 60, "rows": []}]
    printed = dict(zip(("k", "alpha", "beta", "epsilon"), [624, 0.9999, 1.0, 4.63], strict=True))
    spectrum = np.array([10.0, 4.0, 2.0, 1.0])
    constant = low_rank_constant(spectrum, 3, 60, 1, 2.0)
    row = {
        "paper": printed,
        "k": 1,
        "solved": True,
        "alpha": 1.5,
        "beta": 1.0,
        "better_alpha": 1.25,
        "rank": 2,
        "value": 0.5,
        "epsilon": constant,
        "duality_gap": 1e-6,
    }
    unsolved = {**row, "k": 2, "solved": False, "alpha": None, "beta": None, "duality_gap": 0.3}
    constants[0]["rows"] = [row, unsolved]
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
    assert "That does not hold everywhere: α is 1.500 for here at k = 1." in text
    assert "Of the paper's own values of α, 2 of 2 are below one." in text
    assert "- here: 1 of 2 relaxations solved to a proved gap of 0.0001; at 1 of them (k = 1) not both are one" in text
    assert "| 2 | – | – | – |" in text  # what was not solved has no constants
    assert "Agrees on the fastest, which is spca-svd here" in text
    assert "| spca-sdp | about 20 | 15.0 to 30.0 | none, 60 s | 2,400 |" in text
    assert text.index("Running times") < text.index("Table 1")
