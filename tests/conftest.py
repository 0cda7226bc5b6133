"""Fixtures that every folder of tests uses."""

import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers; a nightly run rotates the seed through CERTPCA_TEST_SEED."""
    return np.random.default_rng(int(os.environ.get("CERTPCA_TEST_SEED", "0")))


@pytest.fixture
def shared() -> Path:
    """The folder of published data beside the checkout."""
    folder = Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the folder 'shared' with published data is not beside the checkout")
    return folder
