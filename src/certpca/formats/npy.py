"""Single arrays of NumPy (.npy), memory-mapped, or walked over by blocks where a memory budget is given."""

from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from certpca.formats.arranging import Table, Wanted
from certpca.formats.base import Format, register
from certpca.formats.tables import load_table
from certpca.readers.array_reader import ArrayReader
from certpca.readers.base import DEFAULT_MEMORY


@register
class Npy(Format):
    """NumPy's arrays."""

    kind = "NumPy"
    endings = (".npy",)
    streams = True
    instead = "load it without a memory budget, or write a file with what is wanted"

    def open(self, file: Path, wanted: Wanted) -> Table:
        """Map the file."""
        del wanted
        return Table(np.lib.format.open_memmap(file, mode="r"))

    def load(self, file: Path, wanted: Wanted) -> Table:
        """Map the file; with a memory budget it must stay there, as a map, after it was rearranged."""
        table = super().load(file, wanted)
        if wanted.memory is None:
            return table
        if not isinstance(table.data, np.memmap):  # chosen columns that do not lie together were copied
            raise self.stays_in_file(file)
        reader = ArrayReader(table.data, wanted.memory)
        reader.reading = table.reading
        return replace(table, data=reader)


def open_npy(path: str | PathLike[str], *, memory: float = DEFAULT_MEMORY) -> ArrayReader:
    """Open an ``.npy`` file without reading it; the result is data wherever data are asked for.

    Products walk over the file in its own order, by blocks. Smaller files are better loaded.

    Parameters
    ----------
    path : path_like
        A table of numbers written by `numpy.save`.
    memory : float
        GiB for blocks on their way from the file.

    Returns
    -------
    ArrayReader
        What every verb takes as `data`.

    Raises
    ------
    DataFileError
        Where there is no such file, or it is something else.

    See Also
    --------
    load_table : Any format.

    Examples
    --------
    >>> import numpy as np, certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "data.npy"
    >>> np.save(file, np.random.default_rng(0).standard_normal((50, 8)))
    >>> certpca.solve(certpca.open_npy(file), 3).support.size
    3
    """
    reader: ArrayReader = load_table(Path(path), memory=memory).data
    return reader
