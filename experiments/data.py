"""Data sets beside the checkout, as the paper prepares them."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

CHECKOUT = Path(__file__).parents[1]
SHARED = CHECKOUT.parent / "shared" / "data"


class Genotypes(NamedTuple):
    """Counts of an allele, NaN where there was no call, and the population of each sample where known."""

    calls: np.ndarray
    population: np.ndarray | None


def missing(folders: tuple[str, ...]) -> list[str]:
    """Return the folders that are not there."""
    return [folder for folder in folders if not (SHARED / folder).is_dir()]


def genotypes(folder: str) -> Genotypes:
    """Read a genotype archive; missing calls are negative there."""
    with np.load(SHARED / folder / ("chr1_like.npz" if folder == "simulated" else "geno.npz")) as file:
        calls = file["G"]
        population = file.get("pop")
    if (calls < 0).any():
        calls = np.where(calls < 0, np.float32(np.nan), calls.astype(np.float32))
    return Genotypes(calls, population)


def common_variants(calls: np.ndarray, frequency: float = 0.05) -> np.ndarray:
    """Keep variants whose rarer allele is frequent enough, as on the arrays that the paper's data come from."""
    share = np.nanmean(calls, axis=0) / 2 if calls.dtype.kind == "f" else calls.mean(axis=0) / 2
    return np.ascontiguousarray(calls[:, np.minimum(share, 1 - share) > frequency])


def table(folder: str) -> tuple[np.ndarray, dict[str, Any]]:
    """Read an archive of expression values: samples x features, and what else it holds."""
    with np.load(SHARED / folder / "X.npz", allow_pickle=False) as file:
        rest = {key: file[key] for key in file.files if key != "X"}
        return file["X"], rest


PAPER = ("../reference",)  # what an artefact needs that compares with printed numbers


def paper_tables() -> dict[str, Any]:
    """Return the numbers that the paper prints."""
    content: dict[str, Any] = json.loads((SHARED / PAPER[0] / "paper_tables.json").read_text())
    return content
