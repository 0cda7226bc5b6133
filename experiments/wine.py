"""A scikit-learn pipeline: 178 wines, 13 measurements, which few of them tell three cultivars apart."""

from typing import Any

import numpy as np

from certpca.plots import draw
from experiments import pages
from experiments.running import Run
from experiments.sessions import session, shown
from experiments.transcriptomics import as_set

TITLE = "scikit-learn: a pipeline with few features"
NEEDS = ()
BEGIN = """
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from certpca import SparsePCA

wines, cultivars = load_wine(return_X_y=True, as_frame=True)
print(wines.shape, cultivars.value_counts().tolist())
"""
SEARCH = """
pipeline = make_pipeline(StandardScaler(), SparsePCA(n_components=2, time_limit=10), LogisticRegression())
search = GridSearchCV(pipeline, {"sparsepca__sparsity": [1, 2, 3, 4, 6, 8, 13]}, cv=5)
search.fit(wines, cultivars)
for sparsity, accuracy in zip(search.cv_results_["param_sparsepca__sparsity"], search.cv_results_["mean_test_score"]):
    print(f"{int(sparsity):3d} features a component: accuracy {accuracy:.3f}")
dense = make_pipeline(StandardScaler(), PCA(n_components=2), LogisticRegression())
print(f"PCA, all 13 features: accuracy {cross_val_score(dense, wines, cultivars, cv=5).mean():.3f}")
"""
FIT = """
model = make_pipeline(StandardScaler(), SparsePCA(n_components=2, sparsity=4, certify=True)).fit(wines)
components = model[-1]
for part in components.solutions_:
    print([str(wines.columns[j]) for j in part.support], part.loadings.round(2).tolist(), f"gap {part.gap:.1e}")
print("explained:", components.explained_variance_ratio_.round(3))
print("beyond the earlier ones:", components.adjusted_variance_ratio_.round(3))
"""
MORE = """
standardised = model[0].transform(wines)
print("variance of wines rebuilt:", round(components.score(standardised), 3))
likely = components.score_samples(standardised)
print("least likely wines:", likely.argsort()[:3].tolist(), likely[likely.argsort()[:3]].round(1).tolist())
whitened = SparsePCA(n_components=2, sparsity=4, whiten=True).fit_transform(standardised)
print("deviations of whitened scores:", whitened.std(axis=0, ddof=1).round(6).tolist())
print(model.set_output(transform="pandas").fit_transform(wines).head(3).round(3))
"""


def compute(run: Run) -> dict[str, Any]:
    """Run the lines of the page."""
    del run
    with session() as typed:
        for code in (BEGIN, SEARCH, FIT, MORE):
            typed.python(code)
        model, wines = typed.names["model"], typed.names["wines"]
        solutions = [_stored(part, list(wines.columns)) for part in typed.names["components"].solutions_]
        scores = np.asarray(model.transform(wines))
        cultivars = typed.names["cultivars"].tolist()
    return {"steps": typed.steps, "scores": scores.tolist(), "cultivars": cultivars, "components": solutions}


def _stored(part: Any, names: list[str]) -> dict[str, Any]:
    from certpca.results.codec import solution_to_dict

    return {**solution_to_dict(part), "names": [str(names[j]) for j in part.support], "history": []}


def render(result: dict[str, Any]) -> None:
    """Draw wines and loadings, and write the page."""
    figure, (left, right) = pages.pyplot().subplots(1, 2, figsize=(9.6, 3.8), constrained_layout=True)
    scores = np.array(result["scores"])
    names = [f"cultivar {kind}" for kind in sorted(set(result["cultivars"]))]
    draw("scores", scores[:, 0], scores[:, 1], result["cultivars"], names, ax=left)
    draw("components", as_set(result["components"]), ax=right)
    picture = pages.save(figure, "wine")
    begin, search, fit, more = result["steps"]
    lines = [
        f"# {TITLE}",
        "",
        "Written by `python -m experiments wine`; every line was run and printed what is below it. The data come with",
        "scikit-learn: 13 measurements of 178 wines of three cultivars.",
        *shown(begin),
        "",
        "The sparsity is a setting like any other, so a search over settings chooses it. With a time limit a fit",
        "still gives as many components as were asked for, so that the shape of a pipeline never changes:",
        *shown(search),
        "",
        "Four measurements a component, with a proof that no other four do better:",
        *shown(fit),
        "",
        f"![wines by their scores on two components, and the loadings of these]({picture})",
        "",
        "The rest of what `PCA` offers is there too: scores of samples and of models, whitening, frames with names:",
        *shown(more),
    ]
    pages.write("wine", lines)
