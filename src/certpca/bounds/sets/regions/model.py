"""The bound of a region as a function of its level and of the weights σ of its wedges, at fixed prices.

With the notation of `l0_level.model`, the matrix of a part of the aim is kR + QᵀQ + Σ σ_jM_j in the known directions.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from certpca.bounds.l0_level.aim import Aim, Spectrum, leading_sum
from certpca.bounds.l0_level.model import Density, Levels
from certpca.bounds.l0_level.space import Space
from certpca.runtime.arrays import Vector

COMPETING = 3e-3  # of the bound: eigenvectors within that make up the density that is cut


class RegionValue(NamedTuple):
    """The smoothed bound without prices, its gradient by a step, and the bound of each part of the aim."""

    value: float
    gradient: Vector
    bounds: tuple[float, ...]


class RegionModel:
    """The features of a space at prices that stay, and the wedges of one region as pairs of rays."""

    def __init__(
        self, space: Space, unevenness: float, prices: Vector, aim: Aim, pairs: Sequence[tuple[Vector, Vector]]
    ) -> None:
        self._model = space.model(unevenness)
        self._priced, self._aim, self._known = np.flatnonzero(prices), aim, space.known
        self._prices = prices[self._priced] / space.scale
        self._terms = []
        for first, second in pairs:
            r, s = space.basis.T @ first, space.basis.T @ second
            self._terms.append(-(np.outer(r, s) + np.outer(s, r)) / 2)

    def steps(self, base: Levels) -> int:
        """Return the number of coordinates of a step: those of the level, and an exponent for each σ."""
        return base.steps() + len(self._terms)

    def moved(self, base: Levels, sigmas: Vector, step: Vector) -> tuple[Levels, Vector]:
        """Return the level and the weights after a step."""
        own = base.steps()
        return base.moved(step[:own]), sigmas * np.exp(np.clip(step[own:], -60, 60))

    def evaluate(self, base: Levels, sigmas: Vector, step: Vector, smoothing: float) -> RegionValue:
        """Evaluate the smoothed bound and its gradient at a step away from a level and weights."""
        level, weights = self.moved(base, sigmas, step)
        here = self._with_prices(level)
        solved = self._model.factors(here)
        rows = self._model.rows(here, solved[2], solved[3])
        spectra = self._spectra(here, weights, rows, solved[3])
        value, width = 0.0, here.width
        density, paid, by_sigma = Density(), Density(), np.zeros(len(self._terms))
        for spectrum in spectra:
            part = spectrum.part
            smooth, shares = leading_sum(np.append(spectrum.values, spectrum.beyond), 1, smoothing)
            value += part.times * smooth
            density.add(spectrum.vectors, part.times * shares)
            paid.add(spectrum.vectors[:width], part.sparsity * part.times * shares)
            live = np.flatnonzero(shares[:-1] > 1e-9)
            vectors = spectrum.vectors[:, live]
            for number, term in enumerate(self._terms):
                forms = np.einsum("ij,ij->j", vectors, term @ vectors)
                by_sigma[number] += part.times * float(shares[live] @ forms)
        gradient = self._model.gradient(self._with_prices(base), here, solved, rows, density, paid)
        bounds = tuple(max(float(spectrum.values[-1]), 0.0) for spectrum in spectra)
        return RegionValue(value, np.concatenate([gradient[: base.steps()], weights * by_sigma]), bounds)

    def leading(self, level: Levels, sigmas: Vector, count: int) -> tuple[tuple[float, ...], Vector, Vector]:
        """Return the bound of each part, leading eigenvectors, and what these become without the level and σ."""
        here = self._with_prices(level)
        solved = self._model.factors(here)
        rows = self._model.rows(here, solved[2], solved[3])
        spectra = self._spectra(here, sigmas, rows, solved[3])
        vectors = np.concatenate([spectrum.vectors[:, -count:] for spectrum in spectra], axis=1)
        xp = self._model.xp
        panel = rows @ xp.asarray(np.ascontiguousarray(vectors), dtype=rows.dtype)
        panel = panel * xp.astype(solved[3], rows.dtype)[:, None]
        bounds = tuple(max(float(spectrum.values[-1]), 0.0) for spectrum in spectra)
        return bounds, vectors, panel

    def plane(self, level: Levels, sigmas: Vector) -> tuple[Vector, float]:
        """Return the two directions that the density leans on most, and the ratio of the second to the first."""
        here = self._with_prices(level)
        solved = self._model.factors(here)
        spectra = self._spectra(here, sigmas, self._model.rows(here, solved[2], solved[3]), solved[3])
        whole = np.zeros((self._known, self._known))
        for spectrum in spectra:
            top = float(spectrum.values[-1])
            shares = np.exp((spectrum.values - top) / max(COMPETING * top, np.finfo(float).tiny))
            whole += (spectrum.vectors * (spectrum.part.times * shares / shares.sum())) @ spectrum.vectors.T
        values, vectors = np.linalg.eigh(whole)
        return vectors[:, [-1, -2]], float(values[-2] / values[-1])

    def _with_prices(self, level: Levels) -> Levels:
        return Levels(level.frame, level.weights, level.level, level.rest_weight, self._priced, self._prices)

    def _spectra(self, level: Levels, sigmas: Vector, rows: Vector, other: Vector) -> list[Spectrum]:
        more = sum((sigma * term for sigma, term in zip(sigmas, self._terms, strict=True)), np.zeros((1, 1)))
        return self._model.spectra(level, self._aim, rows, other, more if self._terms else None)


def total_of(aim: Aim, bounds: Sequence[float]) -> float:
    """Add up what all components are worth at most."""
    return math.fsum(part.times * bound for part, bound in zip(aim.parts, bounds, strict=True))
