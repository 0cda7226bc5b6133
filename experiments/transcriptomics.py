"""From an .h5ad file to a figure: 3,171 genes of 139 lung tumours, by command line, certpca.tl and scanpy's places."""

import json
from typing import Any

import numpy as np

from certpca.plots import draw
from certpca.results.codec import solution_from_dict
from certpca.results.component_set import ComponentSet
from certpca.results.status import Status
from experiments import pages
from experiments.data import table
from experiments.running import Run
from experiments.sessions import Session, session, shown

TITLE = "Transcriptomics: from an .h5ad file to a figure"
NEEDS = ("expr_lung_harvard",)
SPARSITY = 10
FIND = """
import anndata, certpca

tumours = anndata.read_h5ad("lung.h5ad", backed="r")
found = certpca.tl.spca(tumours, 3, {sparsity}, certify=True, time_limit={seconds})
print(found)
"""
LOOK = """
print({key: tumours.obsm[key].shape for key in tumours.obsm}, {key: tumours.varm[key].shape for key in tumours.varm})
print(tumours.uns["spca"]["certificate"]["verdict"])
print(found.to_frame().groupby("component").head(3).to_string(index=False))
"""
KEEP = """
certpca.save_components(found, "set.json")
tumours.to_memory().write_h5ad("with_components.h5ad")
again = anndata.read_h5ad("with_components.h5ad")
print(again.uns["spca"]["certificate"]["upper_bound"], again.obsm["X_spca"].shape)
"""


def compute(run: Run) -> dict[str, Any]:
    """Write the file, and do what an analyst does with it."""
    seconds = 20 if run.quick else 90
    with session() as typed:
        _write_file(typed)
        typed.shell("certpca info lung.h5ad")
        typed.shell("certpca choose lung.h5ad --sparsities 1:10,15:50:5,75,100 --output choice.json")
        typed.python(FIND.format(sparsity=SPARSITY, seconds=seconds))
        typed.python(LOOK)
        typed.python(KEEP)
        typed.shell("certpca verify set.1.certificate.json lung.h5ad")
        typed.shell("certpca transform set.json lung.h5ad --output scores.csv")
        choice = json.loads((typed.folder / "choice.json").read_text())
        record = json.loads((typed.folder / "set.json").read_text())
        return {
            "steps": typed.steps,
            "scores": np.asarray(typed.names["tumours"].obsm["X_spca"]).tolist(),
            "components": [{**part, "certificate": None, "history": []} for part in record["components"]],
            "chosen": choice["choice"]["sparsity"],
        }


def _write_file(typed: Session) -> None:
    import anndata

    values, rest = table("expr_lung_harvard")
    tumours = anndata.AnnData(values)
    tumours.var_names = [str(gene) for gene in rest["genes"]]
    tumours.obs_names = [f"tumour{number + 1}" for number in range(len(values))]
    tumours.write_h5ad(typed.folder / "lung.h5ad")


def as_set(parts: list[dict[str, Any]]) -> ComponentSet:
    """Return stored components as the plot of several takes them, which draws loadings alone."""
    solutions = tuple(solution_from_dict(part) for part in parts)
    variances = np.array([solution.objective for solution in solutions])
    return ComponentSet(solutions, variances, variances, 0.0, 1.0, "disjoint", None, Status.CONVERGED, 0.0, None)


def render(result: dict[str, Any]) -> None:
    """Draw scores and loadings, and write the page."""
    figure, (left, right) = pages.pyplot().subplots(1, 2, figsize=(9.6, 5.4), constrained_layout=True)
    draw("components", as_set(result["components"]), ax=left)
    scores = np.array(result["scores"])
    draw("scores", scores[:, 0], scores[:, 1], [0] * len(scores), [], ax=right)
    picture = pages.save(figure, "transcriptomics")
    info, choose, find, look, keep, verify, transform = result["steps"]
    lines = [
        f"# {TITLE}",
        "",
        "Written by `python -m experiments transcriptomics`; everything on this page was run. The data are 139 lung",
        "adenocarcinomas (Bhattacharjee 2001), 3,171 genes, named by their UniGene clusters, as log intensities.",
        "They begin as an `.h5ad` file, as scanpy writes it.",
        "",
        "What is in it, and what will it take?",
        *shown(info),
        "",
        f"How many genes should a component have? The elbow says {result['chosen']}; we take {SPARSITY}, to be read:",
        *shown(choose),
        "",
        "Three components, each with a proof for what the earlier ones left. The object is backed by its file, so that",
        "data larger than memory would be streamed:",
        *shown(find),
        "",
        'Scores and loadings are where scanpy looks for them: `sc.pl.embedding(tumours, basis="spca")`,',
        '`sc.pl.ranking(tumours, "varm", "SPCs")`, `sc.pp.neighbors(tumours, use_rep="X_spca")`. The table is tidy:',
        *shown(look),
        "",
        f"![loadings of three components, and the tumours by their scores on the first two]({picture})",
        "",
        "They are written with the object; the certificates go to files of their own, for those who doubt them:",
        *shown(keep),
        *shown(verify),
        "",
        "New tumours are scored from the stored result, by the names of the genes:",
        *shown(transform),
    ]
    pages.write("transcriptomics", lines)
