"""Panels of markers: the variants of sparse components, with all that is needed to score other samples on them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from certpca.genotypes.plink_text import Texts, as_texts, text_of
from certpca.runtime.arrays import Vector
from certpca.runtime.atomic_write import write_text_whole
from certpca.runtime.errors import DataFileError

FORMAT = "##certpca-markers=1"
COLUMNS = ("#CHROM", "POS", "ID", "COUNTED", "OTHER", "MEAN", "WEIGHT")
LOADING, PROVED = "LOADING", "IN_EVERY_OPTIMUM"  # with the number of the component
WORDS = {1: "yes", 0: "no", -1: "NA"}
CODES = {word: code for code, word in WORDS.items()}


@dataclass(frozen=True, slots=True, eq=False)
class MarkerPanel:
    """Markers of sparse components and their loadings; made by `marker_panel`.

    The score of a sample is the sum over markers of (copies - mean) · weight · loading.

    Parameters
    ----------
    names : ndarray of str
        Of the markers, in the order of the file.
    chromosomes : ndarray of str
        As the file has them.
    positions : ndarray of int
        Likewise.
    counted : ndarray of str
        The allele whose copies are counted.
    other : ndarray of str
        The other allele.
    means : ndarray
        Mean number of copies among the samples of the analysis.
    weights : ndarray
        What copies are multiplied by after their mean is subtracted: 1, or less where variants were scaled.
    loadings : ndarray of shape (markers, components)
        Zero where a marker is not in a component.
    proved : ndarray of int, of shape (markers, components)
        1 where the checker proved that every best choice of so many variants has the marker, 0 where it did not, -1
        where there is no certificate about that component alone.

    See Also
    --------
    marker_panel : Make one from a result.
    project : Score samples.
    save_markers : Write it as a table.

    Examples
    --------
    >>> import certpca
    >>> certpca.MarkerPanel.__name__
    'MarkerPanel'
    """

    names: Texts
    chromosomes: Texts
    positions: NDArray[np.int64]
    counted: Texts
    other: Texts
    means: Vector
    weights: Vector
    loadings: Vector
    proved: NDArray[np.int8]

    @property
    def size(self) -> int:
        """How many markers there are."""
        return int(self.names.size)

    @property
    def n_components(self) -> int:
        """How many components these are of."""
        return int(self.loadings.shape[1])


def save_markers(panel: MarkerPanel, path: str | Path) -> None:
    """Write a panel as a table with tabs: a line for each marker, which `project` and people can read.

    Parameters
    ----------
    panel : MarkerPanel
        What to write.
    path : path_like
        The file; it appears whole or not at all.

    Raises
    ------
    DataFileError
        Where it cannot be written.

    See Also
    --------
    load_markers : Read it again.

    Examples
    --------
    >>> import certpca, numpy as np, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> certpca.write_plink(folder / "a", certpca.balding_nichols(40, 12).data)
    >>> genotypes = certpca.read_plink(folder / "a")
    >>> panel = certpca.marker_panel(certpca.solve(genotypes, 3), genotypes)
    >>> certpca.save_markers(panel, folder / "markers.tsv")
    >>> bool((certpca.load_markers(folder / "markers.tsv").loadings == panel.loadings).all())
    True
    """
    numbers = range(1, panel.n_components + 1)
    header = [*COLUMNS, *(f"{what}{number}" for number in numbers for what in (LOADING, PROVED))]
    lines = [FORMAT, "\t".join(header)]
    for row in range(panel.size):
        cells = [panel.chromosomes[row], str(int(panel.positions[row])), panel.names[row]]
        cells += [panel.counted[row], panel.other[row], repr(float(panel.means[row])), repr(float(panel.weights[row]))]
        for loading, proved in zip(panel.loadings[row], panel.proved[row], strict=True):
            cells += [repr(float(loading)), WORDS[int(proved)]]
        lines.append("\t".join(cells))
    write_text_whole(path, "\n".join(lines) + "\n")


def load_markers(path: str | Path) -> MarkerPanel:
    """Read a table of markers that `save_markers` wrote, or one like it.

    Parameters
    ----------
    path : path_like
        The file.

    Returns
    -------
    MarkerPanel
        As it was saved.

    Raises
    ------
    DataFileError
        Where there is no such file, or it is something else.

    See Also
    --------
    save_markers : Write it.
    project : Score samples.

    Examples
    --------
    >>> import certpca
    >>> panel = certpca.load_markers("markers.tsv")  # doctest: +SKIP
    """
    file = Path(path)
    lines = [line.split("\t") for line in text_of(file).splitlines() if line.strip() and not line.startswith("##")]
    header, rows = lines[0], lines[1:]
    components = (len(header) - len(COLUMNS)) // 2
    expected = [f"{what}{number}" for number in range(1, components + 1) for what in (LOADING, PROVED)]
    if tuple(header[: len(COLUMNS)]) != COLUMNS or components < 1 or header[len(COLUMNS) :] != expected:
        msg = (
            f"{str(file)!r} is no table of markers: its columns are to be {' '.join(COLUMNS)} {LOADING}1 {PROVED}1 …; "
            "`certpca markers RESULT GENOTYPES --output FILE` writes one"
        )
        raise DataFileError(msg)
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            msg = f"{str(file)!r}, marker {number}: {len(row)} fields where {len(header)} are needed"
            raise DataFileError(msg)
    if not rows:
        msg = f"{str(file)!r} lists no markers"
        raise DataFileError(msg)
    return _panel(file, rows, components)


def _panel(file: Path, rows: list[list[str]], components: int) -> MarkerPanel:
    columns = [[row[place] for row in rows] for place in range(len(rows[0]))]
    chromosomes, positions, names, counted, other, means, weights = columns[: len(COLUMNS)]
    rest = columns[len(COLUMNS) :]
    try:
        places = np.array(list(map(int, positions)), dtype=np.int64)
        numbers = np.array([list(map(float, column)) for column in (means, weights, *rest[0::2])])
        proved = np.array([[CODES[word] for word in column] for column in rest[1::2]], dtype=np.int8)
    except (ValueError, OverflowError, KeyError) as error:
        msg = f"{str(file)!r} is a damaged table of markers: {error}"
        raise DataFileError(msg) from error
    if not np.isfinite(numbers).all():
        msg = f"{str(file)!r} is a damaged table of markers: it holds numbers that are not finite"
        raise DataFileError(msg)
    assert proved.shape[0] == components
    return MarkerPanel(
        names=as_texts(names),
        chromosomes=as_texts(chromosomes),
        positions=places,
        counted=as_texts(counted),
        other=as_texts(other),
        means=numbers[0],
        weights=numbers[1],
        loadings=numbers[2:].T.copy(),
        proved=proved.T.copy(),
    )
