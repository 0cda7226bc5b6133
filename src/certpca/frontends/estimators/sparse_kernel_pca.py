"""Sparse kernel PCA for scikit-learn."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from certpca.frontends.annotated.tables import is_annotated, table_of
from certpca.frontends.estimators.fitting import found, started
from certpca.intake import from_kernel
from certpca.intake.inputs import stays_in_file
from certpca.operators.kernel import KernelFunction, named_kernel
from certpca.readers.sparse_format import sound_sparse
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Vector
from certpca.runtime.errors import InvalidDataError, InvalidProblemError
from certpca.solvers import Solver
from certpca.verbs.validation import named_arguments

BLOCK_BYTES = 64 << 20


class SparseKernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel PCA whose directions are combinations of few samples.

    A direction in the kernel's feature space is w = Σ α_i φ(x_i) with a unit vector α of at most `sparsity` nonzeros
    that maximises αᵀKα, K the centred kernel matrix; scores are products with w/‖w‖.

    Parameters
    ----------
    n_components : int
        Number of directions.
    sparsity : int or sequence of int, optional
        Largest number of samples in a direction, one number or one for each; by default 10, or all samples where
        there are fewer.
    solver : str or Solver
        Name of a solver, or a solver object.
    deflation : str, optional
        How a direction is taken out before the next is searched for; by default ``"schur"``. See `certpca.decompose`.
    certify : bool
        Also prove how far from the optimum each direction can be; this forms the kernel matrix.
    target_gap : float, optional
        Each proof ends when its direction is within this share of the optimum; by default 0.01.
    random_state : int, optional
        Seed of the random starts. The same seed gives the same directions; None draws one.
    time_limit : float, optional
        Seconds for the whole fit, proofs included, but for one evaluation of the kernel on all pairs of samples, which
        cannot be cut short. All directions exist whatever the limit is; the later ones are found by cheaper steps where
        time is short.
    kernel : {"linear", "rbf", "polynomial", "precomputed"} or callable
        A name, or a positive semidefinite function of two blocks of rows that returns the matrix of kernel values.
    gamma : float, optional
        Of ``"rbf"`` and ``"polynomial"``, as in scikit-learn; by default one over the number of features.
    degree : float, optional
        Of ``"polynomial"``; by default 3.
    coef0 : float, optional
        Of ``"polynomial"``; by default 1.
    center : bool
        Centre in feature space.
    verbose : bool or int
        Print how the fit gets on, a line every two seconds.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_components, n_samples)
        α for each direction, zero outside its support.
    support_ : ndarray
        Sorted indices of the samples in any direction.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the training scores of each direction, ‖Kα‖²/(n αᵀKα).
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The same, divided by the total variance in feature space.
    solutions_ : tuple of Solution
        Everything `certpca.decompose` reports about each direction, certificates included.

    See Also
    --------
    certpca.from_kernel : The kernel matrix by itself, for the verbs.
    SparsePCA : Components with few features.

    Examples
    --------
    >>> import numpy as np
    >>> from certpca import SparseKernelPCA
    >>> X = np.repeat([[0.0], [5.0]], 10, axis=0) + 0.1 * np.random.default_rng(0).standard_normal((20, 1))
    >>> scores = SparseKernelPCA(sparsity=4).fit_transform(X)
    >>> bool((scores[:10] * scores[0] > 0).all() and (scores[10:] * scores[0] < 0).all())
    True
    """

    @named_arguments
    def __init__(
        self,
        *,
        n_components: int = 1,
        sparsity: int | Sequence[int] | None = None,
        solver: str | Solver = "auto",
        deflation: str | None = None,
        certify: bool = False,
        target_gap: float | None = None,
        random_state: int | None = 0,
        time_limit: float | None = None,
        kernel: str | KernelFunction = "rbf",
        gamma: float | None = None,
        degree: float | None = None,
        coef0: float | None = None,
        center: bool = True,
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.solver = solver
        self.deflation = deflation
        self.certify = certify
        self.target_gap = target_gap
        self.random_state = random_state
        self.time_limit = time_limit
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.center = center
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Find the directions.

        Parameters
        ----------
        X : {array_like, sparse matrix} of shape (n_samples, n_features)
            The samples, or their kernel matrix with ``kernel="precomputed"``.
        y : None
            Not used; here so that pipelines can give it.

        Returns
        -------
        SparseKernelPCA
            The estimator itself, fitted.

        Raises
        ------
        InvalidProblemError
            Where a setting has no meaning for these data, or would have no effect.
        """
        del y
        progress = started(self)
        data = self._checked(X, reset=True)
        size = int(data.shape[0])
        if size < 2:
            msg = f"Found array with n_samples={size}: kernel PCA needs at least two samples"
            raise InvalidProblemError(msg)
        operator = from_kernel(data, self.kernel, center=self.center, **self._parameters())
        components = found(self, operator, progress)
        self.solutions_ = components.components
        self.dual_coef_ = np.array([part.component for part in components.components])
        self.support_ = np.flatnonzero((self.dual_coef_ != 0).any(axis=0))
        self.n_components_ = self.dual_coef_.shape[0]
        near = operator.near_one()
        images = np.asarray(near.matmat(self.dual_coef_.T))
        squares = np.einsum("ij,ij->j", self.dual_coef_.T, images)
        lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
        variance, total = ((images / lengths) ** 2).sum(axis=0) / size, near.trace() / size
        self._lengths = np.ldexp(lengths, near.power // 2)
        self.explained_variance_ = np.ldexp(variance, near.power)
        self.explained_variance_ratio_ = variance / total if total > 0 else 0 * variance
        self._remember(data, operator)
        return self

    def transform(self, X: Any) -> Vector:  # noqa: N803
        """Return scores of samples.

        Parameters
        ----------
        X : {array_like, sparse matrix} of shape (n_samples, n_features)
            The samples, or rows of kernel values between them and the training samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The scores.
        """
        check_is_fitted(self)
        data = self._checked(X, reset=False)
        weights = self.dual_coef_[:, self.support_].T / self._lengths
        scores = np.empty((data.shape[0], self.n_components_))
        # Centring a new point takes its kernel values with all training samples, so it goes by blocks of rows.
        against: Any = self._training if self.center else self._chosen
        width = data.shape[1] if self.kernel == "precomputed" else against.shape[0]
        height = max(1, BLOCK_BYTES // (8 * int(width)))
        for start in range(0, data.shape[0], height):
            rows = data[start : start + height]
            if self.kernel == "precomputed":
                block = np.asarray(rows, dtype=np.float64)
            else:
                block = np.asarray(self._function()(rows, against), dtype=np.float64)
            means = block.mean(axis=1, keepdims=True) if self.center else 0.0
            if self.center or self.kernel == "precomputed":
                block = block[:, self.support_]
            scores[start : start + height] = (block - means - self._means + self._mean) @ weights
        return scores.astype(np.float32) if data.dtype == np.float32 else scores

    def _remember(self, data: Any, operator: Any) -> None:
        """Keep what centring and products with new points need."""
        self._training = None if self.kernel == "precomputed" else data
        self._chosen = None if self.kernel == "precomputed" else data[self.support_]
        if self.kernel != "precomputed":
            means = operator.row_means
        else:
            means = np.asarray(data, dtype=np.float64).mean(axis=0) if self.center else np.zeros(operator.size)
        self._means, self._mean = means[self.support_], float(means.mean())

    def _parameters(self) -> dict[str, float]:
        """Return what was said about the kernel, which `from_kernel` refuses where the kernel has no such parameter."""
        said = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return {name: value for name, value in said.items() if value is not None}

    def _function(self) -> KernelFunction:
        return named_kernel(self.kernel, self._parameters()) if isinstance(self.kernel, str) else self.kernel

    def _checked(self, data: Any, *, reset: bool) -> Any:
        if is_annotated(data):
            data = table_of(data).data
        if stays_in_file(data):
            msg = "kernels compare whole samples, but these are read from a file by columns; load some of them"
            raise InvalidDataError(msg)
        checked = validate_data(
            self,
            sound_sparse(data) if is_sparse(data) else data,
            reset=reset,
            accept_sparse=self.kernel != "precomputed" and ("csr",),
            dtype=[np.float64, np.float32],
            ensure_min_samples=1,
        )
        if self.kernel == "precomputed" and reset and checked.shape[0] != checked.shape[1]:
            msg = f"a precomputed kernel must be a square matrix, got shape {checked.shape}"
            raise InvalidProblemError(msg)
        return checked

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
