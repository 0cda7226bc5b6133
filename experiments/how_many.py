"""How many components, how many features, and which are found again: five data sets, with every number."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import certpca
from certpca.plots import draw
from certpca.verbs.choose_components import ComponentMethod
from experiments import data, pages
from experiments.running import SEED, Run

TITLE = "How many components, how many features, and which are found again"
NEEDS = ("expr_alon",)
METHODS: tuple[ComponentMethod, ...] = ("parallel", "gavish-donoho", "marchenko-pastur")
PIT_PROPS = 180  # samples behind the correlation matrix
SHARES = (0.8, 0.9)
HALVES = 50
STABLE = {"wine": 5, "breast cancer": 5, "Alon": 20}  # sparsities that are looked at
SECONDS = 60  # for each proof


def compute(run: Run) -> dict[str, Any]:
    """Ask all questions of all data."""
    made: dict[str, Callable[[], Any]] = {
        "pit props": certpca.pitprops,
        "wine": lambda: _of_sklearn("load_wine"),
        "breast cancer": lambda: _of_sklearn("load_breast_cancer"),
        "digits": lambda: _of_sklearn("load_digits", scale=False),
        "Alon": genes,
    }
    components = {
        name: run.part(f"components: {name}", partial(_asked, _components, make)) for name, make in made.items()
    }
    chosen = {name: run.part(f"features: {name}", partial(_asked, _features, made[name])) for name in STABLE}
    again = {
        name: run.part(f"stability: {name}", partial(_asked, _stability, made[name], sparsity, run.quick))
        for name, sparsity in STABLE.items()
    }
    return {"components": components, "features": chosen, "stability": again}


def _asked(question: Callable[..., Any], make: Callable[[], Any], *more: Any) -> Any:
    return question(make(), *more)


def genes() -> Any:
    """Return the logarithms of 2,000 genes in 62 samples of colon."""
    values, rest = data.table("expr_alon")
    names = [str(gene) for gene in rest["genes"]]
    return certpca.from_data(np.log2(np.maximum(values.astype(np.float64), 1)), names=names)


def _of_sklearn(loader: str, *, scale: bool = True) -> Any:
    from sklearn import datasets

    table = getattr(datasets, loader)()
    return certpca.from_data(table.data, scale=scale, names=[str(name) for name in table.feature_names])


def _components(operator: Any) -> dict[str, Any]:
    samples = PIT_PROPS if operator.rows is None else None
    found = {
        method: certpca.choose_components(operator, method=method, samples=samples, rng=SEED) for method in METHODS
    }
    first = found["parallel"]
    return {
        "samples": samples or operator.rows,
        "features": operator.size,
        "counts": {method: choice.n_components for method, choice in found.items()},
        "shares": [float(first.eigenvalues[: choice.n_components].sum() / first.total) for choice in found.values()],
        "eigenvalues": first.eigenvalues[:40].tolist(),
        "thresholds": first.thresholds[:40].tolist(),
        "total": first.total,
    }


def _features(operator: Any) -> dict[str, Any]:
    asked: dict[str, dict[str, Any]] = {
        "elbow": {"method": "elbow"},
        **{f"share {share:.0%}": {"method": "share", "share": share} for share in SHARES},
        "one standard error": {"method": "cross-validation"},
        "paired differences": {"method": "cross-validation", "rule": "paired"},
        "best in rows left out": {"method": "cross-validation", "rule": "best"},
    }
    answers = {name: certpca.choose_sparsity(operator, rng=SEED, **how) for name, how in asked.items()}
    one = answers["one standard error"]
    return {
        "features": operator.size,
        "sparsities": {name: answer.sparsity for name, answer in answers.items()},
        "reasons": {name: answer.reason for name, answer in answers.items()},
        "curve": {
            "sparsities": one.path.sparsities.tolist(),
            "scores": one.scores.tolist(),
            "errors": one.errors.tolist(),
            "captured": [solution.relative_objective for solution in one.path.solutions],
        },
    }


def _stability(operator: Any, sparsity: int, quick: bool) -> dict[str, Any]:
    halves = 10 if quick else HALVES
    solution = certpca.solve(operator, sparsity, certify=True, target_gap=1e-6, time_limit=SECONDS, rng=SEED)
    found = certpca.stability(operator, sparsity, solution=solution, subsamples=halves, rng=SEED)
    order = np.argsort(-found.frequencies, kind="stable")[: sparsity + 5]
    order = order[found.frequencies[order] > 0]
    names = operator.names_of(order)
    return {
        "sparsity": sparsity,
        "features": operator.size,
        "in_sample": found.in_sample,
        "in_others": found.in_others,
        "names": list(names or map(str, order)),
        "frequencies": found.frequencies[order].tolist(),
        "inside": np.isin(order, solution.support).tolist(),
    }


def render(result: dict[str, Any]) -> None:
    """Write the page and its pictures."""
    lines = [
        f"# {TITLE}",
        "",
        "Every number here is written by `python -m experiments how_many`. Wine, breast cancer and digits come with "
        "scikit-learn",
        "(the first two scaled to unit variances), Alon are the logarithms of 2,000 genes in 62 samples.",
        "",
        *_render_components(result["components"]),
        "",
        *_render_features(result["features"]),
        "",
        *_render_stability(result["stability"]),
    ]
    pages.write("how_many", lines)


def _render_components(found: dict[str, Any]) -> list[str]:
    figure, panels = pages.pyplot().subplots(1, 2, figsize=(11, 3.8), constrained_layout=True)
    for panel, name in zip(panels, ("pit props", "Alon"), strict=True):
        own = found[name]
        limits = {"chance, 95 %": np.array(own["thresholds"])}
        draw(
            "scree",
            np.array(own["eigenvalues"]),
            thresholds=limits,
            total=own["total"],
            chosen=own["counts"]["parallel"],
            ax=panel,
        )
        panel.set_title(name, fontsize=10)
    picture = pages.save(figure, "how_many_components")
    rows = [
        [
            name,
            f"{own['samples']:,} x {own['features']:,}",
            *(f"{count} ({share:.0%})" for count, share in zip(own["counts"].values(), own["shares"], strict=True)),
        ]
        for name, own in found.items()
    ]
    return [
        "## How many components",
        "",
        "`certpca.choose_components(X)` counts eigenvalues, the variances of dense components, as long as they",
        "exceed what noise would give. `parallel` (Horn) compares each with the same one of data whose columns were",
        "put in random order; `gavish-donoho` and `marchenko-pastur` know what noise of one variance in all",
        "features gives: the former judges it by the median singular value, the latter takes all variance for it.",
        "Of a matrix without its rows say `samples=`. In brackets the share of the variance that so many dense",
        "components hold.",
        "",
        *pages.table(["data", "samples x features", *METHODS], rows, left=2),
        "",
        f"![eigenvalues and what chance gives]({picture})",
    ]


def _render_features(found: dict[str, Any]) -> list[str]:
    figure, panels = pages.pyplot().subplots(1, len(found), figsize=(12, 3.6), constrained_layout=True)
    for panel, (name, own) in zip(panels, found.items(), strict=True):
        curve = own["curve"]
        k = curve["sparsities"]
        style = {"color": pages.GREEN, "marker": "s", "markersize": 3, "capsize": 2}
        panel.errorbar(k, curve["scores"], yerr=curve["errors"], label="explained in rows left out", **style)
        best = int(np.argmax(curve["scores"]))
        panel.axhline(curve["scores"][best] - curve["errors"][best], color="0.5", linewidth=0.8, linestyle="--")
        for label, colour in (("one standard error", "black"), ("share 80%", pages.ORANGE)):
            panel.axvline(
                own["sparsities"][label], color=colour, linestyle=":", label=f"{label}: {own['sparsities'][label]:,}"
            )
        panel.set_xscale("log" if k[-1] > 50 else "linear")
        panel.set_title(f"{name}, {own['features']:,} features", fontsize=10)
        panel.set_xlabel("number of nonzero loadings")
        panel.legend(loc="lower right", fontsize=7)
    picture = pages.save(figure, "how_many_features")
    names = list(next(iter(found.values()))["sparsities"])
    rows = [
        [name, f"{own['features']:,}", *(f"{own['sparsities'][key]:,}" for key in names)] for name, own in found.items()
    ]
    return [
        "## How many features",
        "",
        "`certpca.choose_sparsity(X, method=…)`. Where every feature adds a little, as here, what is captured along",
        "a component rises to the last feature. Two questions still have short answers: how few features have a",
        "*score* that tells as much about all features as the dense component's does (`share`, by regression of",
        "every feature on the score), and how few do so in rows left out (`cross-validation`). The",
        "one-standard-error rule takes the fewest features within one standard error of the best; paired",
        "differences are stricter.",
        "",
        *pages.table(["data", "features", *names], rows),
        "",
        f"![what the score of few features explains in rows left out]({picture})",
        "",
        *(
            f"- {name}: {own['reasons'][key]}"
            for name, own in found.items()
            for key in ("share 80%", "one standard error")
        ),
        "",
        'A share of what is *captured* (`measure="captured"`) can be proved: with `certify=True` the reason says',
        "how many features are too few for any choice of them.",
    ]


def _render_stability(found: dict[str, Any]) -> list[str]:
    figure, panels = pages.pyplot().subplots(1, len(found), figsize=(12, 4.2), constrained_layout=True)
    for panel, (name, own) in zip(panels, found.items(), strict=True):
        draw("stability", own["names"], own["frequencies"], own["inside"], stable=0.8, ax=panel)
        panel.set_title(f"{name}: {own['sparsity']} of {own['features']:,} features", fontsize=10)
    picture = pages.save(figure, "how_many_stability")
    lines = []
    for name, own in found.items():
        lines += ["", f"{name}, {own['sparsity']} features:", "", f"- {own['in_sample']}", f"- {own['in_others']}"]
    return [
        "## Which features are found again",
        "",
        "*Best in this sample* and *found again in other samples* are two statements. The first is proved, and is",
        "about the rows at hand. `certpca.stability(X, k)` asks the second: it searches again in random halves of",
        "the rows, which come in complementary pairs, and says how often each feature was selected. Of features",
        "that are selected no more often than by chance (k of p), at most k² / ((2τ − 1) p) are expected among",
        "those found in a share τ of the halves (Shah & Samworth 2013; Meinshausen & Bühlmann 2010).",
        "`expected_errors=` turns that round and gives τ.",
        *lines,
        "",
        f"![how often halves of the rows select the features]({picture})",
        "",
        "A component that is proved optimal can be found again rarely: features that resemble each other take each",
        "other's place. Then report the group, or choose fewer or more features.",
    ]
