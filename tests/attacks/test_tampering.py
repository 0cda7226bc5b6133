"""Whatever is done to a certificate, it is refused or still proves what it claims."""

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca import Certificate, CertificateError, load_certificate, save_certificate, verify
from certpca.checker import examine, fingerprint
from certpca.results.certificate import Source
from certpca.results.evidence import digest_of
from certpca.runtime.errors import DataFileError
from tests.brute_force import brute_force

ROWS, SIZE, SPARSITY = 6, 9, 3


@pytest.fixture
def data(rng: np.random.Generator) -> np.ndarray:
    values = rng.standard_normal((ROWS, SIZE))
    values[:, :SPARSITY] += 2.0 * rng.standard_normal((ROWS, 1))
    return values


@pytest.fixture
def optimum(data: np.ndarray) -> float:
    return float(brute_force(np.cov(data.T), SPARSITY)[0])


@cache
def certified(data: bytes, sparsity: int) -> Certificate:
    values = np.frombuffer(data).reshape(ROWS, SIZE)
    return certpca.certify(values, sparsity, target_gap=1e-4, branching=False)


def with_proved_bound(draft: Certificate, data: np.ndarray) -> Certificate:
    proof = examine(draft, Source(values=data, **draft.normalisation))
    return replace(draft, upper_bound=proof.upper_bound, objective=proof.objective, outside=0, inside=0)


@pytest.fixture
def dual(data: np.ndarray) -> Certificate:
    """One dual point, stored again as the point that screens."""
    plain = certified(data.tobytes(), SPARSITY)
    density = np.eye(ROWS)[np.tril_indices(ROWS)] + 0.1
    point = plain.evidence if plain.kind == "l0-dual" else {"density": density, "level": np.float64(0.1)}
    screening = {f"screen_{name}": value for name, value in point.items()}
    kept = {name: value for name, value in point.items() if name != "theta"}  # roots are for all features
    return with_proved_bound(replace(plain, kind="l0-dual", evidence={**kept, **screening}), data)


@pytest.fixture
def tree(data: np.ndarray, dual: Certificate, rng: np.random.Generator) -> Certificate:
    """A split of all directions in three, the first part refined."""
    evidence: dict[str, Any] = {"rays": rng.standard_normal((4, ROWS))}
    for leaf, pairs in enumerate((2, 2, 1, 1)):
        evidence[f"leaf{leaf}_density"] = dual.evidence["density"]
        evidence[f"leaf{leaf}_level"] = dual.evidence["level"]
        evidence[f"leaf{leaf}_weights"] = 1e-3 * rng.random(pairs)
    refined = {"cuts": [1, 4, 2], "children": [{"leaf": 0}, {"leaf": 1}]}
    branches = {"cuts": [1, 2, 3, -1], "children": [refined, {"leaf": 2}, {"leaf": 3}]}
    return with_proved_bound(replace(dual, kind="l0-tree", evidence=evidence, tree=branches), data)


def survives(certificate: Certificate, data: Any, optimum: float) -> bool:
    """Whether a certificate is accepted; if it is, what it says must be true."""
    try:
        proof = verify(certificate, data)
    except (CertificateError, DataFileError):
        return False
    assert certificate.upper_bound >= optimum
    assert proof.upper_bound >= optimum * (1 - 1e-12)
    if np.isfinite(certificate.upper_bound):
        assert certificate.gap <= 1 - proof.objective / certificate.upper_bound + 1e-7
    else:
        assert np.isnan(certificate.gap)
    return True


def test_untouched_certificates_are_accepted(
    dual: Certificate, tree: Certificate, data: np.ndarray, optimum: float
) -> None:
    assert survives(dual, data, optimum)
    assert survives(tree, data, optimum)


# --- claims and data --------------------------------------------------------------------------------------------------


def with_evidence(certificate: Certificate, **changes: Any) -> Certificate:
    evidence = {**certificate.evidence, **changes}
    return replace(certificate, evidence={name: value for name, value in evidence.items() if value is not None})


