"""A few bytes from a stranger cost neither all memory nor time without end: the checker refuses, with a reason."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import certpca
from certpca import Certificate, CertificateError
from certpca.checker import Examiner, examine, fingerprint
from certpca.checker.data import prepare
from certpca.checker.limits import Limits
from certpca.checker.rules import sdp_dual, trace
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


def test_row_sums_of_wide_data_are_walked_by_blocks(rng: np.random.Generator) -> None:
    source = Source("data", rng.standard_normal((4, 2500)), center=True, divisor=3.0)
    whole = 8 * 2500**2
    certificate = claim(source, "row-sums", 5)
    little = Limits(row_bytes=whole // 20)
    assert peak_of(lambda: Examiner(source, little).examine(certificate)) < whole / 2
    matrix = np.cov(source.values.T)
    expected = np.sort(np.abs(matrix), axis=1)[:, -5:].sum(axis=1).max()
    assert Examiner(source, little).examine(certificate).upper_bound == pytest.approx(expected, rel=1e-9)


def test_row_sums_do_not_depend_on_the_blocks(rng: np.random.Generator) -> None:
    source = Source("data", rng.standard_normal((4, 300)), center=True, divisor=3.0)
    certificate = claim(source, "row-sums", 7)
    at_once = examine(certificate, source).upper_bound
    by_rows = Examiner(source, Limits(row_bytes=8 * 300 * 7)).examine(certificate)
    assert by_rows.upper_bound == pytest.approx(at_once, rel=1e-14)


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
        Examiner(source, Limits(most_work=1e5)).examine(certificate)
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
        ("count-tree", {"cell": 10**5000}),
        ("count-tree", {"group": 0, "most": 2**63, "children": [{"cell": 0}, {"cell": 1}]}),
    ],
)
def test_trees_of_absurd_size_or_numbers(kind: str, tree: Any) -> None:
    source = Source("matrix", np.eye(4))
    evidence = {"scale": np.float64(1.0), "rays": np.ones((2, 4))}
    with pytest.raises(CertificateError, match="refused"):
        Examiner(source, Limits(most_nodes=10)).examine(claim(source, kind, 2, evidence, tree))


def test_matrices_that_are_too_large_to_be_factored_are_refused(rng: np.random.Generator) -> None:
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
    strict = Examiner(source, Limits(largest_dense=30, largest_factored=30))
    for kind, evidence in (("largest-eigenvalue", {}), ("l0-dual", point), ("sdp-dual", clipped)):
        with pytest.raises(CertificateError, match="order 40 is too large to be factored"):
            strict.examine(claim(source, kind, 3, evidence))
    wide = {**clipped, "factor": np.ones((60, sdp_dual.WIDEST_FACTOR + 1))}
    with pytest.raises(CertificateError, match="wrong shape"):
        examine(claim(source, "sdp-dual", 3, wide), source)


def test_tall_data_of_very_many_features_form_no_matrix(rng: np.random.Generator) -> None:
    """The bound is that of the matrix all the same."""
    source = Source("data", rng.standard_normal((90, 60)), center=True, divisor=89.0)
    assert (prepare(source).depth, prepare(source, Limits(largest_dense=50)).depth) == (60, 90)
    formed, not_formed = (
        Examiner(source, limits).examine(claim(source, "trace", 3)).upper_bound
        for limits in (Limits(), Limits(largest_dense=50))
    )
    assert not_formed == pytest.approx(formed, rel=1e-9)


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
