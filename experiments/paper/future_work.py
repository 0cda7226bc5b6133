"""What the paper leaves as future work, answered with what was measured here."""

import time
from collections.abc import Callable
from typing import Any

import certpca
from certpca.solvers.sdp_threshold import SdpThreshold
from experiments import pages, support_recovery
from experiments.paper import curves, page
from experiments.paper.cases import CASES, MEASURED, problem
from experiments.parallel import Job
from experiments.running import SEED, Run

TITLE = "The paper's future work"
ALL = (*MEASURED, "synthetic", "pitprops")
NEEDS = tuple(folder for key in MEASURED for folder in CASES[key].needs)
RELAXED = {"alon": (50, 55), "lung": (159, 170)}  # sparsities between which a relaxation is taken over
GOOD = 0.05  # a loss that is still small
EARLY = 0.01  # the rounded vector is proved to be within this share of the optimum
SECONDS = (40.0, 10.0)  # for a relaxation; full and quick profile
SETS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("one after the other", {}),
    ("orthogonal", {"together": "orthogonal"}),
    ("disjoint", {"together": "disjoint"}),
)
COMPONENTS, LOADINGS = 3, 4


def jobs(quick: bool) -> list[Job]:
    """Return what can be computed side by side."""
    relaxed = [Job("paper.future_work", f"relaxed {key}", 3 * SECONDS[quick]) for key in RELAXED]
    return [
        *relaxed,
        Job("paper.future_work", "components", 60),
        *curves.jobs(ALL, quick),
        *support_recovery.jobs(quick),
    ]


def do(run: Run, name: str) -> None:
    """Do one of these."""
    if name == "components":
        _components(run)
    else:
        _relaxed(run, name.split(" ")[1])


def compute(run: Run) -> dict[str, Any]:
    """Put together what was computed."""
    return {
        "losses": [_losses(curves.of_case(run, key)) for key in ALL],
        "relaxed": [_relaxed(run, key) for key in RELAXED],
        "components": _components(run),
        "recovery": _recovery(support_recovery.compute(run.of("support_recovery"))["rows"]),
    }


def _losses(case: dict[str, Any]) -> dict[str, Any]:
    """Say how far below the optimum answers of spca-svd are at most, by certificates, and what its theorem says."""
    matrix, bound = case["matrix"], {row["sparsity"]: row["bound"] for row in case["bounds"]}
    rows = [row for row in case["rows"] if row["method"] == "spca-svd"]
    raw = [1 - row["raw"] / bound[row["sparsity"]] for row in rows]
    refitted = [1 - row["refitted"] / bound[row["sparsity"]] for row in rows]
    promised = [1 - 3 * 0.9 * matrix["trace"] / (bound[row["sparsity"]] * matrix["spectrum"][0]) for row in rows]
    return {
        "title": case["title"],
        "sparsities": [rows[0]["sparsity"], rows[-1]["sparsity"]],
        "raw": [min(raw), max(raw)],
        "refitted": [min(refitted), max(refitted)],
        "worst_at": rows[refitted.index(max(refitted))]["sparsity"],
        "theorem": max(promised),
    }


