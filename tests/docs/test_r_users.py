"""What the page for users of R shows is run, as far as there is something to run it with."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import certpca
from certpca.frontends.cli.main import main, parser

PAGE = Path(__file__).parents[2] / "docs" / "r_users.md"
TEXT = PAGE.read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.fixture
def frame(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = rng.standard_normal((40, 15)) @ rng.standard_normal((15, 15))
    return pd.DataFrame(values, columns=[f"g{j}" for j in range(15)])


def test_feather_goes_in_and_out(frame):
    frame.to_feather("X.feather")
    (code,) = blocks("python")
    names: dict = {}
    exec(code, names)
    pd.testing.assert_frame_equal(pd.read_feather("loadings.feather"), names["found"].to_frame())


def test_a_table_as_r_writes_it_is_decomposed_by_the_command_of_the_page(frame):
    frame.index = [str(number + 1) for number in frame.index]
    frame.to_csv("X.csv", quoting=2)  # write.csv: names in quotes, an empty first name
    (command,) = [line for line in re.findall(r'system\("(.*)"\)', TEXT) if "X.csv" in line]
    assert main(shlex.split(command)[1:]) == 0
    wide = pd.read_csv("set.csv").pivot(index="feature", columns="component", values="loading").fillna(0.0)
    found = certpca.decompose(frame, 3, 10, scale=True)
    np.testing.assert_allclose(wide.reindex(frame.columns).fillna(0.0).to_numpy(), found.loadings, atol=1e-8)
    scores = pd.read_csv("set.scores.csv", index_col=0)
    np.testing.assert_allclose(scores, certpca.transform(frame, found), atol=1e-8)


def test_every_whole_command_of_the_table_is_understood():
    cells = re.findall(r"`((?:decompose|choose|path|transform|solve) [^`…]*)`", TEXT)
    typed = [cell for cell in cells if "(" not in cell]
    assert len(typed) >= 8
    for cell in typed:
        words = shlex.split(cell)
        assert parser(words).parse_known_args(words)[1] == []
