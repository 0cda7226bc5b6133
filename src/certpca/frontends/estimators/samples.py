"""What estimators are given: arrays and frames, which scikit-learn checks, and AnnData objects and readers of files."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from certpca.frontends.annotated.tables import is_annotated, table_of
from certpca.intake.inputs import stays_in_file, values_and_names
from certpca.readers.sparse_format import sound_sparse
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.errors import InvalidDataError

TYPES = [np.float64, np.float32, np.int8, np.int16, np.int32, np.int64]  # -9 means missing in integers


def checked_samples(estimator: Any, data: Any, *, reset: bool, allow_nan: bool) -> Any:
    """Return samples x features that can be worked with: an array, scipy.sparse, or a reader of a file.

    Parameters
    ----------
    estimator
        Remembers how many features there are and what they are called.
    data
        What a user gave.
    reset
        Whether to remember that, or else to compare with it.
    allow_nan
        Whether values may be missing.
    """
    given: dict[str, Any] = {"dtype": TYPES, "ensure_all_finite": "allow-nan" if allow_nan else True}
    given["accept_sparse"] = ("csc", "csr")
    if not is_annotated(data) and not stays_in_file(data):
        return validate_data(estimator, sound_sparse(data) if is_sparse(data) else data, reset=reset, **given)
    names = None
    if is_annotated(data):
        table = table_of(data)
        data, names = table.data, table.names
    values, found = values_and_names(data)
    _compare(estimator, names or found, int(values.shape[1]), reset=reset)
    return values if stays_in_file(values) else check_array(values, **given)


def _compare(estimator: Any, names: tuple[str, ...] | None, count: int, *, reset: bool) -> None:
    """Remember the features, or refuse others than these."""
    if reset:
        estimator.n_features_in_ = count
        if names is not None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    owner = type(estimator).__name__
    if count != estimator.n_features_in_:
        msg = f"X has {count} features, but {owner} is expecting {estimator.n_features_in_} features as input"
        raise InvalidDataError(msg)
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and names is not None and list(known) != list(names):
        at = next(j for j, (one, other) in enumerate(zip(known, names, strict=True)) if one != other)
        msg = f"features are called otherwise than when {owner} was fitted: {known[at]!r} then, {names[at]!r} now"
        raise InvalidDataError(msg)
