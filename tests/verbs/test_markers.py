"""Panels of markers score what they were made of as the result does, and others by matched alleles, or say why not."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import certpca
from certpca.runtime.errors import CertpcaError, DataFileError, InvalidDataError, InvalidProblemError
from certpca.verbs.marker_panel import in_every_optimum

SIZE = 40
COMPLEMENT = {"A": "T", "C": "G", "G": "C", "T": "A"}


@pytest.fixture
def calls(rng: np.random.Generator) -> Any:
    table = certpca.balding_nichols(90, SIZE, rng=rng).data.astype(np.int8)
    table[rng.random(table.shape) < 0.02] = -9
    return table


ALLELES = [("A", "G"), ("C", "T"), ("T", "G"), ("C", "A")] * (SIZE // 4)
PLACES: dict[str, Any] = {
    "chromosomes": [1 + number // 20 for number in range(SIZE)],
    "positions": [1000 * (number + 1) for number in range(SIZE)],
}


@pytest.fixture
def reference(tmp_path: Path, calls: Any) -> Any:
    certpca.write_plink(tmp_path / "reference", calls, alleles=ALLELES, **PLACES)
    return certpca.read_plink(tmp_path / "reference")


def written(folder: Path, table: Any, alleles: Any, **places: Any) -> Any:
    certpca.write_plink(folder / "others", table, alleles=alleles, **{**PLACES, **places})
    return certpca.read_plink(folder / "others", chromosomes="all")


@pytest.mark.parametrize("options", [{}, {"scale": "2pq"}, {"scale": True}])
@pytest.mark.parametrize("certify", [True, False])
def test_the_reference_has_the_scores_of_the_result(reference: Any, options: dict[str, Any], certify: bool) -> None:
    prepared = {"missing": "mean", **options}
    solution = certpca.solve(reference, 5, certify=certify, **prepared)
    panel = certpca.marker_panel(solution, reference, **({} if certify else prepared))
    operator = certpca.from_data(reference, **prepared)
    projection = certpca.project(panel, reference, strand="same")
    np.testing.assert_allclose(projection.scores[:, 0], operator.scores(solution.support, solution.loadings), rtol=1e-9)
    assert projection.coverage.tolist() == [1.0]
    assert not projection.doubtful
    assert panel.names.tolist() == list(solution.names or ())
    assert np.var(projection.scores[:, 0], ddof=1) == pytest.approx(solution.objective)
    if certify:
        assert solution.certificate is not None
        inside = certpca.verify(solution.certificate, operator).inside
        assert (panel.proved[:, 0] == np.isin(solution.support, inside)).all()
    else:
        assert (panel.proved == -1).all()


@pytest.mark.parametrize("sparsity", [1, 2, 3])
def test_every_optimum_has_the_markers_that_are_proved(reference: Any, sparsity: int) -> None:
    """Brute force over supports says what is lost without each marker that is proved."""
    solution = certpca.solve(reference, sparsity, certify=True, missing="mean", target_gap=0.0)
    panel = certpca.marker_panel(solution, reference)
    operator = certpca.from_data(reference, missing="mean")
    covariance = operator.submatrix(np.arange(SIZE))
    values = {
        support: float(np.linalg.eigvalsh(covariance[np.ix_(support, support)])[-1])
        for support in combinations(range(SIZE), sparsity)
    }
    best = max(values.values())
    assert solution.objective == pytest.approx(best, rel=1e-9)
    for feature, proved in zip(solution.support, panel.proved[:, 0], strict=True):
        without = max(value for support, value in values.items() if feature not in support)
        assert without < best or not proved
    if sparsity == 3:  # fewer are proved best before anything is excluded
        assert (panel.proved == 1).any()


def test_what_exclusions_leave_is_in_every_optimum(rng: Any) -> None:
    """Every feature but two is out; of these two, neither alone captures as much."""
    data = rng.normal(size=(50, 6)) * [5, 4, 1, 1, 1, 1]
    operator = certpca.from_data(data)
    proof = certpca.verify(certpca.certify(operator, 2), operator)
    alone = replace(proof, outside=np.arange(2, 6), inside=np.empty(0, dtype=np.intp))
    assert in_every_optimum(alone, operator).tolist() == [0, 1]
    more = replace(alone, objective=float(operator.diagonal()[0]) * (1 + 1e-9))
    assert in_every_optimum(more, operator).tolist() == [0]  # without the second nothing is lost beyond roundings


def test_several_components_share_one_table(reference: Any) -> None:
    parts = certpca.decompose(reference, 2, 4, certify=True, missing="mean")
    panel = certpca.marker_panel(parts, reference)
    assert panel.n_components == 2
    assert panel.size == np.count_nonzero(parts.loadings.any(axis=1))
    scores = certpca.project(panel, reference, strand="same").scores
    np.testing.assert_allclose(scores.var(axis=0, ddof=1), parts.explained_variance)
    together = certpca.decompose(reference, 2, 4, together="disjoint", certify=True, missing="mean")
    assert (certpca.marker_panel(together, reference).proved == -1).all()


def test_flips_and_swaps_change_no_score(reference: Any, calls: Any, tmp_path: Path, rng: Any) -> None:
    panel = certpca.marker_panel(certpca.solve(reference, 12, missing="mean"), reference, missing="mean")
    expected = certpca.project(panel, reference, strand="same").scores
    table, alleles = calls.copy(), list(ALLELES)
    for j in range(SIZE):
        if rng.random() < 0.5:
            alleles[j] = alleles[j][::-1]
            table[:, j] = np.where(calls[:, j] < 0, -9, 2 - calls[:, j])
        if rng.random() < 0.5:
            alleles[j] = (COMPLEMENT[alleles[j][0]], COMPLEMENT[alleles[j][1]])
    others = written(tmp_path, table, alleles)
    for match in ("position", "name"):
        found = certpca.project(panel, others, match=match)
        np.testing.assert_allclose(found.scores, expected, atol=1e-12)
        assert sum(found.counts.values()) == 12
        assert len(found.counts) > 1
    assert found.missing == pytest.approx(certpca.project(panel, reference).missing)


def test_dosages_are_projected_too(reference: Any, calls: Any, tmp_path: Path) -> None:
    pgenlib = pytest.importorskip("pgenlib")
    panel = certpca.marker_panel(certpca.solve(reference, 6, missing="mean"), reference, missing="mean")
    values = np.where(calls < 0, -9, calls).astype(np.float32)
    with pgenlib.PgenWriter(
        str(tmp_path / "d.pgen").encode(), len(calls), variant_ct=SIZE, nonref_flags=False, dosage_present=True
    ) as writer:
        for column in values.T:
            writer.append_dosages(np.ascontiguousarray(column))
    lines = [
        f"{PLACES['chromosomes'][j]}\t{PLACES['positions'][j]}\tx{j}\t{ALLELES[j][1]}\t{ALLELES[j][0]}\n"
        for j in range(SIZE)
    ]
    (tmp_path / "d.pvar").write_text("#CHROM\tPOS\tID\tREF\tALT\n" + "".join(lines))
    (tmp_path / "d.psam").write_text("#IID\n" + "".join(f"i{i}\n" for i in range(len(calls))))
    found = certpca.project(panel, certpca.read_pgen(tmp_path / "d", dosages=True))
    np.testing.assert_allclose(found.scores, certpca.project(panel, reference).scores, atol=1e-6)


def test_ambiguous_and_other_alleles_are_left_out(reference: Any, calls: Any, tmp_path: Path) -> None:
    solution = certpca.solve(reference, 4, missing="mean")
    panel = certpca.marker_panel(solution, reference, missing="mean")
    counted, other = panel.counted.copy(), panel.other.copy()
    counted[0], other[0] = "A", "T"
    changed = replace(panel, counted=counted, other=other)
    alleles = list(ALLELES)
    alleles[solution.support[0]] = ("A", "T")
    alleles[solution.support[1]] = ("AC", "T")
    others = written(tmp_path, calls, alleles)
    found = certpca.project(changed, others)
    assert found.counts["strand ambiguous"] == 1
    assert found.counts["other alleles"] == 1
    assert found.doubtful
    assert found.coverage[0] == pytest.approx(float((panel.loadings[2:, 0] ** 2).sum()))
    assert "scored on 2 of 4 markers" in str(found)
    assert certpca.project(changed, others, strand="same").counts["same alleles"] == 3


def test_split_variants_are_told_apart_by_alleles(reference: Any, calls: Any, tmp_path: Path) -> None:
    """Two variants in one place: the one whose alleles fit is the marker; two that fit are none."""
    solution = certpca.solve(reference, 3, missing="mean")
    panel = certpca.marker_panel(solution, reference, missing="mean")
    first = int(solution.support[0])
    twice = np.concatenate([calls, calls[:, [first]]], axis=1)
    places = {name: [*values, values[first]] for name, values in PLACES.items()}
    others = written(tmp_path, twice, [*ALLELES, (ALLELES[first][0], "AAA")], **places)
    expected = certpca.project(panel, reference).scores
    np.testing.assert_allclose(certpca.project(panel, others).scores, expected)
    both = written(tmp_path, twice, [*ALLELES, ALLELES[first]], **places)
    assert certpca.project(panel, both).counts["there several times"] == 1


def test_tables_come_back(reference: Any, tmp_path: Path) -> None:
    parts = certpca.decompose(reference, 2, 4, certify=True, missing="mean")
    panel = certpca.marker_panel(parts, reference)
    certpca.save_markers(panel, tmp_path / "markers.tsv")
    again = certpca.load_markers(tmp_path / "markers.tsv")
    for name in ("names", "chromosomes", "positions", "counted", "other", "means", "weights", "loadings", "proved"):
        np.testing.assert_array_equal(getattr(again, name), getattr(panel, name))
    lines = (tmp_path / "markers.tsv").read_text().splitlines()
    assert lines[1].split("\t")[:5] == ["#CHROM", "POS", "ID", "COUNTED", "OTHER"]
    assert len(lines) == 2 + panel.size


def test_eigenvec_is_what_plink_writes(reference: Any, tmp_path: Path) -> None:
    panel = certpca.marker_panel(certpca.solve(reference, 3, missing="mean"), reference, missing="mean")
    projection = certpca.project(panel, reference)
    certpca.save_eigenvec(projection, tmp_path / "a.eigenvec")
    lines = (tmp_path / "a.eigenvec").read_text().splitlines()
    assert lines[0] == "#FID\tIID\tPC1"
    assert lines[1].split("\t")[:2] == ["s1", "s1"]
    np.testing.assert_allclose([float(line.split("\t")[2]) for line in lines[1:]], projection.scores[:, 0], rtol=1e-9)


# --- what is refused --------------------------------------------------------------------------------


def test_other_genotypes_are_refused(reference: Any, tmp_path: Path, calls: Any) -> None:
    solution = certpca.solve(reference, 3, missing="mean", certify=True)
    with pytest.raises(InvalidDataError, match=r"captures .* become a matrix in another way"):
        certpca.marker_panel(solution, reference, missing="mean", scale="2pq")
    with pytest.raises(InvalidDataError, match=r"about 40 variants, the genotypes have .*filters of the result"):
        certpca.marker_panel(solution, certpca.read_plink(tmp_path / "reference", every=2))
    with pytest.raises(InvalidDataError, match="of more samples than the 80 of the genotypes"):
        certpca.marker_panel(solution, written(tmp_path, calls[:80], ALLELES))
    with pytest.raises(InvalidDataError, match="captures"):
        certpca.marker_panel(solution, written(tmp_path, calls[:, ::-1], ALLELES))
    with pytest.raises(InvalidDataError, match=r"genotypes, from read_plink or read_pgen .*got ndarray"):
        certpca.marker_panel(solution, calls)
    assert solution.certificate is not None
    forged = replace(solution, certificate=replace(solution.certificate, upper_bound=solution.objective * 0.5))
    with pytest.raises(certpca.CertificateError):
        certpca.marker_panel(forged, reference)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"positions": list(range(7, 7 + SIZE))}, {}, r"4 not in the file\); are both files of one genome build"),
        ({"names": [f"x{j}" for j in range(SIZE)]}, {"match": "name"}, "are variants named alike in both"),
        ({"alleles": [("I", "D")] * SIZE}, {}, "other alleles.*letters"),
    ],
)
def test_no_overlap_is_said_with_advice(
    reference: Any, calls: Any, tmp_path: Path, change: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    panel = certpca.marker_panel(certpca.solve(reference, 4, missing="mean"), reference, missing="mean")
    places = {**change}
    others = written(tmp_path, calls, places.pop("alleles", ALLELES), **places)
    with pytest.raises(InvalidDataError, match=message):
        certpca.project(panel, others, **options)


def test_ambiguous_markers_alone_are_refused_with_what_to_say(reference: Any, calls: Any, tmp_path: Path) -> None:
    solution = certpca.solve(reference, 4, missing="mean")
    panel = certpca.marker_panel(solution, reference, missing="mean")
    letters = np.array(["C"] * 4, dtype=object), np.array(["G"] * 4, dtype=object)
    changed = replace(panel, counted=letters[0], other=letters[1])
    others = written(tmp_path, calls, [("C", "G")] * SIZE)
    with pytest.raises(InvalidDataError, match=r"4 strand ambiguous.*--strand same"):
        certpca.project(changed, others)
    assert certpca.project(changed, others, strand="same").counts == {"same alleles": 4}


@pytest.mark.parametrize(
    ("options", "message"),
    [({"match": "rsid"}, "match must be one of position, name"), ({"strand": "both"}, "strand must be one of")],
)
def test_words_that_do_not_exist(reference: Any, options: dict[str, str], message: str) -> None:
    panel = certpca.marker_panel(certpca.solve(reference, 2, missing="mean"), reference, missing="mean")
    with pytest.raises(InvalidProblemError, match=message):
        certpca.project(panel, reference, **options)
    with pytest.raises(InvalidDataError, match="samples to project are genotypes"):
        certpca.project(panel, np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("LOADING1", "WEIGHTS"), "is no table of markers"),
        (lambda text: text.replace("#CHROM", "CHR"), "is no table of markers"),
        (lambda text: text.replace("\tA\t", "\t"), r"marker \d+: 8 fields where 9 are needed"),
        (lambda text: "\n".join(text.splitlines()[:2]), "lists no markers"),
        (lambda text: text.replace("\tNA", "\tmaybe"), "damaged table of markers: 'maybe'"),
        (lambda text: text.replace("\t1.0\t", "\tnan\t"), "not finite"),
        (lambda text: "", "is empty"),
    ],
)
def test_damaged_tables_are_refused(reference: Any, tmp_path: Path, change: Any, message: str) -> None:
    panel = certpca.marker_panel(certpca.solve(reference, 8, missing="mean"), reference, missing="mean")
    file = tmp_path / "markers.tsv"
    certpca.save_markers(panel, file)
    file.write_text(change(file.read_text()))
    with pytest.raises(DataFileError, match=message):
        certpca.load_markers(file)
    with pytest.raises(CertpcaError, match="there is no file"):
        certpca.load_markers(tmp_path / "nothing.tsv")
