"""Scores of samples on the markers of a reference: found in their file, alleles matched, means of the reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certpca.genotypes.alleles import Match
from certpca.genotypes.markers import MarkerPanel
from certpca.genotypes.matching import BY_NAME, BY_POSITION, Found, find_markers
from certpca.genotypes.plink_text import Samples
from certpca.results.component_set import ComponentSet
from certpca.results.solution import Solution
from certpca.runtime.arrays import Vector
from certpca.runtime.atomic_write import write_text_whole
from certpca.runtime.errors import InvalidDataError
from certpca.runtime.rounded import percent_down
from certpca.verbs.marker_panel import support_of
from certpca.verbs.validation import checked_choice, named_arguments

COPIES = 2
TOGETHER = 256  # markers read at a time
DIGITS = 10
FEW = 0.9  # share of a component's squared loadings below which its scores are called doubtful


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Samples scored on the markers of a reference.

    Parameters
    ----------
    scores : ndarray of shape (samples, components)
        In the units of the reference: its own samples have the same scores.
    samples : Samples
        Names, families, populations and so on of the samples.
    counts : mapping of str to int
        How many markers were found with the same alleles, with the other allele counted, on the other strand, or not.
    coverage : ndarray
        Of each component, the share of its squared loadings on markers that were found.
    missing : float
        Share of genotypes that are missing at these markers; the mean of the reference stands for them.

    See Also
    --------
    project : What returns it.
    save_eigenvec : Write the scores as PLINK does.

    Examples
    --------
    >>> import certpca
    >>> certpca.Projection.__name__
    'Projection'
    """

    scores: Vector
    samples: Samples
    counts: Mapping[str, int]
    coverage: Vector
    missing: float

    def __str__(self) -> str:
        """Say in one line how markers were found."""
        total = sum(self.counts.values())
        usable = {match.value for match in Match if match.usable}
        used = sum(count for what, count in self.counts.items() if what in usable)
        said = ", ".join(f"{count} {what}" for what, count in self.counts.items())
        covered = ", ".join(percent_down(share) for share in self.coverage)
        return (
            f"{self.scores.shape[0]} samples scored on {used} of {total} markers ({said}); found of the squared "
            f"loadings: {covered}"
        )

    @property
    def doubtful(self) -> bool:
        """Whether much of a component is on markers that were not found."""
        return bool((self.coverage < FEW).any())


@named_arguments
def project(panel: MarkerPanel, data: Any, *, match: str = BY_POSITION, strand: str = "unknown") -> Projection:
    """Score samples on the markers of a reference, whatever allele or strand their file counts.

    Parameters
    ----------
    panel : MarkerPanel
        From `marker_panel` or `load_markers`.
    data : reader
        Genotypes of the samples, from `read_plink` or `read_pgen`; only the markers are read. Ask for
        ``chromosomes="all"`` where the panel has markers on sex chromosomes, and for no other filter.
    match : {"position", "name"}
        Whether a marker is the variant in the same place (both files of one genome build), or of the same name.
    strand : {"unknown", "same"}
        ``"unknown"``: letters may be those of the other strand, so that variants whose alleles are A and T, or C and
        G, are ambiguous and left out. ``"same"``: both files are of one strand.

    Returns
    -------
    Projection
        The scores, and how the markers were found.

    Raises
    ------
    InvalidDataError
        Where no marker can be used, or the data are no genotypes.
    InvalidProblemError
        Where there is no such way to match.

    See Also
    --------
    marker_panel : Make a panel from a result.
    save_eigenvec : Write the scores.

    Examples
    --------
    >>> import certpca, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> table = certpca.balding_nichols(60, 30).data
    >>> certpca.write_plink(folder / "reference", table, alleles=[("A", "G")] * 30)
    >>> certpca.write_plink(folder / "others", 2 - table[:5], alleles=[("C", "T")] * 30)
    >>> genotypes = certpca.read_plink(folder / "reference")
    >>> panel = certpca.marker_panel(certpca.solve(genotypes, 4), genotypes)
    >>> print(certpca.project(panel, certpca.read_plink(folder / "others")))
    5 samples scored on 4 of 4 markers (4 other strand, other allele counted); found of the squared loadings: 100.00%
    """
    by = checked_choice(match, "match", (BY_POSITION, BY_NAME))
    one_strand = checked_choice(strand, "strand", ("unknown", "same")) == "same"
    if not hasattr(data, "variants"):
        msg = f"samples to project are genotypes, from read_plink or read_pgen (.bed, .pgen), got {type(data).__name__}"
        raise InvalidDataError(msg)
    return _scored(panel, data, find_markers(panel, data.variants, by, one_strand=one_strand))


def scored_own(panel: MarkerPanel, data: Any, result: Solution | ComponentSet) -> Projection:
    """Score the samples that the components were found on: no marker needs to be looked for."""
    support = support_of(result)
    found = Found(np.arange(panel.size), support, np.zeros(support.size, dtype=bool), {Match.SAME.value: panel.size})
    return _scored(panel, data, found)


def _scored(panel: MarkerPanel, data: Any, found: Found) -> Projection:
    """Add up over the markers that were found."""
    scores = np.zeros((data.shape[0], panel.n_components))
    code, absent = data.missing_code(), 0
    for start in range(0, found.markers.size, TOGETHER):
        part = slice(start, start + TOGETHER)
        markers, turned = found.markers[part], found.turned[part]
        stored = data.read(found.variants[part])
        holes = np.isnan(stored) if code is None else stored == code
        copies = np.where(turned, COPIES - stored.astype(np.float64), stored)
        centred = np.where(holes, 0.0, copies - panel.means[markers])
        scores += centred @ (panel.weights[markers, None] * panel.loadings[markers])
        absent += int(holes.sum())
    squares = panel.loadings**2
    coverage = squares[found.markers].sum(axis=0) / np.maximum(squares.sum(axis=0), np.finfo(float).tiny)
    share = absent / (found.markers.size * data.shape[0])
    return Projection(scores, data.samples, found.counts, np.minimum(coverage, 1.0), share)


def save_eigenvec(projection: Projection, path: str | Path) -> None:
    """Write scores as PLINK writes its .eigenvec files: #FID, IID, PC1, PC2, … with tabs.

    PLINK scales its columns to unit length. These are scores, in the units of the reference, so that several files
    scored on one panel can be compared.

    Parameters
    ----------
    projection : Projection
        From `project`.
    path : path_like
        The file; it appears whole or not at all.

    Raises
    ------
    DataFileError
        Where it cannot be written.

    See Also
    --------
    project : Score samples.

    Examples
    --------
    >>> import certpca
    >>> certpca.save_eigenvec(certpca.project(panel, genotypes), "cohort.eigenvec")  # doctest: +SKIP
    """
    scores, samples = projection.scores, projection.samples
    lines = ["\t".join(["#FID", "IID", *(f"PC{number}" for number in range(1, scores.shape[1] + 1))])]
    for family, name, row in zip(samples.families, samples.names, scores, strict=True):
        lines.append("\t".join([family, name, *(f"{value:.{DIGITS}g}" for value in row)]))
    write_text_whole(path, "\n".join(lines) + "\n")