REFUSED: dict[str, Callable[[Certificate], Certificate]] = {
    "bound lowered by a millionth": lambda c: replace(c, upper_bound=c.upper_bound * (1 - 1e-6)),
    "bound of zero": lambda c: replace(c, upper_bound=0.0),
    "bound that is not a number": lambda c: replace(c, upper_bound=float("nan")),
    "bound as text": lambda c: replace(c, upper_bound="9" * 9),  # type: ignore[arg-type]
    "objective raised above the bound": lambda c: replace(c, objective=1.01 * c.upper_bound),
    "objective that is not a number": lambda c: replace(c, objective=float("nan")),
    "features excluded that are not": lambda c: replace(c, outside=SIZE),
    "features included that are not": lambda c: replace(c, inside=SIZE),
    "smaller sparsity": lambda c: replace(c, sparsity=SPARSITY - 1),
    "sparsity of zero": lambda c: replace(c, sparsity=0),
    "sparsity beyond the size": lambda c: replace(c, sparsity=SIZE + 1),
    "sparsity as truth value": lambda c: replace(c, sparsity=True),
    "sparsity as text": lambda c: replace(c, sparsity="3"),  # type: ignore[arg-type]
    "sparsity as fraction": lambda c: replace(c, sparsity=3.0),  # type: ignore[arg-type]
    "other size": lambda c: replace(c, size=SIZE - 1),
    "unknown kind": lambda c: replace(c, kind="faith"),
    "kind as list": lambda c: replace(c, kind=["l0-dual"]),  # type: ignore[arg-type]
    "fingerprint changed": lambda c: replace(c, fingerprint="0" * 40),
    "fingerprint as array": lambda c: replace(c, fingerprint=np.arange(3)),  # type: ignore[arg-type]
    "other normalisation": lambda c: replace(c, normalisation={**c.normalisation, "scale": True}),
    "scaling that only equals true": lambda c: replace(c, normalisation={**c.normalisation, "scale": 1}),
    "unknown scaling": lambda c: replace(c, normalisation={**c.normalisation, "scale": "3pq"}),
    "scaling by allele frequencies": lambda c: replace(c, normalisation={**c.normalisation, "scale": "2pq"}),
    "uncentred": lambda c: replace(c, normalisation={**c.normalisation, "center": False}),
    "other divisor": lambda c: replace(c, normalisation={**c.normalisation, "divisor": 1e3}),
    "divisor as text": lambda c: replace(c, normalisation={**c.normalisation, "divisor": "five"}),
    "divisor negative": lambda c: replace(c, normalisation={**c.normalisation, "divisor": -5.0}),
    "divisor zero": lambda c: replace(c, normalisation={**c.normalisation, "divisor": 0.0}),
    "no normalisation": lambda c: replace(c, normalisation={}),
    "normalisation with its own values": lambda c: replace(c, normalisation={**c.normalisation, "values": 1}),
    "claimed to be a matrix": lambda c: replace(c, normalisation={**c.normalisation, "kind": "matrix"}),
    "support out of range": lambda c: replace(c, support=np.array([0, 1, SIZE])),
    "support negative": lambda c: replace(c, support=np.array([-1, 0, 1])),
    "support unsorted": lambda c: replace(c, support=c.support[::-1].copy()),
    "support repeated": lambda c: replace(c, support=np.array([0, 0, 1])),
    # Differences of unsigned numbers wrap around, so this looks sorted to np.diff.
    "support repeated, unsigned": lambda c: replace(c, support=np.array([1, 0, 1], dtype=np.uint8)),
    "support too wide": lambda c: replace(c, support=np.arange(SPARSITY + 1), loadings=np.ones(SPARSITY + 1)),
    "support of fractions": lambda c: replace(c, support=c.support + 0.5),  # type: ignore[arg-type]
    "support ragged": lambda c: replace(c, support=[[0], [1, 2]]),  # type: ignore[arg-type]
    "loadings of another length": lambda c: replace(c, loadings=c.loadings[:-1]),
    "loadings not finite": lambda c: replace(c, loadings=c.loadings * np.inf),
    "loadings zero": lambda c: replace(c, loadings=c.loadings * 0),
    "loadings as text": lambda c: replace(c, loadings=["a"] * SPARSITY),  # type: ignore[arg-type]
    "loadings changed": lambda c: replace(c, loadings=np.array([1.0, -1.0, 1e-3])),
    "no evidence": lambda c: replace(c, evidence={}),
    "evidence that is none": lambda c: replace(c, evidence=None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_changed_claims_are_refused(name: str, dual: Certificate, data: np.ndarray) -> None:
    with pytest.raises(CertificateError, match="refused"):
        verify(REFUSED[name](dual), data)


def test_what_is_weaker_is_accepted(dual: Certificate, data: np.ndarray, optimum: float) -> None:
    assert survives(replace(dual, upper_bound=dual.upper_bound * 2), data, optimum)
    assert survives(replace(dual, upper_bound=np.inf), data, optimum)
    assert survives(replace(dual, loadings=dual.loadings * -1e-200), data, optimum)
    assert survives(replace(dual, support=dual.support.astype(np.uint8)), data, optimum)


def test_evidence_of_a_larger_sparsity_proves_a_smaller_one(
    dual: Certificate, data: np.ndarray, optimum: float
) -> None:
    wide = certified(data.tobytes(), SPARSITY + 1)
    for kind in ("trace", "row-sums", "largest-eigenvalue", "l0-dual"):
        borrowed = replace(dual, kind=kind, evidence=wide.evidence or dual.evidence)
        assert survives(borrowed, data, optimum) in (True, False)
    assert not survives(replace(wide, sparsity=SPARSITY), data, optimum)  # its loadings are too many


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[:, ::-1],
        lambda x: x[::-1],
        lambda x: x * (1 + 1e-15),
        lambda x: x + 1e-9,
        lambda x: x[:-1],
        lambda x: x[:, :-1],
        lambda x: x.T,
        lambda x: np.where(np.arange(x.size).reshape(x.shape) == 7, np.nan, x),
        lambda x: np.where(np.arange(x.size).reshape(x.shape) == 7, np.inf, x),
        lambda x: x.astype(np.float32),
        lambda x: np.zeros((0, SIZE)),
    ],
)
def test_other_data_are_refused(
    change: Callable[[np.ndarray], np.ndarray], dual: Certificate, data: np.ndarray
) -> None:
    with pytest.raises(CertificateError):
        verify(dual, change(data))


