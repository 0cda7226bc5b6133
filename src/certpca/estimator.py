"""Sparse PCA for scikit-learn."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from certpca.api import solve
from certpca.arrays import Vector
from certpca.budget import Budget
from certpca.errors import InvalidDataError, InvalidProblemError
from certpca.operators import from_data
from certpca.operators.moments import genotype_code
from certpca.result import Status
from certpca.solvers import Solver

DEFAULT_SPARSITY = 10


class SparsePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The leading sparse principal component, with exactly the sparsity asked for.

    Parameters
    ----------
    sparsity
        Largest number of nonzero loadings; by default 10, or all features where there are fewer.
    solver
        Name of a solver, or a solver object.
    center, scale
        Subtract column means; divide by column standard deviations. Both implicit: sparse
        input stays sparse.
    missing
        ``"error"`` or ``"mean"``: what to do with NaN.
    time_limit
        Seconds after which the best component so far is taken.
    random_state
        Seed of the random starts. The same seed gives the same component.

    Attributes
    ----------
    components_ : ndarray of shape (1, n_features)
        The component, zero outside its support. Its largest loading is positive.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (1,)
        Variance along the component, and divided by the total variance.
    mean_, scale_ : ndarray of shape (n_features,)
        What is subtracted and divided by (zeros and ones where switched off).
    support_ : ndarray
        Sorted indices of the nonzero loadings.
    solution_ : Solution
        Everything `certpca.solve` reports.

    Examples
    --------
    >>> import numpy as np
    >>> from certpca import SparsePCA
    >>> X = np.random.default_rng(0).standard_normal((50, 6))
    >>> X[:, 3] += 4 * X[:, 1]
    >>> SparsePCA(sparsity=2).fit(X).support_.tolist()
    [1, 3]
    """

    def __init__(
        self,
        sparsity: int | None = None,
        *,
        solver: str | Solver = "auto",
        center: bool = True,
        scale: bool = False,
        missing: str = "error",
        time_limit: float | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.sparsity = sparsity
        self.solver = solver
        self.center = center
        self.scale = scale
        self.missing = missing
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Find the component of samples x features."""
        del y
        data = self._checked(X, reset=True)
        if data.shape[0] < 2 and self.center:
            msg = f"Found array with n_samples={data.shape[0]}: a covariance needs at least two samples"
            raise InvalidProblemError(msg)
        operator = from_data(data, center=self.center, scale=self.scale, missing=self.missing)  # type: ignore[arg-type]
        sparsity = min(DEFAULT_SPARSITY, operator.size) if self.sparsity is None else self.sparsity
        budget = Budget() if self.time_limit is None else Budget(seconds=self.time_limit)
        seed = self.random_state if self.random_state is not None else np.random.default_rng()
        solution = solve(operator, sparsity, self.solver, rng=seed, budget=budget)
        if solution.status in (Status.OUT_OF_BUDGET, Status.INTERRUPTED):
            warnings.warn(f"SparsePCA {solution.status.value}", ConvergenceWarning, stacklevel=2)
        self.solution_ = solution
        self.support_ = solution.support
        self.components_ = solution.component[None, :]
        self.explained_variance_ = np.array([solution.objective])
        self.explained_variance_ratio_ = np.array([solution.explained_variance_ratio])
        self.mean_, self.scale_ = operator.standardisation()
        self.n_components_ = 1
        return self

    def transform(self, X: Any) -> Vector:  # noqa: N803
        """Project samples on the component: one score for each, independent of the number of rows."""
        check_is_fitted(self)
        data = self._checked(X, reset=False)
        # Only columns of the support matter, so holes elsewhere are never looked at.
        part, mean = data[:, self.support_], self.mean_[self.support_]
        weights = (self.components_ / self.scale_).T[self.support_]
        sparse = hasattr(data, "toarray")
        if sparse and not np.isnan(part.data).any():
            return np.asarray(part @ weights - mean @ weights)
        part = part.toarray() if sparse else part
        code = None if sparse else genotype_code(data)
        holes = np.isnan(part) if code is None else part == code
        if self.missing == "error" and holes.any():
            msg = f"X has missing values (coded {code}); use missing='mean' to put the column mean there"
            raise InvalidDataError(msg)
        return np.asarray((np.where(holes, mean, part) - mean) @ weights)

    def inverse_transform(self, X: Any) -> Vector:  # noqa: N803
        """Return the samples that scores stand for, in the units of the data."""
        check_is_fitted(self)
        scores = np.asarray(X, dtype=np.float64)
        if scores.ndim != 2 or scores.shape[1] != self.n_components_:
            msg = f"scores must have shape (n_samples, {self.n_components_}), got {scores.shape}"
            raise InvalidProblemError(msg)
        return np.asarray(scores @ (self.components_ * self.scale_) + self.mean_)

    def _checked(self, data: Any, *, reset: bool) -> Any:
        allow_missing: bool | str = "allow-nan" if self.missing == "mean" else True
        return validate_data(
            self,
            data,
            reset=reset,
            accept_sparse=("csc", "csr"),
            dtype=[np.float64, np.float32, np.int8, np.int16, np.int32, np.int64],  # -9 means missing in integers
            ensure_all_finite=allow_missing,
        )

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "mean"
        return tags
