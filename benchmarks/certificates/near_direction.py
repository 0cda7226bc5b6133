"""What a level would still leave open if the direction were known to lie within an angle of the best one found.

    python -m benchmarks.certificates.near_direction

European genotypes of chromosome 22. For directions with (vᵀξ)² ≥ c|ξ|², c the squared cosine of the angle, v the best
direction, σ(vvᵀ − cI) may be added to the bound's matrix (docs/mathematics.md, 5.1, for another form): a tree of
regions has to come down to regions that narrow, in every direction that competes, before its bound is as tight as this.
Levels and σ are sought by the descent of the product, for the data along their leading directions. These are computed
values, not proofs. A few minutes.
"""

import argparse
import json
import math
import time
from typing import Any

import numpy as np
from benchmarks.certificates.gaps import DATA
from benchmarks.machine import SHARED, facts, write_results

from certpca.bounds.l0_level.aim import Aim, Spectrum, one_component
from certpca.bounds.l0_level.descent import descended
from certpca.bounds.l0_level.model import Evaluation, Levels, Model
from certpca.runtime.arrays import Array, Vector

NAME, SPARSITIES = "chr 22, Europe", (723, 2170)
ANGLES = (90, 45, 30, 20)  # degrees; any direction is within the first
DIRECTIONS, WIDTH = 160, 24  # leading ones that are kept, and those with levels of their own
SMOOTHINGS, STEPS = (1e-2, 3e-3, 1e-3), 120
WEIGHTS = (0.0, 0.1, 0.2, 0.4, 0.8)  # σ, of the bound
STARTS = 400


class Near(Model):
    """Adds σ(vvᵀ − cI), v the first direction, to the matrix of every part."""

    weight, squared_cosine = 0.0, 0.0

    def spectra(
        self, levels: Levels, aim: Aim, rows: Array, other: Array, more: Vector | None = None
    ) -> list[Spectrum]:
        """Return the spectra of the larger matrix."""
        del more
        added = np.eye(self.known) * (-self.weight * self.squared_cosine)
        added[0, 0] += self.weight
        return super().spectra(levels, aim, rows, other, added)


def best_direction(columns: Array, left: Array, k: int) -> tuple[float, Vector]:
    """Return the most that k features capture and its direction, from many starts along leading directions."""
    rng = np.random.default_rng(0)
    directions = left[:, :30] @ rng.standard_normal((30, STARTS)).astype(np.float32)
    for _ in range(30):
        directions /= np.linalg.norm(directions, axis=0)
        along = columns.T @ directions
        squares = along * along
        chosen = squares >= np.partition(squares, -k, axis=0)[-k]
        captured, directions = (squares * chosen).sum(axis=0), columns @ (along * chosen)
    best = int(captured.argmax())
    return float(captured[best]), directions[:, best].astype(np.float64) / np.linalg.norm(directions[:, best])


def bounded(model: Near, start: Levels, k: int, smoothings: tuple[float, ...]) -> tuple[float, Levels]:
    """Descend from some levels; return the bound and the levels."""
    levels, bound, aim = start, math.inf, one_component(k)
    for smoothing in smoothings:

        def evaluate(step: Vector, base: Levels = levels, smoothing: float = smoothing) -> Evaluation:
            return model.evaluate(base, step, aim, smoothing)

        found = descended(
            evaluate, levels.steps(), steps=STEPS, tolerance=1e-4 * smoothing, late=lambda: False, memory=40
        )
        assert found.best is not None
        if found.best.spectra[0].bound < bound:
            bound, levels = found.best.spectra[0].bound, levels.moved(found.step)
    return bound, levels


def measured(k: int) -> dict[str, Any]:
    """Return the gaps within each angle, for one sparsity."""
    load, file = DATA[NAME]
    data = np.asarray(load(file), dtype=np.float32)
    data -= data.mean(axis=0)
    left = np.linalg.svd(data, full_matrices=False)[0][:, :DIRECTIONS]
    data = left @ (left.T @ data)
    best, direction = best_direction(data, left, k)
    basis = np.linalg.qr(np.column_stack([direction, left]))[0][:, :DIRECTIONS]
    along = np.ascontiguousarray((data.T @ basis.astype(np.float32)) / np.float32(math.sqrt(best)))
    model = Near(along, np.square(along.astype(np.float64)).sum(axis=1), basis.shape[1])
    spread = np.square(along[:, :WIDTH].astype(np.float64)).sum(axis=0)
    level = 0.5 * float(np.sort(along[:, 0] ** 2)[-k])
    start = Levels(np.eye(WIDTH) / math.sqrt(level), spread / spread.max(), level, 0.1)
    bound, anywhere = bounded(model, start, k, SMOOTHINGS)
    rows = [{"angle": 90, "gap": 1 - 1 / bound}]
    for angle in ANGLES[1:]:
        model.squared_cosine = math.cos(math.radians(angle)) ** 2
        least, levels = bound, anywhere
        for weight in WEIGHTS[1:]:
            model.weight = weight
            found, levels = bounded(model, levels, k, SMOOTHINGS[1:])
            if found > least:
                break
            least = found
        rows.append({"angle": angle, "gap": 1 - 1 / least})
        print(json.dumps({"sparsity": k, **rows[-1]}), flush=True)
    return {"sparsity": k, "rows": rows}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if not SHARED.exists():
        msg = "needs the genotypes of ../shared/data"
        raise SystemExit(msg)
    start, began = facts(), time.perf_counter()
    found = [measured(k) for k in SPARSITIES]
    write_results(
        "near_direction",
        start,
        {"data": NAME, "directions": DIRECTIONS, "found": found, "seconds": time.perf_counter() - began},
    )


if __name__ == "__main__":
    main()
