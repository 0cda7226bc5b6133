"""Constraints and sample weights of the estimator."""

import numpy as np
import pandas as pd
import pytest

import certpca
from certpca import SparsePCA


@pytest.fixture
def frame(rng: np.random.Generator) -> pd.DataFrame:
    values = rng.standard_normal((50, 6))
    values[:, 3] += 2 * values[:, 1]
    return pd.DataFrame(values, columns=list("abcdef"))


def test_components_follow_constraints_and_are_proved(frame: pd.DataFrame) -> None:
    weights = np.arange(50.0)
    model = SparsePCA(n_components=2, sparsity=3, include=["a"], exclude="b", nonnegative=True, certify=True)
    model.fit(frame, sample_weight=weights)
    assert (model.components_ >= 0).all()
    assert not model.components_[:, 1].any()
    assert model.mean_ == pytest.approx(np.average(frame, axis=0, weights=weights))
    for number, certificate in enumerate(model.certificates_):
        assert certificate is not None
        proof = certpca.verify(certificate, model.problem(frame, number, sample_weight=weights))
        assert proof.constraints == certpca.Constraints((0,), (1,), nonnegative=True)


def test_weights_are_rows_repeated(frame: pd.DataFrame, rng: np.random.Generator) -> None:
    weights = rng.integers(0, 3, 50)
    weighted = SparsePCA(sparsity=3).fit(frame, sample_weight=weights)
    repeated = SparsePCA(sparsity=3).fit(frame.loc[np.repeat(np.arange(50), weights)])
    assert weighted.components_ == pytest.approx(repeated.components_)
    assert weighted.transform(frame) == pytest.approx(repeated.transform(frame))


def test_names_are_those_of_the_frame(frame: pd.DataFrame) -> None:
    with pytest.raises(certpca.InvalidProblemError, match="did you mean 'a'"):
        SparsePCA(sparsity=2, include="aa").fit(frame)
