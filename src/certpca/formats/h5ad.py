"""AnnData files (.h5ad), dense or sparse, streamed from HDF5."""

from os import PathLike
from pathlib import Path

from certpca.formats.base import register
from certpca.formats.file_errors import GROUP_DAMAGE, require_file, said_of
from certpca.formats.groups.anndata_layout import open_table
from certpca.formats.groups.group_format import GroupFormat
from certpca.readers.base import DEFAULT_MEMORY, Reader
from certpca.readers.reading import plain
from certpca.runtime.errors import DataFileError


@register
class H5ad(GroupFormat):
    """AnnData files."""

    kind = "AnnData"
    endings = (".h5ad",)
    library, extra = "h5py", "h5ad"

    def reader(self, file: Path, array: str | None, memory: float) -> Reader:
        """Open X, or a layer."""
        return read_h5ad(file, layer=array, memory=memory)


def read_h5ad(path: str | PathLike[str], *, layer: str | None = None, memory: float = DEFAULT_MEMORY) -> Reader:
    """Open an AnnData file without reading it; the result is samples x variables wherever data are asked for.

    Dense tables and sparse ones by rows or columns are read as they are stored, and sparse ones stay sparse. Where
    everything fits the memory budget it is loaded when it is first needed. Otherwise products walk over the file; a
    file in the order of rows is copied once in the order of columns, when certificates need these. `names` are
    those of variables; `sample_names` and `obs` tell about samples.

    Parameters
    ----------
    path : path_like
        An ``.h5ad`` file, as the anndata package writes it (which is not needed to read it).
    layer : str, optional
        A layer, or ``"raw"``, instead of X.
    memory : float
        GiB for data on their way from the file, or for all of them where they fit.

    Returns
    -------
    Reader
        What every verb takes as `data`.

    Raises
    ------
    DataFileError
        Where there is no such file, or it is something else, or has no such layer.
    MissingDependencyError
        Where h5py is not installed.

    See Also
    --------
    load_table : Any format.

    Examples
    --------
    >>> import certpca
    >>> cells = certpca.read_h5ad("cells.h5ad", layer="counts", memory=1.0)  # doctest: +SKIP
    >>> certpca.solve(cells, 20).names  # doctest: +SKIP
    """
    h5py = H5ad.needed()
    file = Path(path)
    require_file(file)
    try:
        root = h5py.File(file, "r")
    except OSError as error:
        msg = f"{str(file)!r} is not an HDF5 file, or only a part of one: {error}"
        raise DataFileError(msg) from error
    with said_of(file, "an AnnData file", GROUP_DAMAGE):
        reader = open_table(root, str(file), layer, memory)
    reader.reading = plain({"array": layer})
    return reader
