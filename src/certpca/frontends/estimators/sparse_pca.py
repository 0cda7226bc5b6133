"""Sparse PCA for scikit-learn."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from certpca.frontends.estimators.fitting import found, started
from certpca.frontends.estimators.gaussian_model import gaussian_model, root
from certpca.frontends.estimators.samples import checked_samples
from certpca.intake import from_data
from certpca.intake.inputs import stays_in_file
from certpca.operators import Operator
from certpca.operators.covariance import Covariance
from certpca.readers.missing import possible_code
from certpca.readers.moments import dense_moments, sparse_moments
from certpca.readers.sparse_format import by_columns
from certpca.results.component_set import GREEDY
from certpca.runtime.array_kinds import is_sparse
from certpca.runtime.arrays import Vector
from certpca.runtime.errors import InvalidDataError, InvalidProblemError
from certpca.solvers import Solver
from certpca.verbs.components import remaining_problem
from certpca.verbs.constraints import Features, Groups
from certpca.verbs.decompose import DEFLATION
from certpca.verbs.transform import inverse_gram, projections, with_nan
from certpca.verbs.validation import checked_choice, checked_position, named_arguments

BLOCK_BYTES = 64 << 20  # of samples that are looked at as a whole


class SparsePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Sparse principal components, with exactly the sparsity asked for.

    With standardised data Z (see `center` and `scale`) and components V as rows, ``method="projection"`` gives the
    scores ZVᵀ and ``method="regression"`` the least-squares ones ZVᵀ(VVᵀ)⁺, which rebuild Z best as scores times V.
    They are the same where components are orthogonal, and `inverse_transform` rebuilds the same samples from either.

    Parameters
    ----------
    n_components : int
        Number of components.
    sparsity : int or sequence of int, optional
        Largest number of nonzero loadings, for all components or as a list with one number for each; by default 10, or
        all features where there are fewer.
    solver : str or Solver, optional
        What finds greedy components: the name of a solver, or a solver object; by default ``"auto"``.
    include, exclude : feature or sequence of features, optional
        Features, by name or index, that every greedy component has, or none has.
    groups : sequence or mapping of features, optional
        Groups of which every greedy component has all features or none.
    nonnegative : bool
        Whether no loading of a greedy component may be negative.
    total : int, optional
        In place of `sparsity`, where components are chosen together: a number of loadings for all, which is split.
    together : {"greedy", "disjoint", "orthogonal", "uncorrelated", "shared"}
        Whether components are found one after the other, or what they are together when they are chosen so that the
        sum of their variances is largest. See `certpca.decompose`.
    deflation : str, optional
        How a greedy component is taken out of the matrix before the next is searched for; by default ``"schur"``. See
        `certpca.decompose`.
    method : {"projection", "regression"}
        What scores are.
    whiten : bool
        Turn scores into uncorrelated ones of unit variance: they are multiplied by the inverse root of their covariance
        in the training data, which changes each as little as possible. Where they are uncorrelated, each is divided
        by its standard deviation.
    certify : bool
        Also prove how far from the best the set can be; of greedy components, each.
    target_gap : float, optional
        A proof ends when the set, or the component, is within this share of the optimum; by default 0.01.
    random_state : int, optional
        Seed of the random starts. The same seed gives the same components; None draws one.
    time_limit : float, optional
        Seconds for the whole fit, proofs included. All components exist whatever it is; the later ones are found by
        cheaper steps where time is short. By default ten minutes where proofs are asked for, else no limit.
    center : bool
        Subtract column means, implicitly: sparse input stays sparse.
    scale : bool or {"2pq"}
        Divide by column standard deviations, implicitly; ``"2pq"`` is for genotypes, see `certpca.from_data`.
    missing : {"error", "mean"}
        What to do with NaN.
    verbose : bool or int
        Print how the fit gets on, a line every two seconds.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The components, zero outside their supports. The largest loading of each is positive.
    n_components_ : int
        Their number: fewer than asked for where nothing was left to explain, or after Ctrl-C.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
        Variance along each component by itself, and divided by the total variance of the data. Correlated components
        count the same variance more than once.
    adjusted_variance_, adjusted_variance_ratio_ : ndarray of shape (n_components_,)
        Variance that each adds to the ones before it; see `certpca.Components`.
    total_variance_, total_variance_ratio_ : float
        Variance that all together explain by regression.
    singular_values_ : ndarray of shape (n_components_,)
        Lengths of the columns of training scores (of projections, not whitened).
    noise_variance_ : float
        Mean variance of standardised samples in the directions orthogonal to all components; see `get_covariance`.
    mean_, scale_ : ndarray of shape (n_features,)
        What is subtracted and divided by (zeros and ones where switched off).
    missing_code_ : int or None
        What marks missing values beside NaN, in all samples that are scored later: -9 where the model was fitted to
        integers without other negative numbers.
    support_ : ndarray
        Sorted indices of the features with a nonzero loading in any component.
    solutions_ : tuple of Solution
        Everything that is known of each component.
    solution_ : Solution
        The first of them.
    certificates_ : tuple of Certificate
        The certificates of greedy components, or None; `problem` rebuilds the matrix that each is for.
    certificate_ : SetCertificate or None
        The certificate of components chosen together.
    upper_bound_, gap_ : float
        What no such components exceed in sum, and how far from that these can be; infinite and NaN where nothing is
        proved of the set.

    See Also
    --------
    certpca.decompose : The same for those who need no scores.
    SparseKernelPCA : Directions that are combinations of few samples.

    Notes
    -----
    Samples may also be an AnnData object or a reader of a file (`certpca.read_h5ad`, `read_plink`, …), which is
    streamed. Scores of float32 samples are float32; they are computed in double precision.

    There is no `partial_fit`. Which features are best is decided by all samples together: components of one batch say
    nothing about the best ones of all, and a proof about all needs all. What is larger than memory is streamed from its
    file instead, with the same answer and the same proof as in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from certpca import SparsePCA
    >>> X = np.random.default_rng(0).standard_normal((50, 6))
    >>> X[:, 3] += 4 * X[:, 1]
    >>> SparsePCA(n_components=1, sparsity=2).fit(X).support_.tolist()
    [1, 3]
    >>> SparsePCA(5)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    certpca.runtime.errors.UnknownArgumentError: ... got 5; write SparsePCA(n_components=5, sparsity=…)
    """

    @named_arguments
    def __init__(
        self,
        *,
        n_components: int = 1,
        sparsity: int | Sequence[int] | None = None,
        solver: str | Solver | None = None,
        include: Features | None = None,
        exclude: Features | None = None,
        groups: Groups | None = None,
        nonnegative: bool = False,
        total: int | None = None,
        together: str = GREEDY,
        deflation: str | None = None,
        method: str = "projection",
        whiten: bool = False,
        certify: bool = False,
        target_gap: float | None = None,
        random_state: int | None = 0,
        time_limit: float | None = None,
        center: bool = True,
        scale: bool | str = False,
        missing: str = "error",
        verbose: bool | int = False,
    ) -> None:
        self.n_components = n_components
        self.sparsity = sparsity
        self.solver = solver
        self.include = include
        self.exclude = exclude
        self.groups = groups
        self.nonnegative = nonnegative
        self.total = total
        self.together = together
        self.deflation = deflation
        self.method = method
        self.whiten = whiten
        self.certify = certify
        self.target_gap = target_gap
        self.random_state = random_state
        self.time_limit = time_limit
        self.center = center
        self.scale = scale
        self.missing = missing
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: N803
        """Find the components of samples x features.

        Parameters
        ----------
        X : {array_like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : None
            Not used; here so that pipelines can give it.
        sample_weight : array_like of shape (n_samples,), optional
            How much each sample counts; only ratios matter. See `certpca.from_data`.

        Returns
        -------
        SparsePCA
            The estimator itself, fitted.

        Raises
        ------
        InvalidProblemError
            Where a setting has no meaning for these data, or would have no effect.
        InvalidDataError
            Where the data cannot be used as they are.
        """
        del y
        progress = started(self)
        checked_choice(self.method, "method", ("projection", "regression"))
        data = self._checked(X, reset=True)
        if data.shape[0] < 2 and self.center:
            msg = f"Found array with n_samples={data.shape[0]}: a covariance needs at least two samples"
            raise InvalidProblemError(msg)
        # Decided once: whether -9 means missing must not depend on which samples come together later.
        self.missing_code_ = self._code(data)
        operator = self._operator(data, sample_weight)
        components = found(
            self,
            operator,
            progress,
            include=self.include,
            exclude=self.exclude,
            groups=self.groups,
            nonnegative=self.nonnegative,
            total=self.total,
            together=self.together,
        )
        # They themselves are not kept: it holds the data.
        self.solutions_ = components.components
        self.solution_ = components.components[0]
        self.certificates_ = components.certificates
        self.certificate_ = components.certificate
        self.upper_bound_, self.gap_ = components.upper_bound, components.gap
        self.components_ = np.ascontiguousarray(components.loadings.T)
        self.n_components_ = len(components.components)
        self.support_ = np.flatnonzero(self.components_.any(axis=0))
        self.explained_variance_ = components.explained_variance
        self.explained_variance_ratio_ = components.explained_variance_ratio
        self.adjusted_variance_ = components.adjusted_variance
        self.adjusted_variance_ratio_ = components.adjusted_variance_ratio
        self.total_variance_ = components.total_variance
        self.total_variance_ratio_ = components.total_variance_ratio
        self.mean_, self.scale_ = operator.standardisation()
        self.singular_values_ = np.sqrt(self.explained_variance_) * np.sqrt(operator.source().divisor)
        self._model, self._scores_covariance = gaussian_model(operator, self.components_)
        self.noise_variance_ = self._model.noise
        return self

    def transform(self, X: Any) -> Vector:  # noqa: N803
        """Return a score for each sample and component, independent of the other samples.

        Parameters
        ----------
        X : {array_like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)
            The scores.

        Raises
        ------
        InvalidDataError
            Where values are missing and ``missing="error"``.
        """
        check_is_fitted(self)
        data = self._checked(X, reset=False)
        scores = self._projections(data)
        if self.method == "regression":
            scores = scores @ self._inverse_gram()
        if self.whiten:
            scores = scores @ self._whitening(-0.5)
        return scores.astype(np.float32) if data.dtype == np.float32 else scores

    def _whitening(self, power: float) -> Vector:
        """Return a power of the covariance of training scores."""
        turned = np.eye(self.n_components_) if self.method == "projection" else self._inverse_gram()
        return root(turned @ self._scores_covariance @ turned, power)

    def inverse_transform(self, X: Any) -> Vector:  # noqa: N803
        """Return the samples that scores stand for, in the units of the data.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_components_)
            Scores, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            What the components rebuild of the samples.

        Raises
        ------
        InvalidProblemError
            Where the scores are not one for each component.
        """
        check_is_fitted(self)
        kind = np.asarray(X).dtype
        scores = np.asarray(X, dtype=np.float64)
        if scores.ndim != 2 or scores.shape[1] != self.n_components_:
            msg = f"scores must have shape (n_samples, {self.n_components_}), got {scores.shape}"
            raise InvalidProblemError(msg)
        if self.whiten:
            scores = scores @ self._whitening(0.5)
        if self.method == "projection":
            scores = scores @ self._inverse_gram()
        rebuilt = np.asarray(scores @ (self.components_ * self.scale_) + self.mean_)
        return rebuilt.astype(np.float32) if kind == np.float32 else rebuilt

    def get_covariance(self) -> Vector:
        """Return the covariance of the normal distribution that the components stand for.

        It is that of the data in the space that the components span, uncorrelated with the rest, and `noise_variance_`
        in every direction orthogonal to it; for eigenvectors, that of `sklearn.decomposition.PCA`.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            In the units of the data.
        """
        check_is_fitted(self)
        return self._model.covariance(self.scale_)

    def score_samples(self, X: Any) -> Vector:  # noqa: N803
        """Return the log-likelihood of each sample under the normal distribution that the components stand for.

        Parameters
        ----------
        X : {array_like, sparse matrix} of shape (n_samples, n_features)
            The samples, in memory.

        Returns
        -------
        ndarray of shape (n_samples,)
            The logarithm of the density at each sample; see `get_covariance`.

        Raises
        ------
        InvalidProblemError
            Where the components explain everything, so that there is no density.
        InvalidDataError
            Where values are missing and ``missing="error"``, or the samples stay in a file.
        """
        check_is_fitted(self)
        data = self._checked(X, reset=False)
        if stays_in_file(data):
            msg = "score_samples looks at whole samples, but these are read from a file by columns; load some of them"
            raise InvalidDataError(msg)
        rows = data.tocsr() if is_sparse(data) else data
        found, height = [], max(1, BLOCK_BYTES // (8 * int(data.shape[1])))
        for start in range(0, data.shape[0], height):
            block = rows[start : start + height]
            found.append(self._model.log_density(self._standardised(block), self.scale_))
        return np.concatenate(found)

    def _standardised(self, block: Any) -> Vector:
        dense = np.asarray(block.toarray() if is_sparse(block) else block, dtype=np.float64)
        holes = np.isnan(dense) if self.missing_code_ is None else np.isnan(dense) | (dense == self.missing_code_)
        if self.missing == "error" and holes.any():
            msg = "X has missing values; use missing='mean' to put the column mean there"
            raise InvalidDataError(msg)
        return np.asarray((np.where(holes, self.mean_, dense) - self.mean_) / self.scale_)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """Return the share of the variance of samples that the components rebuild, for model selection.

        With Z the samples standardised as the training data were and Ẑ what `inverse_transform` makes of their scores,
        in the same units, this is 1 - ‖Z - Ẑ‖² / ‖Z‖².

        Parameters
        ----------
        X : {array_like, sparse matrix} of shape (n_samples, n_features)
            The samples.
        y : None
            Not used; here so that searches over settings can give it.

        Returns
        -------
        float
            The share, at most 1.
        """
        del y
        check_is_fitted(self)
        data = self._checked(X, reset=False)
        if stays_in_file(data):
            moments = data.moments(center=True)
        elif is_sparse(data):
            moments = sparse_moments(with_nan(by_columns(data), self.missing_code_), center=True)
        else:
            moments = dense_moments(data, self.missing_code_, center=True)
        # Lengths before squares, and these of numbers near one: neither overflows or vanishes.
        lengths = (
            np.ldexp(np.sqrt(moments.squares), moments.power),
            np.sqrt(moments.count) * (moments.mean - self.mean_),
        )
        parts = np.stack(lengths) / self.scale_
        unit = float(np.abs(parts).max())
        if unit == 0.0:
            return 0.0
        scores = self._projections(data) / unit
        return float(((scores @ self._inverse_gram()) * scores).sum()) / float(((parts / unit) ** 2).sum())

    def problem(self, X: Any, component: int, sample_weight: Any = None) -> Operator:  # noqa: N803
        """Rebuild from the training data the matrix a component was found on, for `certpca.verify`.

        Parameters
        ----------
        X : {array_like, sparse matrix} of shape (n_samples, n_features)
            The samples the estimator was fitted to.
        component : int
            Its position, from 0.
        sample_weight : array_like of shape (n_samples,), optional
            The weights it was fitted with.

        Returns
        -------
        Operator
            What the components before it leave of the matrix; the matrix itself where all were chosen together.

        Raises
        ------
        InvalidProblemError
            Where there is no such component.
        """
        check_is_fitted(self)
        checked_position(component, len(self.solutions_))
        operator = self._operator(self._checked(X, reset=False), sample_weight)
        deflation = DEFLATION if self.deflation is None and self.together == GREEDY else self.deflation
        return remaining_problem(operator, self.solutions_[:component], deflation)

    def _operator(self, data: Any, sample_weight: Any) -> Covariance:
        return from_data(
            data,
            center=self.center,
            scale=self.scale,  # type: ignore[arg-type]
            missing=self.missing,  # type: ignore[arg-type]
            sample_weight=sample_weight,
            names=getattr(self, "feature_names_in_", None),
        )

    def _inverse_gram(self) -> Vector:
        return inverse_gram(self.components_)

    def _projections(self, data: Any) -> Vector:
        # Only columns of the support matter, so holes elsewhere are never looked at.
        weights = (self.components_ / self.scale_).T[self.support_]
        part, mean = data[:, self.support_], self.mean_[self.support_]
        return projections(part, mean, weights, self.missing_code_, self.missing)

    def _code(self, data: Any) -> int | None:
        """Return what marks missing values beside NaN."""
        if stays_in_file(data):
            code: int | None = data.missing_code()
            return code
        return None if is_sparse(data) else possible_code(data)

    def _checked(self, data: Any, *, reset: bool) -> Any:
        return checked_samples(self, data, reset=reset, allow_nan=self.missing == "mean")

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "mean"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
