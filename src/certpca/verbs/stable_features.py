"""Which features of a component are found again in other samples: another question than which are best in this one."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from certpca.results.certificate import PROVED_OPTIMAL
from certpca.results.solution import Solution
from certpca.runtime.arrays import Indices, Vector
from certpca.runtime.rounded import percent_up, up

MOST, BESIDE = 40, 5  # features that are drawn, and how many of them beside those of the component


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """A component, and how often half-samples find its features again.

    Parameters
    ----------
    solution : Solution
        The component of all rows, with its certificate where there is one.
    frequencies : ndarray of shape (n_features,)
        The share of the half-samples in which each feature was selected.
    subsamples : int
        How many half-samples there were.
    stable : float
        The share from which a feature counts as stable.
    expected_errors : float
        The most features, among those selected no more often than a random choice would, that are expected to be
        stable.
    seconds : float
        Time that it took.
    names : tuple of str or None
        Of all features, where the data have names.

    See Also
    --------
    stability : What returns it.

    Examples
    --------
    >>> import numpy as np, certpca
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 30))
    >>> X[:, :4] += 2 * rng.standard_normal((60, 1))
    >>> found = certpca.stability(X, 4, subsamples=10)
    >>> found.stable_features.tolist()
    [0, 1, 2, 3]
    """

    solution: Solution
    frequencies: Vector
    subsamples: int
    stable: float
    expected_errors: float
    seconds: float = 0.0
    names: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def stable_features(self) -> Indices:
        """The features found in a share `stable` of the half-samples, in the component or not."""
        return np.flatnonzero(self.frequencies >= self.stable)

    @property
    def found_again(self) -> float:
        """In which share of the half-samples a feature of the component was selected, on average."""
        return float(self.frequencies[self.solution.support].mean())

    def drawn(self, most: int = MOST) -> Indices:
        """Return the features that are worth showing: those found most often, and all of the component.

        Parameters
        ----------
        most : int
            How many at most.

        Returns
        -------
        ndarray of int
            By falling frequency.
        """
        order = np.argsort(-self.frequencies, kind="stable")
        close = self.solution.support.size + BESIDE
        wanted = set(order[:close].tolist()) | set(self.solution.support.tolist())
        return np.array([j for j in order if j in wanted and self.frequencies[j] > 0][:most], dtype=np.intp)

    def plot(self, ax: Any = None) -> Any:
        """Draw how often half-samples select features, those of the component apart from others.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default new axes.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.
        """
        from certpca.plots import draw

        shown = self.drawn()
        names = [str(feature) if self.names is None else self.names[feature] for feature in shown]
        inside = np.isin(shown, self.solution.support)
        return draw("stability", names, self.frequencies[shown], inside, stable=self.stable, ax=ax)

    @property
    def in_sample(self) -> str:
        """What is proved of the component in this sample."""
        solution = self.solution
        choice = f"no choice of {solution.sparsity} of the {solution.size} features"
        if math.isnan(solution.gap):
            return "Best in this sample: not proved; nothing is known about other choices."
        if solution.gap <= PROVED_OPTIMAL:
            return f"Best in this sample: {choice} captures more, proved (to one part in a million)."
        return (
            f"Best in this sample, within {percent_up(solution.gap)}: {choice} captures more than "
            f"{up(solution.upper_bound)}, proved."
        )

    @property
    def in_others(self) -> str:
        """What half-samples say of the component."""
        support = self.solution.support
        firm = int((self.frequencies[support] >= self.stable).sum())
        extra = self.stable_features.size - firm
        text = (
            f"Found again in {self.found_again:.0%} of {self.subsamples} half-samples, on average over its features; "
            f"{firm} of {support.size} in at least {self.stable:.0%}"
        )
        text += f", and so are {extra} that are not in it. " if extra else ". "
        return text + (
            f"Of features selected no more often than by chance, at most {up(self.expected_errors, 2)} are expected "
            "among the stable ones."
        )

    def __str__(self) -> str:
        """Say both, as two sentences about two questions."""
        return f"{self.in_sample}\n{self.in_others}"
