"""Algorithms 1 and 2 as they stand in the paper's boxes, with ε: what they capture, with how many loadings."""

from functools import partial
from typing import Any

import certpca
from certpca.bounds.guarantees import sdp_guarantee_at, sdp_width, svd_guarantee, svd_guarantee_by_spectrum, svd_width
from certpca.results.status import Status
from certpca.search.krylov import leading_eigenpairs
from certpca.solvers.sdp_threshold import SdpThreshold
from certpca.solvers.svd_threshold import SvdThreshold
from experiments import pages
from experiments.paper import curves, figures, page
from experiments.paper.cases import CASES, problem
from experiments.parallel import Job
from experiments.running import SEED, Run

TITLE = "Algorithms 1 and 2 as printed: accuracy against number of loadings"
SHOWN = {"hgdp": 20, "synthetic": 20}  # sparsities k at which ⌈9k²/ε²⌉ is fewer than all features for some ε
NEEDS = tuple(folder for key in SHOWN for folder in CASES[key].needs)
EPSILONS = (1.0, 0.9, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03)
ALGORITHMS = ("spca-svd", "spca-sdp")
SECONDS = (8.0, 8.0)  # for one answer and the proof for its width; full and quick profile
RELAXED_SECONDS = (90.0, 8.0)  # where the relaxation is solved, once
OPTIMUM_SECONDS = (60.0, 8.0)


def jobs(quick: bool) -> list[Job]:
    """Return what can be computed side by side."""
    del quick
    each = [Job("paper.tradeoff", f"{key} {algorithm}", 160) for key in SHOWN for algorithm in ALGORITHMS]
    optima = [Job("paper.tradeoff", f"{key} optimum", 60) for key in SHOWN]
    return [*each, *optima, *(Job("paper.curves", f"{key} matrix", 20) for key in SHOWN)]


def do(run: Run, name: str) -> None:
    """Do one of these."""
    key, what = name.split(" ")
    if what == "optimum":
        _optimum(run, key)
    else:
        _answers(run, key, what)


def compute(run: Run) -> list[dict[str, Any]]:
    """Put together what was computed."""
    found = []
    for key, sparsity in SHOWN.items():
        matrix = curves.matrix_of(run, curves.work_on(run, key))
        bracket = _optimum(run, key)
        rows = [row for algorithm in ALGORITHMS for row in _answers(run, key, algorithm)]
        for row in rows:
            row["promised"], row["promised_by_proof"] = _promises(row, matrix, bracket["objective"], sparsity)
        found.append(
            {"key": key, "title": CASES[key].title, "sparsity": sparsity, "matrix": matrix, **bracket, "rows": rows}
        )
    return found


def _promises(row: dict[str, Any], matrix: dict[str, Any], optimum: float, sparsity: int) -> tuple[float, float]:
    """Return what the theorem says of an answer, as printed and as its proof gives, for the best component known."""
    if row["algorithm"] == "spca-svd":
        by_proof = svd_guarantee_by_spectrum(optimum, row["spectrum"], row["epsilon"])
        return svd_guarantee(optimum, matrix["trace"], row["epsilon"]), by_proof
    printed = optimum / row["alpha"] - row["epsilon"] * matrix["longest_row"]
    width, size = min(row["most"], matrix["features"]), matrix["features"]
    known = row["alpha"], row["beta"], sparsity, width, size, matrix["longest_row"]
    return printed, sdp_guarantee_at(optimum, *known)


def _optimum(run: Run, key: str) -> dict[str, Any]:
    """Bracket the optimum for k loadings, in the units of the data."""

    def job() -> dict[str, Any]:
        made = certpca.certify(problem(key).operator, SHOWN[key], time_limit=OPTIMUM_SECONDS[run.quick], rng=SEED)
        return {"objective": made.objective, "bound": made.upper_bound}

    bracket: dict[str, Any] = run.of("paper.tradeoff").part(f"{key}: optimum", job)
    return bracket


