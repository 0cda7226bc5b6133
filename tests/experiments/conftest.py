"""Where tests of experiments write, and what several of them measure."""

import pytest
from experiments.paper import curves

from experiments import pages, running


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Nothing that tests make goes to the checkout."""
    monkeypatch.setattr(running, "CACHE", tmp_path / "cache" / "experiments")
    monkeypatch.setattr(running, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(pages, "DOCS", tmp_path / "docs")
    return tmp_path


@pytest.fixture(scope="session")
def pitprops(tmp_path_factory):
    """Pit props measured as the figures measure them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "CACHE", tmp_path_factory.mktemp("cache"))
        yield curves.of_case(running.Run("paper.figure4_more_data", True, {}), "pitprops")
