"""The bounds in pictures: two samples, so that directions are angles, and nine features that are arrows."""

from typing import Any

import numpy as np

from experiments import pages, plane
from experiments.running import Run

TITLE = "The bounds, in pictures"
NEEDS = ()
SPARSITY = 3
EASY, HARD = 4, 5  # seeds: a matrix as level is exact for one, and leaves something to splits for the other

PAGE = """\
# {title}

Drawn by `python -m experiments geometry`. The data have two samples, so that a feature is an arrow a_i in the plane and
a direction ξ of sample space is an angle; there are nine features and k = 3. Everything that is drawn holds in any
number of dimensions; [the proofs](mathematics.md) are for these.

## From supports to directions

![nine arrows, and what supports capture along each direction]({directions})

Left, the features. Along a direction ξ each has a square (a_iᵀξ)², that of its shadow. Three features capture along ξ
what their squares add up to: right, a thin curve for each of the 84 choices of three. Their upper edge is the sum of
the three *largest* squares, and its highest point is the optimum Z*: the best three features, and the direction in
which they are best. So a maximum over choices, of which there are far too many, becomes a maximum over directions, of a
function with many bumps.

## A level makes it smooth

![one feature and its cover, and the bounds above the sum of the three largest]({level})

Left, one feature. Take a level R from its square: what is left, (a_iᵀξ)² − ξᵀRξ, is positive in a wedge of directions
only. Cover it by a single square, ξᵀY_iξ, that is nowhere below it and nowhere negative; there is one for each point at
which it should touch. Every choice of k features then captures at most k ξᵀRξ + Σ ξᵀY_iξ, with the sum over *all*
features: whoever is not chosen adds something that is not negative. Right, that is one smooth form above the bumpy
edge, and its highest point is an eigenvalue. Whatever R and whatever covers one takes, it lies above; a search makes it
low.

With a number as level, R = ρI, the best such form is {number} above the optimum here; with a matrix, {matrix}: the
level may be high where many features are large, and low elsewhere. ([3.1 to 3.3](mathematics.md#3-levels))

## Where one form is not enough: regions of directions

![other features, one form above all directions, and a form for each of six wedges]({wedges})

Other features, for which the best matrix leaves {left}. Two bumps are nearly as high as each other, and a form that is
above both is high between them. Left, one form for all directions. Right, the directions are cut into six wedges, and
each has a form that needs to be above the edge in its own wedge only: outside it may be below. The highest point of all
is {cut} above the optimum. ([5.1 and 5.2](mathematics.md#5-regions-of-directions))

## Or regions of supports: counts

![what is proved for each number of features in a group]({counts})

The same features. Instead of directions one can split the choices themselves: by how many of the best three features
(the group) a choice has. Black, the best that is possible for each count. A form with one level for the group and one
for the rest proves a bound for every count, which is convex in the count (orange): its ends are the highest, so that
two numbers prove all between them. For all counts at once it is {whole} above the optimum; for at most one and for at
least two apart (blue), {split}. A tree of such splits is what most certificates of large data are made of.
([7.1 and 7.2](mathematics.md#7-counts))

[What each kind of certificate stores](certificates.md); [searching over supports, and bounds from pairs](branching.md);
[the semidefinite relaxation](semidefinite.md).
"""


