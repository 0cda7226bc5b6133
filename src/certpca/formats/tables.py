"""Tables from files of any format, with the names of their columns; the ending of a file's name tells which."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from certpca.formats.arranging import Table, Wanted
from certpca.formats.base import endings_where, format_of
from certpca.formats.file_errors import require_file, said_of
from certpca.formats.selection import listed_names
from certpca.formats.settings import settings_of
from certpca.readers.reading import Texts, as_texts
from certpca.runtime.errors import DataFileError, InvalidProblemError


def load_table(
    path: str | Path,
    *,
    columns: Texts | None = None,
    drop: Texts | None = None,
    transpose: bool = False,
    names: str | PathLike[str] | Iterable[str] | None = None,
    memory: float | None = None,
    **settings: Any,
) -> Table:
    r"""Read a table of numbers; the ending of the file's name tells the format.

    Columns are chosen first; what is left is transposed if that is asked for, and then named.

    Parameters
    ----------
    path : path_like
        Among others ``.csv``, ``.tsv`` or ``.txt`` (a header and a first column of labels are recognised), ``.npy``
        (memory-mapped), ``.npz``, ``.parquet``, ``.h5ad`` (AnnData), ``.zarr``, ``.mtx`` (Matrix Market), ``.bed``
        and ``.pgen`` (PLINK) and ``series_matrix.txt`` (GEO); ``certpca solve --help`` lists all. Some need an extra,
        which an error names.
    columns : str or iterable of str, optional
        Only these, in this order: names or, where no column is called so, positions from 1 like ``"3"`` or ``"3:10"``.
    drop : str or iterable of str, optional
        Not these.
    transpose : bool
        Whether the samples are the columns of the file.
    names : path_like or iterable of str, optional
        Names of the features, or a text file with one on each line.
    memory : float, optional
        GiB for data on their way from a file that can be streamed, which is then not loaded beyond that.
    **settings : Any
        What may be set about some formats. ``header``: whether the first line of a text table holds names
        (``"yes"``, ``"no"``, or ``"auto"`` to find out). ``array``: which array of an ``.npz`` archive or a ``.zarr``
        group to take, or which layer of an AnnData file. ``keep``, ``remove``, ``chromosomes``,
        ``exclude_regions``, ``maf``, ``max_missing``, ``clump_r2``, ``clump_kb``, ``clump_variants``, ``every``:
        filters of `read_plink`, for ``.bed`` and ``.pgen`` files. ``dosages``: of `read_pgen`.

    Returns
    -------
    Table
        The numbers (an array, scipy.sparse or a reader of the file), names, and what was understood of the file.

    Raises
    ------
    DataFileError
        Where there is no such file, or it is damaged or of an unknown format.
    InvalidProblemError
        Where a setting has no meaning for the format.
    MissingDependencyError
        Where a library is needed to read it; the message says how to install it.

    See Also
    --------
    read_plink, read_pgen, read_h5ad, read_zarr, read_parquet, open_npy, read_geo : One format each.

    Examples
    --------
    >>> import certpca, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "data.csv"
    >>> _ = file.write_text("x,y\n1,2\n3,5\n")
    >>> table = certpca.load_table(file, columns="y")
    >>> table.names, table.data.tolist(), table.reading
    (('y',), [[2.0], [5.0]], {'columns': ['y']})
    """
    file = Path(path)
    known = format_of(file)
    if memory is not None and not known.streams:
        streamed = endings_where(lambda other: other.streams)
        msg = f"memory: only for files that can be streamed ({streamed}), got {str(file)!r}"
        raise InvalidProblemError(msg)
    values, said = settings_of(known, settings, str(file))
    wanted = Wanted(
        columns=as_texts("columns", columns),
        drop=as_texts("drop", drop),
        transpose=bool(transpose),
        names=None if names is None else listed_names(names),
        memory=memory,
        settings=values,
        said=said,
    )
    require_file(file, or_folder=known.is_folder)
    if not file.is_dir() and file.stat().st_size == 0:
        msg = f"{str(file)!r} is empty"
        raise DataFileError(msg)
    with said_of(file, file.suffix):
        return known.load(file, wanted)
