"""A few bytes from a stranger cost neither all memory nor time without end: the checker refuses, with a reason."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import certpca
from certpca import Certificate, CertificateError
from certpca.checker import Examiner, examine, fingerprint
from certpca.checker import data as checker_data
from certpca.checker.rules import row_sums, sdp_dual, search_tree, trace
from certpca.results.certificate import Source


def claim(source: Source, kind: str, sparsity: int, evidence: Any = None, tree: Any = None) -> Certificate:
    return Certificate(
        kind=kind,
        size=source.values.shape[1],
        sparsity=sparsity,
        upper_bound=np.inf,
        matrix="",
        normalisation=source.normalisation(),
        fingerprint=fingerprint(source),
        support=np.arange(1),
        loadings=np.ones(1),
        evidence=evidence or {},
        tree=tree,
    )


def peak_of(check: Any) -> int:
    tracemalloc.start()
    check()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_row_sums_of_wide_data_are_walked_by_blocks(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source("data", rng.standard_normal((4, 2500)), center=True, divisor=3.0)
    whole = 8 * 2500**2
    monkeypatch.setattr(row_sums, "ROW_BYTES", whole // 20)
    certificate = claim(source, "row-sums", 5)
    assert peak_of(lambda: examine(certificate, source)) < whole / 2
    matrix = np.cov(source.values.T)
    expected = np.sort(np.abs(matrix), axis=1)[:, -5:].sum(axis=1).max()
    assert examine(certificate, source).upper_bound == pytest.approx(expected, rel=1e-9)


def test_row_sums_do_not_depend_on_the_blocks(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source("data", rng.standard_normal((4, 300)), center=True, divisor=3.0)
    certificate = claim(source, "row-sums", 7)
    at_once = examine(certificate, source).upper_bound
    monkeypatch.setattr(row_sums, "ROW_BYTES", 8 * 300 * 7)
    assert examine(certificate, source).upper_bound == pytest.approx(at_once, rel=1e-14)


def test_one_leaf_does_not_ask_for_very_many_eigenproblems(rng: np.random.Generator) -> None:
    source = Source("matrix", np.cov(rng.standard_normal((60, 30)).T))
    listing = claim(source, "search-tree", 5, {"scale": np.float64(1.0)}, [[{"leaf": "list"}]])  # 142,506 supports
    with pytest.raises(CertificateError, match="lists more than 5,000 supports"):
        examine(listing, source)


def test_many_leaves_may_not_cost_more_than_the_limit(rng: np.random.Generator) -> None:
    size = 40
    source = Source("matrix", np.cov(rng.standard_normal((60, size)).T))
    chain: list[Any] = [[{"split": j, "in": size + j, "out": j + 1}] for j in range(size - 2)]
    chain += [[{"leaf": "eigenvalue"}], [], *([{"leaf": "eigenvalue"}] for _ in range(size))]
    certificate = claim(source, "search-tree", 2, {"scale": np.float64(1.0)}, chain)
    examine(certificate, source)
    with pytest.raises(CertificateError, match="takes more than 100000 multiplications"):
        Examiner(source, most_work=1e5).examine(certificate)
    examiner = Examiner(source)
    for _ in range(3):  # what earlier certificates cost is not counted
        examiner.examine(certificate)


@pytest.mark.parametrize(
    ("kind", "tree"),
    [
        ("search-tree", [[{"leaf": "trace"}]] * 20),
        ("l0-tree", {"cuts": [1, -1], "children": [{"leaf": 10**9}]}),
        ("l0-tree", {"cuts": [1, -1], "children": [{"leaf": True}]}),
        ("l0-tree", {"cuts": [1, -1], "children": [{"leaf": -1}]}),
        ("l0-tree", {"cuts": [True, -1], "children": [{"leaf": 0}]}),
    ],
)
def test_trees_of_absurd_size_or_numbers(kind: str, tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_tree, "MOST_NODES", 10)
    source = Source("matrix", np.eye(4))
    evidence = {"scale": np.float64(1.0), "rays": np.ones((2, 4))}
    with pytest.raises(CertificateError, match="refused"):
        examine(claim(source, kind, 2, evidence, tree), source)


def test_matrices_that_are_too_large_to_be_factored_are_refused(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = rng.standard_normal((40, 60))
    source = Source("data", values, center=True, divisor=39.0)
    point = {"density": np.eye(40)[np.tril_indices(40)], "level": np.float64(0.1)}
    clipped = {
        "factor": np.ones((60, 1)),
        "active": np.arange(3),
        "vector": np.ones(3),
        "repair": np.zeros(60),
        "level": np.float64(1.0),
        "top": np.float64(1.0),
    }
    for kind, evidence in (("largest-eigenvalue", {}), ("l0-dual", point), ("sdp-dual", clipped)):
        examine(claim(source, kind, 3, evidence), source)
    for module in ("rules.largest_eigenvalue", "dual_points", "rules.sdp_dual"):
        for name in ("LARGEST_DENSE", "LARGEST_FACTORED"):
            monkeypatch.setattr(f"certpca.checker.{module}.{name}", 30, raising=False)
    for kind, evidence in (("largest-eigenvalue", {}), ("l0-dual", point), ("sdp-dual", clipped)):
        with pytest.raises(CertificateError, match="order 40 is too large to be factored"):
            examine(claim(source, kind, 3, evidence), source)
    wide = {**clipped, "factor": np.ones((60, sdp_dual.WIDEST_FACTOR + 1))}
    with pytest.raises(CertificateError, match="wrong shape"):
        examine(claim(source, "sdp-dual", 3, wide), source)


def test_tall_data_of_very_many_features_form_no_matrix(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is that of the matrix all the same."""
    source = Source("data", rng.standard_normal((90, 60)), center=True, divisor=89.0)
    formed = examine(claim(source, "trace", 3), source).upper_bound
    monkeypatch.setattr(checker_data, "LARGEST_DENSE", 50)
    assert examine(claim(source, "trace", 3), source).upper_bound == pytest.approx(formed, rel=1e-9)


def test_running_out_of_memory_is_a_refusal(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source("data", rng.standard_normal((9, 6)), center=True, divisor=8.0)

    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(trace, "prove", full)
    with pytest.raises(CertificateError, match="more memory than there is"):
        examine(claim(source, "trace", 3), source)


def test_a_number_of_five_thousand_digits_in_memory(rng: np.random.Generator) -> None:
    source = Source("data", rng.standard_normal((9, 6)), center=True, divisor=8.0)
    long = 10**5000
    for change in ({"size": long}, {"sparsity": long}, {"objective": long}, {"outside": long}, {"upper_bound": -long}):
        with pytest.raises(CertificateError, match="refused"):
            certpca.verify(replace(claim(source, "trace", 3), **change), source.values)  # type: ignore[arg-type]
