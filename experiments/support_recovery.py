"""When is the true support recovered? Spiked covariances over a range of signals, with what certificates decide.

    python -m experiments.support_recovery

Samples of 200 features have covariance I + θvvᵀ with v of 10 equal entries. For each θ and number of samples: how often
`auto` returns the true support, the share of its features found, and how many features the certificate proves to be in,
or out of, every optimum of the sample, which can be another support than the true one. Writes
docs/figures/support_recovery.{png,svg} and docs/support_recovery.md.
"""

from pathlib import Path
from typing import Any

import numpy as np

import certpca

CHECKOUT = Path(__file__).parents[1]
FEATURES, PLANTED, DRAWS = 200, 10, 20
SIGNALS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
SAMPLES = (100, 200, 400)


def compute() -> list[dict[str, Any]]:
    """Draw, solve and certify."""
    rows = []
    for samples in SAMPLES:
        for signal in SIGNALS:
            exact, shares, inside, outside, optimal = 0, [], [], [], 0
            for draw in range(DRAWS):
                rng = np.random.default_rng([samples, round(100 * signal), draw])
                direction = np.zeros(FEATURES)
                true = rng.choice(FEATURES, PLANTED, replace=False)
                direction[true] = PLANTED**-0.5
                data = rng.standard_normal((samples, FEATURES))
                data += np.sqrt(signal) * rng.standard_normal((samples, 1)) * direction
                solution = certpca.solve(data, PLANTED, certify=True, budget=certpca.Budget(seconds=5))
                found = np.intersect1d(solution.support, true).size / PLANTED
                assert solution.certificate is not None
                exact += found == 1
                optimal += solution.status is certpca.Status.OPTIMAL
                shares.append(found)
                inside.append(solution.certificate.inside / PLANTED)
                outside.append(solution.certificate.outside / (FEATURES - PLANTED))
            rows.append(
                {
                    "samples": samples,
                    "signal": signal,
                    "exact": exact / DRAWS,
                    "found": float(np.mean(shares)),
                    "inside": float(np.mean(inside)),
                    "outside": float(np.mean(outside)),
                    "optimal": optimal / DRAWS,
                }
            )
            print(rows[-1], flush=True)
    return rows


def render(rows: list[dict[str, Any]]) -> None:
    """Draw one panel for each number of samples, and write the table."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    curves = (
        ("exact", "true support returned", "#0072B2", "-", "o"),
        ("found", "true features found", "#56B4E9", "--", "o"),
        ("inside", "proved in every optimum", "#D55E00", "-", "s"),
        ("outside", "proved in no optimum", "#009E73", "-", "^"),
    )
    figure, panels = plt.subplots(1, len(SAMPLES), figsize=(11, 3.8), sharey=True, constrained_layout=True)
    for panel, samples in zip(panels, SAMPLES, strict=True):
        mine = [row for row in rows if row["samples"] == samples]
        for key, label, colour, line, marker in curves:
            panel.plot(
                [row["signal"] for row in mine],
                [row[key] for row in mine],
                line,
                color=colour,
                marker=marker,
                label=label,
            )
        panel.set_title(f"{samples} samples, {FEATURES} features", fontsize=10)
        panel.set_xlabel("strength of the signal θ")
    panels[0].set_ylabel("share")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    for ending in ("png", "svg"):
        figure.savefig(CHECKOUT / "docs" / "figures" / f"support_recovery.{ending}", dpi=150)
    lines = [
        "# Support recovery",
        "",
        f"Written by `python -m experiments.support_recovery`: {FEATURES} features, {PLANTED} of them planted, {DRAWS} "
        "draws for each line, at most five seconds each.",
        "A certificate speaks about the sample at hand: features can be proved to be in its optimum although the",
        "sample misleads.",
        "",
        "![recovery against signal](figures/support_recovery.png)",
        "",
        "| samples | θ | true support returned | true features found | proved in | proved out | proved optimal |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row['samples']} | {row['signal']:g} | {row['exact']:.0%} | {row['found']:.0%} | {row['inside']:.0%} "
        f"| {row['outside']:.0%} | {row['optimal']:.0%} |"
        for row in rows
    ]
    (CHECKOUT / "docs" / "support_recovery.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    render(compute())