def test_fingerprint_copied_to_other_data(dual: Certificate, data: np.ndarray) -> None:
    other = data * 1.5
    forged = replace(dual, fingerprint=fingerprint(Source(values=other, **dual.normalisation)))
    with pytest.raises(CertificateError, match="proves only"):
        verify(forged, other)


def test_normalisation_must_be_that_of_the_operator(dual: Certificate, data: np.ndarray) -> None:
    operator = certpca.from_data(data)
    assert verify(dual, operator).upper_bound == dual.upper_bound
    with pytest.raises(CertificateError, match="normalisation"):
        verify(replace(dual, normalisation={**dual.normalisation, "scale": True}), operator)


# --- evidence ---------------------------------------------------------------------------------------------------------


MALFORMED: dict[str, Any] = {
    "not a number": lambda v: np.full_like(v, np.nan),
    "infinite": lambda v: np.full_like(v, np.inf),
    "overflowing when converted": lambda v: np.full(v.shape, np.longdouble(10) ** 400),
    "text": lambda v: np.full(v.shape, "1"),
    "objects": lambda v: np.full(v.shape, None, dtype=object),
    "complex": lambda v: v.astype(complex),
    "integers": lambda v: np.ones(v.shape, dtype=int),
    "one axis more": lambda v: v[None],
    "empty": lambda v: np.zeros(0),
    "missing": lambda v: None,
}


@pytest.mark.parametrize("name", ["density", "level", "screen_density"])
@pytest.mark.parametrize("how", MALFORMED)
def test_malformed_evidence_is_refused(how: str, name: str, dual: Certificate, data: np.ndarray) -> None:
    if how == "overflowing when converted" and np.finfo(np.longdouble).max == np.finfo(float).max:
        pytest.skip("no wider type here")
    with pytest.raises(CertificateError):
        verify(with_evidence(dual, **{name: MALFORMED[how](np.asarray(dual.evidence[name]))}), data)


@pytest.mark.parametrize("level", [-1.0, -1e-300, 1e300])
def test_levels_out_of_reach_are_refused(level: float, dual: Certificate, data: np.ndarray) -> None:
    with pytest.raises(CertificateError):
        verify(with_evidence(dual, level=np.float64(level)), data)


def test_perturbed_evidence_proves_less_or_as_much(
    dual: Certificate, tree: Certificate, data: np.ndarray, optimum: float, rng: np.random.Generator
) -> None:
    source = Source(values=data, **dual.normalisation)
    for certificate in (dual, tree):
        for name in certificate.evidence:
            value = np.asarray(certificate.evidence[name], dtype=np.float64)
            for size in (1e-6, 1.0, 1e6):
                noise = size * (rng.standard_normal(value.shape) if "weights" not in name else rng.random(value.shape))
                changed = with_evidence(certificate, **{name: np.asarray(value + noise)})
                survives(changed, data, optimum)
                try:
                    proof = examine(changed, source)
                except CertificateError:
                    continue
                assert proof.upper_bound >= optimum * (1 - 1e-12)


