"""Which of several arrays in a file is the table, and which one names its columns."""

from collections.abc import Sequence

from certpca.readers.reading import Setting, text
from certpca.runtime.errors import DataFileError

ARRAY_NAMES = ("X", "A", "G", "data", "matrix", "arr_0")  # tried in this order where there are several tables
NAME_ARRAYS = ("names", "columns", "features", "feature_names", "genes", "snp", "snps", "vocab")

ARRAY = Setting("array", text, "name of the array, or of an AnnData layer, to take", files="files with several tables")


def chosen_array(tables: Sequence[str], held: Sequence[str], file: str) -> str:
    """Return the only table of a file, or the one with a usual name.

    Parameters
    ----------
    tables
        Names of the arrays that can be one.
    held
        Names of all arrays.
    file
        For the error where the choice is not clear.
    """
    known = [name for name in ARRAY_NAMES if name in tables]
    if len(tables) != 1 and not known:
        msg = f"{file!r} has the arrays {', '.join(held) or '(none)'}; say which one with array= (--array)"
        raise DataFileError(msg)
    return known[0] if known else tables[0]