def _features(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((9, 2)) * [1.15, 1.0]


def compute(run: Run) -> dict[str, Any]:
    """Find bounds for both sets of features, and for parts of the second one's directions and supports."""
    del run
    where = plane.directions()
    result: dict[str, Any] = {}
    for name, seed in (("easy", EASY), ("hard", HARD)):
        features = _features(seed)
        forms = {"number": plane.number_bound(features, SPARSITY), "matrix": plane.matrix_bound(features, SPARSITY)}
        result[name] = {
            "features": features.tolist(),
            "optimum": max(plane.best_by_count(features, SPARSITY, ())),
            "bounds": {
                kind: {"form": bound.form.tolist(), "level": bound.level.tolist(), "value": bound.value}
                for kind, bound in forms.items()
            },
        }
    features = _features(HARD)
    result["wedges"] = [_wedge(features, start, 6) for start in range(6)]
    best = np.argsort((features @ where[plane.top_sums(features, SPARSITY, where).argmax()]) ** 2)[-SPARSITY:]
    group = sorted(int(feature) for feature in best)
    cells = [plane.count_cell(features, SPARSITY, group, *ends) for ends in ((0, 3), (0, 1), (2, 3))]
    result["counts"] = {
        "group": group,
        "best": plane.best_by_count(features, SPARSITY, group),
        "cells": [cell._asdict() for cell in cells],
    }
    return result


def _wedge(features: np.ndarray, place: int, parts: int) -> dict[str, Any]:
    """Bound the directions between two angles: the sides are normal to these, so that their products have one sign."""
    begin, end = np.pi * place / parts, np.pi * (place + 1) / parts
    sides = tuple(np.array([-np.sin(angle), np.cos(angle)]) for angle in (begin, end))
    bound = plane.wedge_bound(features, SPARSITY, (sides[0], sides[1]))
    return {"begin": begin, "end": end, "form": bound.form.tolist()}


def _along(form: Any, angles: np.ndarray) -> np.ndarray:
    where = np.c_[np.cos(angles), np.sin(angles)]
    return np.asarray(np.einsum("ti,ij,tj->t", where, np.array(form), where))


ANGLES = np.linspace(0, np.pi, 721)
DEGREES = np.degrees(ANGLES)


def render(result: dict[str, Any]) -> None:
    """Draw four pictures, and write the page."""
    easy, hard = result["easy"], result["hard"]
    pictures = [_directions(easy), _level(easy), _wedges(hard, result["wedges"]), _counts(hard, result["counts"])]
    wedges = max(_along(wedge["form"], _inside(wedge)).max() for wedge in result["wedges"])
    _, few, many = result["counts"]["cells"]
    split = max(few["values"] + many["values"])

    def above(value: float, case: dict[str, Any]) -> str:
        return f"{max(0.0, value / case['optimum'] - 1):.1%}"

    said = {
        "directions": pictures[0],
        "level": pictures[1],
        "wedges": pictures[2],
        "counts": pictures[3],
        "number": above(easy["bounds"]["number"]["value"], easy),
        "matrix": above(easy["bounds"]["matrix"]["value"], easy),
        "left": above(hard["bounds"]["matrix"]["value"], hard),
        "cut": above(wedges, hard),
        "whole": above(max(result["counts"]["cells"][0]["values"]), hard),
        "split": above(split, hard),
    }
    pages.write("geometry", PAGE.format(title=TITLE, **said).splitlines())


def _plot(ax: Any) -> None:
    ax.set_xlabel("direction ξ, degrees")
    ax.set_xlim(0, 180)
    ax.set_xticks(range(0, 181, 30))
    ax.set_ylim(bottom=0)
    ax.set_ylabel("variance along ξ")


def _edge(case: dict[str, Any]) -> np.ndarray:
    return plane.top_sums(np.array(case["features"]), SPARSITY, plane.directions(ANGLES.size))


def _directions(case: dict[str, Any]) -> str:
    from itertools import combinations

    figure, (left, right) = pages.pyplot().subplots(
        1, 2, figsize=(10, 4.2), layout="constrained", gridspec_kw={"width_ratios": [1, 1.5]}
    )
    features, edge = np.array(case["features"]), _edge(case)
    best = plane.directions(ANGLES.size)[edge.argmax()]
    chosen = np.argsort((features @ best) ** 2)[-SPARSITY:]
    reach = 1.12 * np.abs(features).max()
    left.plot(
        *np.c_[-reach * best, reach * best], color=pages.BOUND, linestyle="--", linewidth=1, label="best direction ξ"
    )
    for number, feature in enumerate(features):
        colour = pages.BLUE if number in chosen else "0.6"
        left.annotate("", feature, (0, 0), arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 1.6})
        if number in chosen:
            left.plot(*np.c_[feature, best * (feature @ best)], color=pages.BLUE, linestyle=":", linewidth=1)
    left.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="sample 1", ylabel="sample 2")
    left.legend(loc="lower left", fontsize="small")
    squares = (plane.directions(ANGLES.size) @ features.T) ** 2
    for support in combinations(range(len(features)), SPARSITY):
        right.plot(DEGREES, squares[:, list(support)].sum(axis=1), color="0.75", linewidth=0.5)
    right.plot(
        DEGREES, squares[:, chosen].sum(axis=1), color=pages.BLUE, linewidth=1.4, label="the best three features"
    )
    right.plot(DEGREES, edge, color="black", linewidth=1.4, label="the three largest, at each direction")
    right.axhline(case["optimum"], color="grey", linestyle=":", label="optimum Z*")
    _plot(right)
    right.legend(loc="lower right", fontsize="small")
    return pages.save(figure, "geometry_directions")