@pytest.mark.parametrize("kind", ["trace", "row-sums", "largest-eigenvalue", "l0-dual", "l0-tree", "count-tree"])
def test_swapped_kinds(kind: str, dual: Certificate, tree: Certificate, data: np.ndarray, optimum: float) -> None:
    for certificate in (dual, tree):
        survives(replace(certificate, kind=kind), data, optimum)
        survives(replace(certificate, kind=kind, upper_bound=optimum * (1 + 1e-9)), data, optimum)


def test_screening_cannot_be_invented(dual: Certificate, data: np.ndarray, optimum: float) -> None:
    plain = with_evidence(dual, screen_density=None, screen_level=None)
    alone = with_evidence(plain, screen_level=np.float64(0.0))
    assert not survives(alone, data, optimum)
    for level in (0.0, 1e-3, float(dual.evidence["level"]), 1e3):
        invented = with_evidence(plain, screen_level=np.float64(level), screen_density=dual.evidence["density"])
        survives(
            replace(invented, upper_bound=optimum * (1 + 1e-12), support=np.arange(1), loadings=np.ones(1)), data, 0.0
        )
        survives(invented, data, optimum)


# --- trees ------------------------------------------------------------------------------------------------------------


LEAF0, LEAF1, LEAF2, LEAF3 = ({"leaf": number} for number in range(4))
REFINED = {"cuts": [1, 4, 2], "children": [LEAF0, LEAF1]}


def cycle() -> dict[str, Any]:
    node: dict[str, Any] = {"cuts": [1, -1]}
    node["children"] = [node]
    return node


def ladder(depth: int) -> dict[str, Any]:
    node: dict[str, Any] = {"leaf": 0}
    for _ in range(depth):
        node = {"cuts": [1, -1], "children": [node]}
    return node


def doubled(depth: int) -> dict[str, Any]:
    """A few nodes that stand for two to the power of `depth`."""
    node: dict[str, Any] = {"leaf": 0}
    for _ in range(depth):
        node = {"cuts": [1, 2, -1], "children": [node, node]}
    return node


BAD_TREES: dict[str, Any] = {
    "none": None,
    "number": 3,
    "list": [LEAF0],
    "empty": {},
    "leaf removed": {"cuts": [1, 2, 3, -1], "children": [REFINED, LEAF2]},
    "leaf and cut removed": {"cuts": [1, 2, 3], "children": [REFINED, LEAF2]},
    "leaf duplicated": {"cuts": [1, 2, 3, -1], "children": [REFINED, LEAF2, LEAF2]},
    "sign changed": {"cuts": [1, 2, 3, 1], "children": [REFINED, LEAF2, LEAF3]},
    "other end": {"cuts": [1, 2, 3, -2], "children": [REFINED, LEAF2, LEAF3]},
    "refinement of another pair": {
        "cuts": [1, 2, 3, -1],
        "children": [LEAF2, {"cuts": [1, 4, 2], "children": [LEAF0, LEAF1]}, LEAF3],
    },
    "refinement the wrong way round": {
        "cuts": [1, 2, 3, -1],
        "children": [{"cuts": [2, 4, 1], "children": [LEAF0, LEAF1]}, LEAF2, LEAF3],
    },
    "ray that is not there": {"cuts": [9, 2, 3, -9], "children": [REFINED, LEAF2, LEAF3]},
    "ray zero": {"cuts": [0, 2, 3, 0], "children": [REFINED, LEAF2, LEAF3]},
    "cuts as text": {"cuts": "1-1", "children": [LEAF2]},
    "cuts of text": {"cuts": ["1", "-1"], "children": [LEAF2]},
    "cuts of fractions": {"cuts": [1.0, -1.0], "children": [LEAF2]},
    "one cut": {"cuts": [1], "children": []},
    "no children": {"cuts": [1, -1], "children": []},
    "child malformed": {"cuts": [1, -1], "children": [None]},
    "leaf as text": {"leaf": "0"},
    "leaf as fraction": {"leaf": 0.0},
    "leaf without evidence": {"leaf": 17},
    "wrong number of weights": LEAF0,
    "cycle": cycle(),
    "depth bomb": ladder(900),
    "width bomb": doubled(150),
}