def _timed(job: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = job()
    return time.perf_counter() - begin, found


def _relaxed(run: Run, key: str) -> dict[str, Any]:
    """Time a relaxation from nothing, from that of a smaller sparsity, and until the rounded vector is good enough."""

    def job() -> dict[str, Any]:
        operator, (near, k), limit = problem(key).operator, RELAXED[key], SECONDS[run.quick]
        before = certpca.solve_sdp(operator, near, memory=4.0, time_limit=limit)
        cold, alone = _timed(lambda: certpca.solve_sdp(operator, k, memory=4.0, time_limit=limit))
        warm, after = _timed(lambda: certpca.solve_sdp(operator, k, warm=before, memory=4.0, time_limit=limit))
        solver = SdpThreshold(accuracy=EARLY, memory=4.0)
        early, rounded = _timed(lambda: certpca.solve(operator, k, solver, rng=SEED, time_limit=limit))
        return {
            "title": CASES[key].title,
            "features": operator.size,
            "sparsity": k,
            "near": near,
            "seconds": {"cold": cold, "warm": warm, "early": early},
            "steps": {"cold": alone.iterations, "warm": after.iterations},
            "gaps": {
                "cold": 1 - alone.lower / alone.upper,
                "warm": 1 - after.lower / after.upper,
                "early": rounded.gap,
            },
            "limit": limit,
        }

    found: dict[str, Any] = run.of("paper.future_work").part(f"relaxed: {key}", job)
    return found


def _components(run: Run) -> list[dict[str, Any]]:
    def job() -> list[dict[str, Any]]:
        rows = []
        for name, how in SETS:
            proved: dict[str, Any] = {"certify": True, "target_gap": 1e-6, "time_limit": 60} if how else {}
            found = certpca.decompose(certpca.pitprops(), COMPONENTS, LOADINGS, rng=SEED, **how, **proved)
            rows.append(
                {
                    "name": name,
                    "sum": found.objective,
                    "adjusted": float(found.adjusted_variance_ratio.sum()),
                    "gap": found.gap if how else None,
                }
            )
        return rows

    found: list[dict[str, Any]] = run.of("paper.future_work").part("components", job)
    return found


def _recovery(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how often supports were recovered and proved in each setting, over all models and signals."""
    found = []
    for which, setting in support_recovery.SETTINGS.items():
        mine = [row for row in rows if row["setting"] == which]
        keys = (*support_recovery.METHODS, "decided")
        found.append({"title": setting.title, **{key: sum(row[key] for row in mine) / len(mine) for key in keys}})
    return found


def render(result: dict[str, Any]) -> None:
    """Write claims with their evidence."""
    lines = [f"## {TITLE}", "", *_thresholding(result["losses"]), "", *_faster(result["relaxed"]), ""]
    page.section("paper.future_work", [*lines, *_several(result["components"]), "", *_recovered(result["recovery"])])


def _thresholding(losses: list[dict[str, Any]]) -> list[str]:
    rows = [
        [
            row["title"],
            f"{row['sparsities'][0]:,} to {row['sparsities'][1]:,}",
            *(f"{100 * low:.2f} to {100 * high:.2f}" for low, high in (row["raw"], row["refitted"])),
            f"{row['theorem']:.1f}".replace("-", "−"),
        ]
        for row in losses
    ]
    large = [f"{row['title']} (k = {row['worst_at']:,})" for row in losses if row["refitted"][1] > GOOD]
    return [
        "**Better bounds for thresholding.** *Can the guarantee of spca-svd match its practice?* A theorem for every",
        "matrix does not, but a certificate says of each of its answers how far below the optimum it is at most.",
        f"That is at most {GOOD:.0%}, proved, refitted, at all k on {len(losses) - len(large)} of {len(losses)} sets;",
        f"more, and where most, on: {', '.join(large) or 'none'}. Per cent, least and most over the sparsities:",
        "",
        *pages.table(["data", "k", "raw, below the optimum", "refitted", "theorem promises, ε = 0.9, at best"], rows),
    ]


def _faster(rows: list[dict[str, Any]]) -> list[str]:
    said = []
    for row in rows:
        seconds, gaps = row["seconds"], row["gaps"]
        said.append(
            f"- {row['title']}, {row['features']:,} features, k = {row['sparsity']}: {seconds['cold']:.1f} s from "
            "nothing "
            f"({row['steps']['cold']} steps, gap {gaps['cold']:.1e}), {seconds['warm']:.1f} s from the solution for "
            f"k = {row['near']} ({row['steps']['warm']} steps, gap {gaps['warm']:.1e}), {seconds['early']:.1f} s "
            "until the "
            f"rounded vector is proved within {gaps['early']:.1%}, proof included."
        )
    return [
        "**A faster relaxation.** *Early termination, warm starts?* Where the solution has rank one, as on the paper's",
        "data, it is found and proved without a matrix of features x features: see the running times above.",
        f"Elsewhere, with at most {rows[0]['limit']:.0f} s:",
        "",
        *said,
    ]


def _several(rows: list[dict[str, Any]]) -> list[str]:
    table = [
        [row["name"], f"{row['sum']:.4f}", f"{row['adjusted']:.1%}", "–" if row["gap"] is None else f"{row['gap']:.1e}"]
        for row in rows
    ]
    return [
        "**Several components.** *By deflation or other strategies?* Both, and together with a proof for the whole set",
        f"([more](components.md)). Pit props, {COMPONENTS} components with {LOADINGS} loadings each:",
        "",
        *pages.table(["components", "sum of variances", "variance, nothing twice", "proved gap of the set"], table),
    ]


def _recovered(rows: list[dict[str, Any]]) -> list[str]:
    names = {"auto": "`auto`", "sdp-threshold": "spca-sdp", "svd-threshold": "spca-svd", "decided": "proved"}
    table = [[row["title"], *(f"{row[key]:.0%}" for key in names)] for row in rows]
    return [
        "**Support recovery.** *Can the support be recovered?* Shares of draws with planted supports, over all signals",
        "and two models, in which exactly that support is returned, and in which the certificate proves the best",
        "support of the sample to be the one returned ([more](support_recovery.md)):",
        "",
        *pages.table(["", *names.values()], table),
    ]