def _level(case: dict[str, Any]) -> str:
    figure, (left, right) = pages.pyplot().subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    features = np.array(case["features"])
    where = plane.directions(ANGLES.size)
    feature = features[np.argsort((features**2).sum(axis=1))[-2]]
    level = case["bounds"]["number"]["level"]
    over = np.outer(feature, feature) - np.array(level)
    rest = _along(over, ANGLES)
    left.plot(DEGREES, (where @ feature) ** 2, color="0.6", label="(aᵀξ)²")
    left.plot(DEGREES, rest, color=pages.BLUE, label="(aᵀξ)² − ξᵀRξ")
    touched = np.arctan2(feature[1], feature[0]) + np.radians(12)
    c = np.array([np.cos(touched), np.sin(touched)])
    cover = np.outer(over @ c, over @ c) / (c @ over @ c)
    left.plot(DEGREES, _along(cover, ANGLES), color=pages.BOUND, linestyle="--", label="its cover ξᵀYξ")
    left.plot([np.degrees(touched) % 180], [c @ over @ c], color=pages.BOUND, marker="o")
    left.axhline(0, color="black", linewidth=0.6)
    _plot(left)
    left.set_ylim(1.3 * rest.min())
    left.legend(fontsize="small")
    right.plot(DEGREES, _edge(case), color="black", label="the three largest squares")
    for kind, colour, name in (("number", pages.AMBER, "a number"), ("matrix", pages.BOUND, "a matrix")):
        right.plot(
            DEGREES, _along(case["bounds"][kind]["form"], ANGLES), color=colour, linestyle="--", label=f"level: {name}"
        )
    right.axhline(case["optimum"], color="grey", linestyle=":", label="optimum Z*")
    _plot(right)
    right.legend(loc="lower right", fontsize="small")
    return pages.save(figure, "geometry_level")


def _inside(wedge: dict[str, Any]) -> np.ndarray:
    return np.linspace(wedge["begin"], wedge["end"], 121)


def _wedges(case: dict[str, Any], wedges: list[dict[str, Any]]) -> str:
    figure, (left, right) = pages.pyplot().subplots(1, 2, figsize=(10, 3.9), layout="constrained", sharey=True)
    for ax in (left, right):
        ax.plot(DEGREES, _edge(case), color="black", label="the three largest squares")
        ax.axhline(case["optimum"], color="grey", linestyle=":", label="optimum Z*")
    left.plot(
        DEGREES, _along(case["bounds"]["matrix"]["form"], ANGLES), color=pages.BOUND, linestyle="--", label="one form"
    )
    for number, wedge in enumerate(wedges):
        label = "a form for each wedge" if number == 0 else None
        angles = _inside(wedge)
        right.plot(np.degrees(angles), _along(wedge["form"], angles), color=pages.BOUND, linestyle="--", label=label)
        right.axvline(np.degrees(wedge["begin"]), color="0.85", linewidth=0.8, zorder=0)
    for ax in (left, right):
        _plot(ax)
        ax.legend(loc="lower right", fontsize="small")
    right.set_ylabel("")
    return pages.save(figure, "geometry_wedges")


def _counts(case: dict[str, Any], counts: dict[str, Any]) -> str:
    figure, ax = pages.pyplot().subplots(figsize=(7, 3.6), layout="constrained")
    ax.plot(range(SPARSITY + 1), counts["best"], color="black", marker="s", linestyle="", label="best possible")
    whole, *parts = counts["cells"]
    ax.plot(
        range(SPARSITY + 1),
        whole["values"],
        color=pages.BOUND,
        marker="o",
        linestyle="--",
        label="proved, all counts at once",
    )
    for number, cell in enumerate(parts):
        label = "proved, in two cells" if number == 0 else None
        ax.plot(range(cell["low"], cell["high"] + 1), cell["values"], color=pages.BLUE, marker="o", label=label)
    ax.axhline(case["optimum"], color="grey", linestyle=":", label="optimum Z*")
    ax.set_xticks(range(SPARSITY + 1))
    ax.set_xlabel("features of the group in the choice")
    ax.set_ylabel("variance captured")
    ax.legend(fontsize="small")
    return pages.save(figure, "geometry_counts")
