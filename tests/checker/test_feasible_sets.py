"""What components together capture is never said to be more than exactly feasible ones next to them do."""

from fractions import Fraction

import numpy as np
import pytest

from certpca.checker.data import prepare
from certpca.checker.feasible_sets import captured_together
from certpca.results.certificate import Source
from certpca.results.set_certificate import SetCertificate

SIZE = 5


def exactly(matrix: np.ndarray, first: np.ndarray, second: np.ndarray) -> Fraction:
    """Return what the first vector and the projection of the second beside it capture, in rational arithmetic."""
    a = [[Fraction(float(value)) for value in row] for row in matrix]
    x, y = ([Fraction(float(value)) for value in vector] for vector in (first, second))
    share = sum((p * q for p, q in zip(x, y, strict=True)), Fraction(0)) / sum((p * p for p in x), Fraction(0))
    y = [q - share * p for p, q in zip(x, y, strict=True)]

    def captured(z: list[Fraction]) -> Fraction:
        form = sum((a[i][j] * z[i] * z[j] for i in range(SIZE) for j in range(SIZE)), Fraction(0))
        return form / sum((value * value for value in z), Fraction(0))

    return captured(x) + captured(y)


@pytest.mark.parametrize("sign", [1.0, -1.0, 0.0])
@pytest.mark.parametrize("off", [0.0, 4e-10])
def test_loadings_that_are_nearly_orthogonal(rng: np.random.Generator, sign: float, off: float) -> None:
    """A matrix that is given may be negative: there a shorter vector captures less."""
    for _ in range(20):
        half = rng.standard_normal((SIZE, SIZE))
        matrix = half + half.T if sign == 0.0 else sign * (half @ half.T)
        matrix = (matrix + matrix.T) / 2
        axes = np.linalg.qr(rng.standard_normal((SIZE, 2)))[0].T
        loadings = (axes[0], axes[1] + off * axes[0])
        certificate = SetCertificate(
            kind="",
            problem="orthogonal",
            size=SIZE,
            sparsities=(SIZE, SIZE),
            upper_bound=np.inf,
            matrix="",
            normalisation={},
            fingerprint="",
            supports=(np.arange(SIZE), np.arange(SIZE)),
            loadings=loadings,
        )
        prepared = prepare(Source("matrix", matrix))
        found = captured_together(prepared, certificate) * prepared.unit
        exact = exactly(matrix, *loadings)
        assert Fraction(found) <= exact
        assert found >= float(exact) - 1e-8 * float(np.linalg.norm(matrix))