@pytest.mark.parametrize("name", BAD_TREES)
def test_bad_trees_are_refused(name: str, tree: Certificate, data: np.ndarray) -> None:
    with pytest.raises(CertificateError, match="refused"):
        verify(replace(tree, tree=BAD_TREES[name]), data)


BAD_BRANCHES: dict[str, dict[str, Any]] = {
    "negative weight": {"leaf2_weights": np.array([-1e-9])},
    "weight that is not a number": {"leaf2_weights": np.array([np.nan])},
    "weights too many": {"leaf2_weights": np.zeros(2)},
    "weights missing": {"leaf2_weights": None},
    "weight beyond all numbers": {"leaf2_weights": np.array([1.7e308])},
    "rays of another depth": {"rays": np.ones((4, ROWS + 1))},
    "rays missing": {"rays": None},
    "rays too few": {"rays": np.ones((1, ROWS))},
    "rays flat": {"rays": np.ones(4)},
    "rays zero": {"rays": np.zeros((4, ROWS))},
    # Products of these vanish, and with large weights their roundings once made three parts leave a gap.
    "rays whose products vanish": {"rays": np.full((4, ROWS), 1e-162)},
    "rays enormous": {"rays": np.full((4, ROWS), 1e160)},
    "rays infinite": {"rays": np.full((4, ROWS), np.inf)},
    "leaf missing": {"leaf3_density": None},
    "leaf level negative": {"leaf0_level": np.float64(-1.0)},
}


@pytest.mark.parametrize("name", BAD_BRANCHES)
def test_bad_branches_are_refused(name: str, tree: Certificate, data: np.ndarray) -> None:
    with pytest.raises(CertificateError, match="refused"):
        verify(with_evidence(tree, **BAD_BRANCHES[name]), data)


def test_swapped_leaves_prove_less_or_as_much(tree: Certificate, data: np.ndarray, optimum: float) -> None:
    for name in ("density", "level", "weights"):
        first, second = f"leaf0_{name}", f"leaf1_{name}"
        swapped = with_evidence(tree, **{first: tree.evidence[second], second: tree.evidence[first]})
        survives(swapped, data, optimum)
        assert examine(swapped, Source(values=data, **tree.normalisation)).upper_bound >= optimum


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def file(dual: Certificate, tmp_path: Path) -> Path:
    save_certificate(dual, tmp_path / "a.json")
    return tmp_path / "a.json"


def rewrite(file: Path, **changes: Any) -> None:
    fields = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps(fields))


def evidence_of(file: Path) -> Path:
    return file.parent / str(json.loads(file.read_text())["evidence"]["file"])


def sign_again(file: Path) -> None:
    """Do what a forger would: store the digest of the evidence as it is now."""
    evidence = evidence_of(file)
    with evidence.open("rb") as stream:
        rewrite(file, evidence={"file": evidence.name, "digest": digest_of(stream)})


def file_survives(file: Path, data: np.ndarray, optimum: float) -> bool:
    try:
        certificate = load_certificate(file)
    except DataFileError:
        return False
    assert isinstance(certificate, Certificate)
    return survives(certificate, data, optimum)


FIELDS: dict[str, Any] = {
    "kind": [None, 1, ["trace"], {"trace": 1}, "", "TRACE"],
    "sparsity": [True, "3", 3.5, None, [3], -3, 0, 10**30],
    "size": ["9", None, [9], 8, -9],
    "upper_bound": [None, "much", [1.0], {}, -1.0, 0, True, 1e-300],
    "objective": [None, "much", float("nan"), float("inf"), 1e300],
    "features_in_no_optimum": ["all", None, SIZE, float("nan")],
    "features_in_every_optimum": ["all", None, SIZE],
    "normalisation": [None, [], "data", 5, {"kind": "data"}, {"kind": ["data"]}],
    "fingerprint": [None, 5, "", ["0"]],
    "support": [None, "012", [0, 1], [0, 1, 99], [[0, 1, 2]], ["a", "b", "c"], [0.5, 1.5, "x"], {}, [None] * 3],
    "loadings": [None, "abc", [1.0], [[1.0, 1.0, 1.0]], [1.0, 1.0, "x"], [float("nan")] * 3],
    "evidence": [None, 3, {}, {"file": "a.npz"}, {"file": "nowhere.npz", "digest": ""}, {"file": 3, "digest": 3}],
    "format": [None, "certpca solution 1", 1],
}


