"""Certificates under constraints: every allowed component is tried, evidence is arbitrary, claims are tampered with."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca import Certificate, CertificateError, Constraints, verify
from certpca.checker import examine, fingerprint
from certpca.results.certificate import Source
from certpca.runtime.errors import DataFileError
from certpca.runtime.limits import with_limits
from tests.attacks.random_trees import LEAVES, RandomTree, flat
from tests.brute_force import constrained_brute_force

CLOSE = 1e-9  # relative: nearer to the optimum floating point does not decide


def drawn(rng: np.random.Generator, size: int, sparsity: int) -> Constraints:
    """Draw constraints that allow something."""
    while True:
        order = rng.permutation(size).tolist()
        include = order[: int(rng.integers(0, min(sparsity, 2) + 1))]
        exclude = order[2 : 2 + int(rng.integers(0, size - sparsity + 1))]
        groups, rest = [], rng.permutation(size).tolist()
        while rng.random() < 0.6 and sparsity >= 2:
            count = int(rng.integers(2, sparsity + 1))
            group, rest = rest[:count], rest[count:]
            groups += [tuple(sorted(group))] if len(group) == count else []
        found = Constraints(
            tuple(sorted(include)),
            tuple(sorted(set(exclude) - set(include))),
            tuple(sorted(groups)),
            bool(rng.random() < 0.5),
        )
        meant = found.completed
        apart = not set(meant.include) & set(meant.exclude)
        if apart and len(meant.include) <= sparsity <= size - len(meant.exclude):
            return found


def problem(rng: np.random.Generator) -> tuple[Source, np.ndarray, int, Constraints]:
    """Draw data or a matrix, with near copies and whole numbers, and what is asked."""
    size, rows = int(rng.integers(4, 8)), int(rng.integers(3, 12))
    data = rng.standard_normal((rows, size)) if rng.random() < 0.6 else rng.integers(0, 3, (rows, size)).astype(float)
    data[:, -1] += data[:, 0] * float(rng.integers(-1, 2))
    centred = data - data.mean(axis=0)
    matrix = centred.T @ centred / (rows - 1)
    sparsity = int(rng.integers(1, size))
    source = Source("data", data, center=True, divisor=float(rows - 1))
    if rng.random() < 0.3:
        source = Source("matrix", matrix)
    return source, matrix, sparsity, drawn(rng, size, sparsity)


def draft(source: Source, sparsity: int, constraints: Constraints, **more: Any) -> Certificate:
    """State a claim whose component is whatever is allowed."""
    meant, size = constraints.completed, int(source.values.shape[1])
    # One feature that fits: of those that are forced in, or any that is not left out and whose group fits.
    fitting = (i for i in range(size) if i not in meant.exclude and constraints.places_taken([i]) <= sparsity)
    support = meant.include[:1] or (next(fitting),)
    return Certificate(
        kind=more.pop("kind"),
        size=size,
        sparsity=sparsity,
        upper_bound=np.inf,
        matrix="",
        normalisation=source.normalisation(),
        fingerprint=fingerprint(source),
        support=np.array(support),
        loadings=np.ones(1),
        constraints=constraints,
        **more,
    )


@pytest.mark.parametrize("seed", range(24))
def test_the_optimum_is_found_and_proved(seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    source, matrix, sparsity, asked = problem(rng)
    operator = certpca.from_data(source.values) if source.kind == "data" else certpca.from_matrix(source.values)
    given = {name: getattr(asked, name) for name in ("include", "exclude", "groups", "nonnegative")}
    solver = "auto" if seed % 3 else "branch-and-bound"
    found = certpca.solve(operator, sparsity, solver, certify=True, target_gap=1e-6, time_limit=60, **given)
    best = constrained_brute_force(matrix, sparsity, asked)
    assert found.certificate is not None
    proof = verify(found.certificate, operator, constraints=asked)
    assert proof.objective <= best * (1 + CLOSE) + 1e-12
    assert proof.upper_bound >= best * (1 - CLOSE)
    assert found.objective == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert proof.gap <= 1e-5
    assert proof.constraints == asked


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["trace", "row-sums", "largest-eigenvalue"])
def test_bounds_for_all_supports_hold_for_those_that_are_allowed(kind: str, seed: int) -> None:
    source, matrix, sparsity, asked = problem(np.random.default_rng([seed, 2]))
    proof = examine(draft(source, sparsity, asked, kind=kind), source)
    assert proof.upper_bound >= constrained_brute_force(matrix, sparsity, asked) * (1 - 1e-12)
    kept = asked.kept(matrix.shape[0])
    part = examine(
        draft(Source("matrix", matrix[np.ix_(kept, kept)]), sparsity, Constraints(), kind=kind),
        Source("matrix", matrix[np.ix_(kept, kept)]),
    )
    assert proof.upper_bound == pytest.approx(part.upper_bound, rel=1e-9)  # what is left out has no part


def implied(asked: Constraints, sparsity: int) -> Any:
    """Return what follows at a node of a tree, worked out without the checker; where nothing is left, anything."""

    def completed(inside: list[int], free: list[int]) -> tuple[list[int], list[int]]:
        for group in asked.groups:
            if set(group) & set(inside):
                inside = [*inside, *(i for i in free if i in group)]
                free = [i for i in free if i not in group]
        for group in asked.groups:
            missing = not set(group) <= {*inside, *free}
            if missing or (len(group) > sparsity - len(inside) and not set(group) & set(inside)):
                free = [i for i in free if i not in group]
        return inside, free

    return completed


def attacked(seed: int) -> tuple[float, float] | None:
    """Return what a random tree proves and the optimum, or None where the tree is refused."""
    rng = np.random.default_rng([seed, 3])
    source, matrix, sparsity, asked = problem(rng)
    kept = asked.kept(matrix.shape[0])
    inner, here = asked.completed.on(kept), matrix[np.ix_(kept, kept)]
    best = tuple(int(i) for i in np.argsort(-np.diagonal(here))[:sparsity])
    free = tuple(i for i in range(kept.size) if i not in inner.include)
    raising = asked.nonnegative and rng.random() < 0.7
    with np.errstate(all="ignore"):
        tree = RandomTree(
            rng,
            here,
            sparsity,
            best,
            inside=inner.include,
            free=free,
            completed=implied(inner, sparsity),
            leaves=(*LEAVES, *["raised"] * (4 * raising)),
        )
    evidence = dict(tree.evidence)
    if raising:
        evidence["raised"] = np.maximum(-here, 0.0) * (rng.random() < 0.8) + rng.random() * (rng.random() < 0.2)
        for number in range(2):
            evidence[f"raise{number}_features"] = np.arange(kept.size)
            evidence[f"raise{number}_entries"] = np.maximum(rng.standard_normal(here.shape) * here.max() - here, 0.0)
    claim = draft(source, sparsity, asked, kind="search-tree", evidence=evidence, tree=flat(tree.tree))
    try:
        proof = examine(claim, source)
    except CertificateError:
        return None
    return proof.upper_bound, constrained_brute_force(matrix, sparsity, asked)


@pytest.mark.parametrize("seed", range(150))
def test_no_tree_proves_less_than_the_optimum(seed: int) -> None:
    found = attacked(seed)
    if found is not None:
        assert found[0] >= found[1] * (1 - CLOSE)


def test_random_trees_are_not_all_refused_and_not_all_loose() -> None:
    found = [answer for seed in range(150) if (answer := attacked(seed)) is not None]
    assert len(found) > 40
    assert sum(bound < 1.001 * optimum for bound, optimum in found) > 10


@pytest.mark.parametrize("seed", range(6))
def test_forced_features_in_cells_of_counts(seed: int) -> None:
    rng = np.random.default_rng([seed, 4])
    data = rng.standard_normal((8, 14))
    include = sorted(rng.choice(14, 2, replace=False).tolist())
    # A small problem is treated as a large one.
    with with_limits(few_features=4, searched_supports=0, constrained_supports=0, always_optimal=0):
        certificate = certpca.certify(data, 4, include=include, target_gap=1e-3, time_limit=60)
    best = constrained_brute_force(np.cov(data.T), 4, Constraints(include=tuple(include)))
    proof = verify(certificate, data)
    assert best * (1 - CLOSE) <= proof.upper_bound
    assert certificate.kind == "count-tree"
    free = constrained_brute_force(np.cov(data.T), 4, Constraints())
    assert proof.upper_bound < max(free, best * 1.2)  # the bound knows of them


# --- tampering --------------------------------------------------------------------------------------------------------


ASKED = Constraints(include=(3,), exclude=(0,), groups=((1, 2), (5, 6)), nonnegative=True)


@pytest.fixture(scope="module")
def data() -> np.ndarray:
    rng = np.random.default_rng(5)
    noise, score = rng.standard_normal((9, 8)), rng.standard_normal((9, 1))
    return np.asarray(noise + 2.0 * score * np.array([3, 1, 1, 0, 0, 0, 1, 1]))


@pytest.fixture(scope="module")
def certificate(data: np.ndarray) -> Certificate:
    given = {name: getattr(ASKED, name) for name in ("include", "exclude", "groups", "nonnegative")}
    return certpca.certify(data, 4, target_gap=1e-6, **given)


@pytest.mark.parametrize(
    "change",
    [
        {"include": ()},
        {"exclude": ()},
        {"groups": ()},
        {"groups": ((1, 2),)},
        {"nonnegative": False},
        {"include": (4,)},
        {"exclude": (0, 7)},
        {"groups": ((1, 2), (5, 7))},
        {"include": (), "exclude": (), "groups": (), "nonnegative": False},
    ],
    ids=str,
)
def test_other_constraints_are_refused_or_proved(
    certificate: Certificate, data: np.ndarray, change: dict[str, Any]
) -> None:
    stated = replace(ASKED, **change)
    claim = replace(certificate, constraints=stated)
    optimum = constrained_brute_force(np.cov(data.T), 4, stated)
    try:
        proof = verify(claim, data)
    except CertificateError:
        return
    assert claim.upper_bound >= optimum * (1 - CLOSE)
    assert proof.constraints == stated


def test_a_claim_about_more_components_than_the_bound_is_about_is_refused(
    certificate: Certificate, data: np.ndarray
) -> None:
    assert certificate.upper_bound < constrained_brute_force(np.cov(data.T), 4, Constraints()) * 0.999
    with pytest.raises(CertificateError):
        verify(replace(certificate, constraints=Constraints()), data)


@pytest.mark.parametrize(
    ("constraints", "why"),
    [
        (Constraints(include=(3,), exclude=(3,)), "forces a feature in and leaves it out"),
        (Constraints(include=(0, 1, 2, 3, 4)), "more features in than its sparsity"),
        (Constraints(exclude=(0, 1, 2, 3, 4)), "fewer than its sparsity"),
        (Constraints(groups=((1, 2), (2, 3))), "in common"),
        (Constraints(groups=((),)), "empty"),
        (Constraints(include=(9,)), "not there"),
        (Constraints(include=(-1,)), "not there"),
        (Constraints(include=(True,)), "not there"),
        (Constraints(exclude=(4, 2)), "not sorted"),
        (Constraints(include=(3, 3)), "not sorted"),
        (Constraints(include=[3]), "not there"),  # type: ignore[arg-type]
        (Constraints(nonnegative=1), "malformed"),  # type: ignore[arg-type]
        (None, "malformed"),
        ({"include": (3,)}, "malformed"),
        (Constraints(groups=(1, 2)), "malformed"),  # type: ignore[arg-type]
    ],
)
def test_constraints_that_make_no_sense(data: np.ndarray, constraints: Any, why: str) -> None:
    plain = certpca.certify(data, 4)
    with pytest.raises(CertificateError, match=why):
        verify(replace(plain, constraints=constraints), data)


@pytest.mark.parametrize(
    ("support", "loadings", "why"),
    [
        ([0, 3], [0.6, 0.8], "left out"),
        ([3, 4], [0.6, -0.8], "negative loading"),
        ([1, 4, 5], [0.6, 0.6, 0.5], "more than its sparsity"),  # both groups and what is forced in
    ],
)
def test_loadings_that_are_not_allowed(
    certificate: Certificate, data: np.ndarray, support: list[int], loadings: list[float], why: str
) -> None:
    claim = replace(certificate, support=np.array(support), loadings=np.array(loadings))
    with pytest.raises(CertificateError, match=why):
        verify(claim, data)


def test_entries_are_raised_for_non_negative_loadings_alone(data: np.ndarray) -> None:
    data = np.random.default_rng(6).standard_normal(data.shape)
    found = certpca.certify(data, 3, nonnegative=True, target_gap=1e-6)
    assert any(name.startswith("raise") for name in found.evidence)
    with pytest.raises(CertificateError, match="negative"):
        verify(replace(found, constraints=Constraints()), data)
    lowered = {name: -value if "raised" in name else value for name, value in found.evidence.items()}
    if "raised" in lowered and lowered["raised"].any():
        with pytest.raises(CertificateError, match="lowers"):
            verify(replace(found, evidence=lowered), data)


# --- files ------------------------------------------------------------------------------------------------------------


def test_files_state_the_constraints_in_a_format_of_their_own(
    certificate: Certificate, data: np.ndarray, tmp_path: Path
) -> None:
    file = tmp_path / "certificate.json"
    certpca.save_certificate(certificate, file)
    fields = json.loads(file.read_text())
    assert fields["format"] == "certpca certificate 2"  # which versions that know no constraints refuse
    proof = verify(certpca.load_certificate(file), data, constraints=ASKED)
    assert isinstance(proof, certpca.Proof)
    assert proof.constraints == ASKED
    for change in (
        {"format": "certpca certificate 1"},
        {"constraints": None},
        {"constraints": {**fields["constraints"], "include": [99]}},
        {"constraints": {**fields["constraints"], "maximum": 3}},
    ):
        file.write_text(json.dumps({**fields, **change}))
        with pytest.raises(DataFileError):
            certpca.load_certificate(file)
    file.write_text(json.dumps({name: value for name, value in fields.items() if name != "constraints"}))
    with pytest.raises(DataFileError, match="constraints"):
        certpca.load_certificate(file)


def test_certificates_without_constraints_are_written_as_before(data: np.ndarray, tmp_path: Path) -> None:
    certpca.save_certificate(certpca.certify(data, 3), tmp_path / "a.json")
    fields = json.loads((tmp_path / "a.json").read_text())
    assert fields["format"] == "certpca certificate 1"
    assert "constraints" not in fields
    assert "weights" not in fields["normalisation"]
