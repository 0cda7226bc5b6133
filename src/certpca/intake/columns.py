"""Some columns of data, wherever these are."""

from typing import Any

import numpy as np

from certpca.readers.base import Reader
from certpca.readers.missing import possible_code
from certpca.readers.sparse_format import by_columns
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Indices, device_of, namespace, to_vector


def columns_of(values: Any, chosen: Indices) -> tuple[Any, int | None]:
    """Return columns on the host in double precision, or sparse, and what marks missing values beside NaN.

    Parameters
    ----------
    values
        An array of any library, scipy.sparse, or a reader.
    chosen
        Which columns, in any order.
    """
    if isinstance(values, Reader):
        order = np.argsort(chosen)
        part, back = values[:, chosen[order]], np.argsort(order)
        part = part.tocsc()[:, back] if is_sparse(part) else np.asarray(part, dtype=np.float64)[:, back]
        return part, values.missing_code()
    if is_sparse(values):
        return by_columns(values)[:, chosen], None
    xp = namespace(values)
    part = xp.take(values, xp.asarray(chosen, device=device_of(values)), axis=1)
    return to_vector(part), possible_code(values)
