"""The page on marker panels says what its numbers say."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import genetics, genetics_page, pages


@pytest.fixture
def result() -> dict[str, Any]:
    """Return what `compute` gives, in small and made up."""
    path = [
        {
            "size": size,
            "captured": float(size),
            "bound": size + 1e-9,
            "gap": 1e-9,
            "proved": 1,
            "excluded": 90,
            "follows": share,
        }
        for size, share in ((1, 0.7), (2, 0.9), (3, 0.99))
    ]
    panel = {
        "names": ["a", "b", "c"],
        "chromosomes": ["1", "1", "2"],
        "positions": [5, 70, 30],
        "counted": ["1"] * 3,
        "other": ["2"] * 3,
        "means": [1.0, 0.5, 0.2],
        "weights": [1.0] * 3,
        "loadings": [[0.6], [-0.6], [0.5]],
        "proved": [[1], [0], [1]],
    }
    labels = ["ASW", "CEU", "MXL", "YRI"] * 3
    scores = np.random.default_rng(0).normal(size=(12, 2)).tolist()
    sides = {"seen": labels, "unseen": labels}
    return {
        "stages": [{"what": "everything", "option": "--chromosomes all", "left": 100}],
        "without": {"size": 3, "on_x": 2},
        "path": path,
        "chosen": path[-1],
        "panel": panel,
        "spans": {"1": 100, "2": 50},
        "verified": {
            "gap": 1e-9,
            "seconds": 0.5,
            "kind": "pair-rows",
            "reading": {"maf": 0.05, "chromosomes": ["autosomes"]},
        },
        "two": {
            "gaps": [0.001, 0.2],
            "markers": 6,
            "variants": 100,
            "labels": sides,
            "scores": {"seen": scores, "unseen": scores},
            "silhouette": {"panel": 0.4, "full": 0.7},
            "right": {"panel": 0.8, "full": 0.9},
            "spread": 0.95,
        },
        "projected": [
            {"data": "x", "samples": 3, "markers": 3, "counts": {"same alleles": 3}, "coverage": 1.0, "difference": 0.0}
        ],
        "linkage": [{"limit": None, "variants": 90, "crowded": 1.0, "gap": 0.01}],
        "speed": [{"data": "x", "samples": 3, "before": 9, "left": 5, "seconds": 0.1}],
        "samples": [9, 3],
        "full": {"variance": 50.0},
    }


def test_the_page_is_written(result: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    genetics.render(result)
    text = " ".join((tmp_path / "genetics.md").read_text().split())
    assert "A panel of **3 markers** out of 100" in text
    assert "no 2 markers capture more than 2.00001," in text  # rounded up
    assert "All 3 panels below are proved to be the best" in text
    assert "--maf 0.05 --chromosomes autosomes" in text
    assert (tmp_path / "figures" / "genetics.png").exists()


def test_it_does_not_claim_what_is_not_proved(result: dict[str, Any]) -> None:
    result["path"][1] |= {"bound": 3.5, "gap": 0.4}
    text = " ".join(genetics_page.lines(result, ""))
    assert "Nor is a smaller one enough" not in text
    assert "proved to be the best of their size" not in text
    assert "40.01%" in text


def test_nearest_means_are_those_of_populations() -> None:
    seen, known = np.array([[0.0, 0], [1, 0], [10, 0], [11, 0]]), np.array(["a", "a", "b", "b"])
    new = np.array([[0.4, 1], [12, 3], [2, 0]])
    assert genetics._nearest(seen, known, new, np.array(["a", "b", "b"])) == pytest.approx(2 / 3)
