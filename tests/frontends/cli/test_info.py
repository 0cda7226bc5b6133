"""The command `certpca info`."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from certpca.frontends.cli.expectations import duration, in_words
from certpca.frontends.cli.main import main


@pytest.fixture
def told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        assert main(["info", *words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return call


def test_what_is_in_a_table(told, rng, capsys):
    values = rng.standard_normal((30, 4)) * [1.0, 10.0, 0.0, 100.0]
    values[[2, 5], 1] = np.nan
    values[3, 0] = np.nan
    pd.DataFrame(values, columns=list("abcd")).to_csv("data.csv", index=False)
    facts = told("data.csv")
    assert (facts["samples"], facts["features"]) == (30, 4)
    assert (facts["missing"], facts["features_with_missing"], facts["constant_features"]) == (3, 2, 1)
    spread = np.nanstd(values, axis=0, ddof=1)
    np.testing.assert_allclose(facts["largest_deviation"], spread.max())
    np.testing.assert_allclose(facts["smallest_deviation"], spread[spread > 0].min())
    assert facts["feature_names"] == list("abcd")
    assert 0 < facts["search_seconds"][0] <= facts["search_seconds"][1]
    assert facts["memory_bytes"] >= values.nbytes
    assert main(["info", "data.csv"]) == 0
    out = capsys.readouterr().out
    for word in ("30 × 4", "3, in 2 features (--missing mean", "1, which no component uses", "--correlation", "solve"):
        assert word in out


def test_sparse_data_matrices_and_files_that_are_streamed(told, rng):
    sp.save_npz("sparse.npz", sp.random_array((50, 20), density=0.1, rng=rng, format="csr"))
    facts = told("sparse.npz")
    assert facts["sparse"]
    assert not facts["stays_in_file"]
    np.save("matrix.npy", np.diag([4.0, 1.0]))
    facts = told("matrix.npy", "--covariance")
    assert (facts["samples"], facts["features"], facts["largest_deviation"]) == (None, 2, 2.0)


def test_a_file_that_is_streamed_says_so(told, rng):
    h5py = pytest.importorskip("h5py")
    with h5py.File("cells.h5ad", "w") as file:
        file.attrs["encoding-type"] = "anndata"
        file["X"] = rng.standard_normal((300, 40))
        file.create_group("var")
    facts = told("cells.h5ad", "--memory", "0.00001")
    assert facts["stays_in_file"]
    assert facts["samples"] == 300


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv"], "there is no file"),
        (["data.npy", "--covariance", "--correlation"], "--correlation cannot be applied"),
        (["data.npy", "--maf", "0.1"], "only for PLINK files"),
    ],
)
def test_bad_input_is_refused(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("data.npy", np.eye(3))
    assert main(["info", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("count", "words"), [(12, "12 bytes"), (2_500, "2.5 kB"), (3_140_000, "3.14 MB"), (8 * 10**12, "8 TB")]
)
def test_bytes_in_words(count, words):
    assert in_words(count) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "less than a second"), (12.3, "12 s"), (600, "10 min"), (10_800, "3 h")]
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words