@pytest.mark.parametrize("field", FIELDS)
def test_confused_fields_are_refused(field: str, file: Path, data: np.ndarray, optimum: float) -> None:
    whole = file.read_text()
    for value in FIELDS[field]:
        file.write_text(whole)
        rewrite(file, **{field: value})
        assert not file_survives(file, data, optimum), value
    fields = json.loads(whole)
    del fields[field]
    file.write_text(json.dumps(fields))
    assert not file_survives(file, data, optimum)


def test_flipped_bits_are_refused(file: Path, data: np.ndarray, rng: np.random.Generator) -> None:
    evidence = evidence_of(file)
    whole = evidence.read_bytes()
    for position in rng.integers(0, len(whole), 20):
        changed = bytearray(whole)
        changed[position] ^= 1 << int(rng.integers(8))
        evidence.write_bytes(bytes(changed))
        with pytest.raises(DataFileError, match="is not the evidence"):
            load_certificate(file)


def test_flipped_bits_of_the_density_do_no_harm_even_when_signed_again(
    dual: Certificate, tmp_path: Path, data: np.ndarray, optimum: float, rng: np.random.Generator
) -> None:
    density = np.asarray(dual.evidence["density"])
    for _ in range(40):
        stored = bytearray(density.tobytes())
        stored[int(rng.integers(len(stored)))] ^= 1 << int(rng.integers(8))
        changed = np.frombuffer(bytes(stored), dtype=density.dtype)
        save_certificate(with_evidence(dual, density=changed), tmp_path / "a.json")
        file_survives(tmp_path / "a.json", data, optimum)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # np.load leaves bad archives open
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_truncated_evidence_is_refused(share: float, file: Path, data: np.ndarray, optimum: float) -> None:
    evidence = evidence_of(file)
    whole = evidence.read_bytes()
    evidence.write_bytes(whole[: int(share * len(whole))])
    assert not file_survives(file, data, optimum)
    sign_again(file)
    assert not file_survives(file, data, optimum)


def test_evidence_that_is_lost_or_no_archive_or_pickled(file: Path, data: np.ndarray, optimum: float) -> None:
    evidence = evidence_of(file)
    with evidence.open("wb") as stream:
        np.save(stream, np.arange(3.0))
    sign_again(file)
    assert not file_survives(file, data, optimum)
    with evidence.open("wb") as stream:
        np.savez(stream, density=np.array([{}], dtype=object), level=np.float64(1.0))
    sign_again(file)
    assert not file_survives(file, data, optimum)
    with zipfile.ZipFile(evidence, "w") as archive:
        archive.writestr("density.npy", b"no array")
    sign_again(file)
    assert not file_survives(file, data, optimum)
    evidence.unlink()
    assert not file_survives(file, data, optimum)


def test_swapped_evidence_files(dual: Certificate, tree: Certificate, tmp_path: Path, data: np.ndarray) -> None:
    save_certificate(dual, tmp_path / "dual.json")
    save_certificate(tree, tmp_path / "tree.json")
    one, other = evidence_of(tmp_path / "dual.json"), evidence_of(tmp_path / "tree.json")
    one.replace(tmp_path / "spare")
    other.replace(one)
    (tmp_path / "spare").replace(other)
    for name in ("dual.json", "tree.json"):
        with pytest.raises(DataFileError, match="is not the evidence"):
            load_certificate(tmp_path / name)
        sign_again(tmp_path / name)
        assert not file_survives(tmp_path / name, data, 0.0)


def test_evidence_for_other_data_in_the_place_of_this(
    file: Path, data: np.ndarray, optimum: float, tmp_path: Path
) -> None:
    other = certified((3.0 * data[:, ::-1]).tobytes(), SPARSITY)
    save_certificate(other, tmp_path / "other.json")
    assert not file_survives(tmp_path / "other.json", data, optimum)
    if other.evidence:
        evidence_of(tmp_path / "other.json").replace(evidence_of(file))
        sign_again(file)
        file_survives(file, data, optimum)


def test_a_tree_in_a_file_is_checked_like_any_other(tree: Certificate, tmp_path: Path, data: np.ndarray) -> None:
    save_certificate(tree, tmp_path / "a.json")
    assert verify(load_certificate(tmp_path / "a.json"), data).upper_bound == tree.upper_bound
    for name in ("leaf removed", "sign changed", "cuts as text", "leaf as fraction"):
        rewrite(tmp_path / "a.json", tree=BAD_TREES[name])
        with pytest.raises(CertificateError, match="refused"):
            verify(load_certificate(tmp_path / "a.json"), data)
