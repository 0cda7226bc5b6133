"""A check that an operator keeps its promises, for those who write their own."""

import numpy as np

from certpca.operators.base import Operator
from certpca.runtime.arrays import to_vector
from certpca.runtime.errors import InvalidProblemError

FACTORS_CHECKED_UP_TO = 2048


def verify_operator(operator: Operator, *, rng: int | np.random.Generator = 0, tolerance: float | None = None) -> None:
    """Check that the verbs of an operator describe one symmetric positive semidefinite matrix.

    Random probes test symmetry and semidefiniteness; columns, diagonal, submatrix, trace,
    restriction and (up to a moderate size) the factor are compared with products.

    Parameters
    ----------
    operator : Operator
        The operator to check.
    rng : int or numpy.random.Generator
        Seed or generator of the probes.
    tolerance : float, optional
        Relative to the largest entry met. By default 1e-9, or 1e-4 in single precision.

    Raises
    ------
    InvalidProblemError
        Naming the first promise that is broken.

    See Also
    --------
    Operator : What is promised.

    Examples
    --------
    >>> import numpy as np, certpca
    >>> certpca.verify_operator(certpca.from_matrix(np.eye(3)))
    """
    generator = np.random.default_rng(rng)
    size = operator.size
    single = operator.xp.finfo(operator.dtype).bits < 64
    relative = tolerance if tolerance is not None else (1e-4 if single else 1e-9)
    some = np.sort(generator.choice(size, size=min(size, 8), replace=False))
    unit = np.zeros((size, some.size))
    unit[some, np.arange(some.size)] = 1.0

    by_product = to_vector(operator.matmat(operator.adopt(unit)))
    by_columns = to_vector(operator.columns(some))
    diagonal = to_vector(operator.diagonal())
    scale = max(float(np.abs(by_columns).max()), float(np.abs(diagonal).max()), np.finfo(float).tiny)

    def agree(what: str, left: np.ndarray, right: np.ndarray, unit_size: float = scale) -> None:
        if left.shape != right.shape:
            msg = f"operator breaks its promise: {what} has shape {left.shape}, expected {right.shape}"
            raise InvalidProblemError(msg)
        difference = float(np.abs(left - right).max())
        if not difference <= relative * unit_size:
            msg = (
                f"operator breaks its promise: {what}; the largest difference is {difference:.3g} "
                f"where {relative * unit_size:.3g} is allowed"
            )
            raise InvalidProblemError(msg)

    agree("columns must equal products with unit vectors", by_columns, by_product)
    agree("the diagonal must agree with the columns", diagonal[some], by_columns[some, np.arange(some.size)])
    submatrix = operator.submatrix(some)
    agree("a submatrix must equal rows of the columns", submatrix, by_columns[some])
    agree("a submatrix must be symmetric", submatrix, submatrix.T)
    trace, total = np.array([operator.trace()]), np.array([diagonal.sum()])
    agree("the trace must be the sum of the diagonal", trace, total, scale * size)

    probe = generator.standard_normal((size, 4))
    image = to_vector(operator.matmat(operator.adopt(probe)))
    form = probe.T @ image
    length = scale * size * float(np.abs(probe).max()) ** 2
    agree("products must be symmetric", form, form.T, length)
    lowest = float(np.linalg.eigvalsh((form + form.T) / 2)[0])
    if lowest < -relative * length:
        msg = f"operator breaks its promise: it is not positive semidefinite, a probe gave {lowest:.3g}"
        raise InvalidProblemError(msg)
    agree(
        "a restriction must be the submatrix",
        to_vector(operator.restrict(some).submatrix(np.arange(some.size))),
        submatrix,
    )
    if size <= FACTORS_CHECKED_UP_TO:
        pieces = [to_vector(block) for _, block in operator.factor().blocks(max(1, size // 3), operator.dtype)]
        factor = np.concatenate(pieces, axis=1)
        agree("the factor must reproduce the columns", factor.T @ factor[:, some], by_columns)
