"""The secular equations of the dual bound: compiled loops against the NumPy ones they must agree with.

python -m benchmarks.speed.secular
"""

from typing import Any
from unittest import mock

import numpy as np
from benchmarks.machine import facts, fastest, write_results

from certpca.bounds.l0_dual import secular as kernels


def main() -> None:
    start, rng = facts(), np.random.default_rng(0)
    rows = []
    for size, depth in ((22_000, 57), (20_000, 672), (20_000, 2240)):
        panel = rng.standard_normal((size, depth)).astype(np.float32)
        weights = rng.uniform(0, 1, depth) ** 8
        weights /= weights.sum()
        level, guess = 0.3 * depth, np.zeros(size)

        def solve(panel: Any = panel, weights: Any = weights, level: float = level, guess: Any = guess) -> Any:
            return kernels.secular(panel, weights, level, guess)

        compiled_roots = solve()[0]  # compiles
        compiled = fastest(solve)
        with mock.patch.object(kernels, "_compiled", return_value=None):
            plain_roots = solve()[0]
            plain = fastest(solve)
        np.testing.assert_allclose(compiled_roots, plain_roots, rtol=1e-3)
        rows.append({"features": size, "depth": depth, "compiled": compiled, "numpy": plain, "ratio": plain / compiled})
        print(f"{size} x {depth}: numba {compiled:.3f} s, NumPy {plain:.3f} s, {plain / compiled:.1f} times as fast")
    write_results("secular", start, {"rows": rows})


if __name__ == "__main__":
    main()