def _answers(run: Run, key: str, algorithm: str) -> list[dict[str, Any]]:
    """Return the answer for every ε; the relaxation does not depend on it, so its widest answer often serves others."""
    wanted = tuple(EPSILONS[place] for place in (0, 3, 10)) if run.quick else EPSILONS
    mine = run.of("paper.tradeoff")
    found: list[dict[str, Any]] = []
    for epsilon in reversed(wanted):
        served = found[-1] if found and algorithm == "spca-sdp" else None
        if served is not None and sdp_width(SHOWN[key], served["beta"], epsilon) >= served["loadings"]:
            most = sdp_width(SHOWN[key], served["beta"], epsilon)
            found.append({**served, "epsilon": epsilon, "most": most})
            continue
        label = f"{key}: {algorithm}, ε = {epsilon:g}"
        found.append(mine.part(label, partial(_answer, run, key, algorithm, epsilon)))
    return found[::-1]


def _answer(run: Run, key: str, algorithm: str, epsilon: float) -> dict[str, Any]:
    operator, sparsity = problem(key).operator, SHOWN[key]
    solver: Any = (
        SvdThreshold(epsilon=epsilon) if algorithm == "spca-svd" else SdpThreshold(epsilon=epsilon, memory=8.0)
    )
    limit = (SECONDS if algorithm == "spca-svd" else RELAXED_SECONDS)[run.quick]
    solution = certpca.solve(operator, sparsity, solver, refit=False, certify=True, rng=SEED, time_limit=limit)
    details = solution.details
    row = {
        "algorithm": algorithm,
        "epsilon": epsilon,
        "loadings": int(solution.support.size),
        "captured": solution.objective,
        "bound_at_width": solution.upper_bound,
        "empty": solution.status is Status.NOTHING_SELECTED or details.get("selected") == 0,
    }
    if algorithm == "spca-svd":
        values = leading_eigenpairs(operator, min(int(details["components"]) + 1, operator.size), rng=SEED).values
        return row | {"most": svd_width(sparsity, epsilon), "spectrum": values.tolist()}
    beta = details["beta"]
    return row | {
        "most": sdp_width(sparsity, beta, epsilon),
        "alpha": details["alpha"],
        "beta": beta,
    }


LOOK = {"spca-svd": ("-", "o"), "spca-sdp": ("-", "s")}


