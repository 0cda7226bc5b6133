"""Table 1: the constants α and β of spca-sdp's theorem, and ε_d of spca-lowrank's."""

from typing import Any

from certpca.bounds.guarantees import low_rank_constant
from experiments import pages
from experiments.data import PAPER, paper_tables
from experiments.paper import page
from experiments.paper.cases import CASES
from experiments.paper.curves import of_case
from experiments.running import Run

TITLE = "Table 1: the constants α, β and ε_d"
SHOWN = {"chr1": "simulated", "chr2": "chr1"}  # the paper's data, and what stands beside them here
NEEDS = (*PAPER, *(folder for key in SHOWN.values() for folder in CASES[key].needs))
HEAD = ["k, paper", "k, here", "α, paper", "α, here", "β, paper", "β, here", "ε_d, paper", "ε_d, here", "proved gap"]
RANK = 3


def compute(run: Run) -> list[dict[str, Any]]:
    """Take the constants of figure 1's relaxations; the paper's sparsities go with those of the same share."""
    found = []
    for printed, key in SHOWN.items():
        case, theirs = of_case(run, key), paper_tables()["sdp_constants"][printed]
        matrix, rows = case["matrix"], []
        size = matrix["features"]
        for row in case["rows"]:
            if row["method"] != "spca-sdp":
                continue
            k = row["sparsity"]
            distances = [abs(other[0] / theirs["n"] - k / size) for other in theirs["rows"]]
            rows.append(
                {
                    "paper": dict(
                        zip(("k", "alpha", "beta", "epsilon"), _nearest(theirs["rows"], distances), strict=True)
                    ),
                    "k": k,
                    "alpha": row["details"]["alpha"],
                    "beta": row["details"]["beta"],
                    "epsilon": low_rank_constant(matrix["spectrum"], RANK, size, k, matrix["largest_variance"]),
                    "duality_gap": row["details"]["duality_gap"],
                    "cut": row["cut"],
                }
            )
        found.append({"printed": printed, "n": theirs["n"], "title": case["title"], "size": size, "rows": rows})
    return found


def _nearest(rows: list[list[float]], distances: list[float]) -> list[float]:
    return rows[distances.index(min(distances))]


def render(tables: list[dict[str, Any]]) -> None:
    """Write both tables and what they say."""
    lines = [f"## {TITLE}", ""]
    for table in tables:
        name = table["printed"].replace("chr", "chromosome ")
        lines += [
            f"The paper's {name} ({table['n']:,} features) and {table['title']} ({table['size']:,} features):",
            "",
        ]
        rows = []
        for row in table["rows"]:
            paper = row["paper"]
            constants = [f"{side[name]:.7f}" for name in ("alpha", "beta") for side in (paper, row)]
            rest = [f"{paper['epsilon']:.2f}", f"{row['epsilon']:.2f}", f"{row['duality_gap']:.1e}"]
            rows.append([f"{paper['k']:,}", f"{row['k']:,}", *constants, *rest])
        lines += [*pages.table(HEAD, rows, left=0), "", *_verdict(table["rows"]), ""]
    lines += [
        "α compares a relaxation with its leading part and cannot be less than one; values below are a sign of a",
        "relaxation that was not solved to its end. Here α is computed from the proved dual value, and the proved gap",
        "says how far from solved the relaxation can be. ε_d depends on the data, so only its order can agree.",
    ]
    page.section("paper.table1_constants", lines)


def _verdict(rows: list[dict[str, Any]]) -> list[str]:
    alpha = max(row["alpha"] - 1 for row in rows)
    beta = max(abs(row["beta"] - 1) for row in rows)
    below = sum(row["paper"]["alpha"] < 1 for row in rows)
    ratio = [row["epsilon"] / row["paper"]["epsilon"] for row in rows]
    cut = [f"{row['k']:,}" for row in rows if row["cut"]]
    close = alpha < 1e-3 and beta < 1e-3
    verdict = "Agrees: α and β are one" if close else "Disagrees in part: α and β are not one everywhere"
    return [
        f"{verdict} (α − 1 up to {alpha:.1e}, |β − 1| up to {beta:.1e}); {below} of the {len(rows)} values of α",
        f"from the paper are below one; ε_d here is {min(ratio):.2f} to {max(ratio):.2f} times the paper's.",
        *(
            [f"Not solved within the limits of time and memory: k = {', '.join(cut)}; α is an upper bound there."]
            if cut
            else []
        ),
    ]
