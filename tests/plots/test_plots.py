"""Plots are found by themselves, drawn on anyone's axes, into files, and into pages whose colours they take."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

import certpca
from certpca.plots import draw, inline_svg, plots, save
from certpca.plots.axes import logarithmic
from certpca.plots.palette import DARK, LIGHT
from certpca.runtime.errors import InvalidProblemError


@pytest.fixture(scope="module")
def values() -> dict[str, tuple[Any, ...]]:
    """What each plot draws."""
    problem = certpca.pitprops()
    path = certpca.path(problem, [2, 5, 13], certify=True)
    solution = certpca.solve(problem, 5, certify=True)
    some = np.random.default_rng(0).standard_normal((2, 30))
    texts = [np.array(list(word), dtype=object) for word in ("ab$_", ["1", "1", "chr2", "23"], "ACGT", "CATG")]
    places, ones = np.array([5, 900, 70, 8]), np.ones(4)
    loadings = np.array([[0.8, 0.0], [-0.6, 0.1], [0.0, 0.9], [0.0, 0.4]])
    proved = np.array([[1, 0], [0, 0], [0, -1], [0, -1]], dtype=np.int8)
    panel = certpca.MarkerPanel(texts[0], texts[1], places, texts[2], texts[3], ones, ones, loadings, proved)
    return {
        "manhattan": (panel, {"1": 1000, "2": 800, "3": 600}),
        "components": (certpca.decompose(problem, 2, 4),),
        "path": (path,),
        "choice": (path, np.array([0.0, 0.2, 0.0]), np.array([0.0, 0.1, 0.1]), "criterion", 5),
        "history": (solution,),
        "loadings": (["a", "$b_{"], [0.8, -0.6], "loading"),
        "heatmap": (certpca.decompose(problem, 3, 4),),
        "metadata": (np.array([[0.3, -0.9], [np.nan, 0.0]]), ["a", "$b_{"]),
        "pairs": (np.random.default_rng(1).standard_normal((30, 3)), [0, 1, -1] * 10, ["_a <&>", "$b_{", "others"]),
        "biplot": (
            some.T,
            np.array([[0.8, 0.1], [0.0, -0.6]]),
            ["a", "$b_{"],
            [0, 1, -1] * 10,
            ["a", "$b_{", "others"],
        ),
        "scree": (np.array([3.0, 2.0, 0.5]),),
        "stability": (["a", "$b_{"], [1.0, 0.3], [True, False]),
        "scores": (*some, [0, 1, -1] * 10, ["_a <&>", "$b_{", "others"]),
    }


def test_every_plot_is_tried_here(values: dict[str, Any]) -> None:
    assert set(values) == set(plots())


@pytest.mark.parametrize("name", plots())
def test_plots_draw_on_given_axes_and_name_them(name: str, values: dict[str, Any]) -> None:
    axes = Figure().subplots()
    assert draw(name, *values[name], ax=axes) is axes
    assert axes.get_xlabel()
    assert axes.has_data()


@pytest.mark.parametrize("name", plots())
@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("SVG", b"<?xml"), ("pdf", b"%PDF")])
def test_plots_are_saved(name: str, values: dict[str, Any], ending: str, start: bytes, tmp_path: Path) -> None:
    save(str(tmp_path / f"plot.{ending}"), name, *values[name])
    assert (tmp_path / f"plot.{ending}").read_bytes().startswith(start)


@pytest.mark.parametrize("name", plots())
def test_in_a_page_colours_letters_and_words_are_those_of_the_page(name: str, values: dict[str, Any]) -> None:
    drawing, keys = inline_svg(name, *values[name], title="What <it> is", words='What it "says" & means')
    root = ElementTree.fromstring(drawing)
    assert [(part.tag, part.text) for part in root[:2]] == [
        ("title", "What <it> is"),
        ("desc", 'What it "says" & means'),
    ]
    assert root.attrib["aria-labelledby"] == f"{root[0].get('id')} {root[1].get('id')}"
    whole = drawing + "".join(key for key, _ in keys)
    assert set(re.findall(r"var\(--(\w+)\)", whole)) <= set(LIGHT)
    assert not re.findall(r"(?:fill|stroke): ?#", whole)
    for absent in ("font:", "font-family", " style=", "http", "<style", "<metadata"):
        assert absent not in whole
    names = re.findall(r' id="([^"]*)"', whole)
    assert len(names) == len(set(names))
    assert set(re.findall(r'href="#([^"]*)"', whole)) | set(re.findall(r"url\(#([^)]*)\)", whole)) <= set(names)


def test_labels_are_repeated_as_they_are(values: dict[str, Any]) -> None:
    keys = inline_svg("scores", *values["scores"], title="", words="")[1]
    assert [text for _, text in keys] == ["_a <&>", "$b_{", "others"]


def test_light_and_dark_have_the_same_colours_by_name() -> None:
    assert set(LIGHT) == set(DARK)
    assert len(set(LIGHT.values())) == len(LIGHT)  # else a drawing could not tell which is meant


def test_unknown_plot() -> None:
    with pytest.raises(
        InvalidProblemError, match=r"plot must be one of biplot, choice, components, heatmap, .*got 'pie'"
    ):
        draw("pie")


@pytest.mark.parametrize("low", [1e-5, 0.3, 1.0, 7.0, 1e9])
@pytest.mark.parametrize("ratio", [25.0, 99.0, 400.0, 7071.0, 1e9])
def test_logarithmic_axes_have_few_ticks_in_plain_numbers(low: float, ratio: float) -> None:
    axes = Figure().subplots()
    axes.plot([low, low * ratio], [0, 1])
    logarithmic(axes.xaxis)
    ticks = [tick for tick in axes.get_xticks() if low <= tick <= low * ratio]
    assert 2 <= len(ticks) <= 10
    assert "$" not in "".join(axes.xaxis.get_major_formatter().format_ticks(ticks))