def render(cases: list[dict[str, Any]]) -> None:
    """Draw what is captured, promised and used against ε."""
    figure, panels = pages.pyplot().subplots(
        3, len(cases), figsize=(5.6 * len(cases), 9.4), layout="constrained", sharex=True, height_ratios=[1.2, 1, 1]
    )
    for column, case in enumerate(cases):
        _column(panels[:, column], case)
    panels[0, 0].set_ylabel("captured / largest eigenvalue")
    panels[1, 0].set_ylabel("nonzero loadings")
    panels[2, 0].set_ylabel("promised / largest eigenvalue")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    more = panels[1, 0].get_legend_handles_labels()
    last = panels[2, 0].get_legend_handles_labels()
    told = handles + more[0] + last[0], labels + more[1] + last[1]
    figure.legend(*told, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    lines = [
        f"## {TITLE}",
        "",
        "The paper's experiments hold both algorithms to k loadings. Its theorems are about the algorithms in the",
        "boxes, whose ε trades loadings for accuracy: Algorithm 1 keeps every row of the leading ⌈1/ε⌉ singular",
        "vectors with a squared norm of ε²/k or more, at most ⌈1/ε⌉k/ε² of them (the paper's text has k/ε³, the same",
        "where 1/ε is whole; its box k/ε²), Algorithm 2 the ⌈9k²β²/ε²⌉ largest entries, fewer where fewer are not",
        "zero. So run `svd-threshold` and `sdp-threshold` with `epsilon`; here with raw loadings. Grey: where the",
        "optimum for k loadings is, proved. Dotted: what is proved that as many loadings as were kept can capture.",
        "Hollow: no row is long enough, and Algorithm 1 has no answer; the program returns one feature and says so.",
        "",
        f"![what is captured, with how many loadings, and what is promised]({pages.save(figure, 'paper_tradeoff')})",
        "",
        *(line for case in cases for line in _verdict(case)),
    ]
    page.section("paper.tradeoff", lines)


def _column(panels: Any, case: dict[str, Any]) -> None:
    above, middle, below = panels
    largest, size = case["matrix"]["spectrum"][0], case["matrix"]["features"]
    above.axhspan(case["objective"] / largest, case["bound"] / largest, color="0.8", label="optimum for k loadings")
    for algorithm in ALGORITHMS:
        rows = [row for row in case["rows"] if row["algorithm"] == algorithm]
        look, epsilons = pages.LOOKS[algorithm], [row["epsilon"] for row in rows]
        line = {"color": look.colour, "linewidth": 1.3}
        above.plot(epsilons, [row["captured"] / largest for row in rows], label=algorithm, **line)
        bounds = [row["bound_at_width"] / largest for row in rows]
        above.plot(epsilons, bounds, linestyle=":", label=f"proved, for as many loadings as {algorithm} kept", **line)
        middle.plot(epsilons, [row["loadings"] for row in rows], **line)
        most = [min(row["most"], size) for row in rows]
        middle.plot(epsilons, most, linestyle="--", label=f"at most, by the theorem of {algorithm}", **line)
        below.plot(epsilons, [row["promised"] / largest for row in rows], label=f"theorem of {algorithm}", **line)
        proof = [row["promised_by_proof"] / largest for row in rows]
        below.plot(epsilons, proof, linestyle="-.", label=f"from the proof of {algorithm}", **line)
        for row in rows:
            face = "white" if row["empty"] else look.colour
            marker = {"color": look.colour, "marker": "o", "markersize": 5, "markerfacecolor": face, "clip_on": False}
            above.plot(row["epsilon"], row["captured"] / largest, zorder=4, **marker)
            middle.plot(row["epsilon"], row["loadings"], zorder=4, **marker)
    above.set_yscale("log")
    above.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    above.set_ylim(top=1.15)
    middle.set_yscale("log")
    below.set_yscale("symlog", linthresh=0.1)
    below.axhline(0, color="0.5", linewidth=0.8)
    below.set_xscale("log")
    below.set_xticks([1, 0.5, 0.2, 0.1, 0.05, 0.03], ["1", "0.5", "0.2", "0.1", "0.05", "0.03"])
    below.minorticks_off()
    below.yaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "−"))
    below.set_xlabel("ε")
    above.set_title(f"{figures.shape(case)}, k = {case['sparsity']}", fontsize=10)
    for panel in panels:
        panel.grid(alpha=0.3)


def _verdict(case: dict[str, Any]) -> list[str]:
    """Say where each algorithm has an answer, what it takes to capture the optimum, and where theorems speak."""
    largest, size, k = case["matrix"]["spectrum"][0], case["matrix"]["features"], case["sparsity"]
    bracket = f"{case['objective'] / largest:.4f} to {case['bound'] / largest:.4f}"
    lines = [f"- **{figures.named(case)}**, k = {k}, optimum {bracket} of the largest eigenvalue:"]
    for algorithm in ALGORITHMS:
        rows = [row for row in case["rows"] if row["algorithm"] == algorithm]
        empty = [row["epsilon"] for row in rows if row["empty"]]
        whole = [row["epsilon"] for row in rows if row["loadings"] >= size]
        useful = [row["epsilon"] for row in rows if row["promised"] > 0]
        better = [row for row in rows if not row["empty"] and row["captured"] >= case["objective"]]
        said = [f"has no answer for ε ≥ {min(empty):g}"] if empty else []
        if better:
            first = min(better, key=lambda row: row["loadings"])
            said.append(f"captures as much as the best {k} with {first['loadings']:,} (ε = {first['epsilon']:g})")
        counts = sorted({row["loadings"] for row in rows if not row["empty"]})
        said.append(
            f"keeps {counts[0]:,} to {counts[-1]:,} loadings"
            if len(counts) > 1
            else f"keeps {counts[0]:,} wherever it has an answer"
        )
        said += [f"all {size:,} for ε ≤ {max(whole):g}"] if whole else []
        said.append(
            f"its theorem says something for ε ≤ {max(useful):g}"
            if useful
            else "its theorem says nothing for any of these"
        )
        lines.append(f"  {algorithm} {'; '.join(said)}.")
    return lines
