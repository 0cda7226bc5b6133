"""Components under constraints: what they cost in variance, and what is proved of them."""

from functools import partial
from typing import Any

import numpy as np

import certpca
from certpca import Constraints
from experiments import pages
from experiments.data import SHARED, table
from experiments.running import SEED, Run

TITLE = "Components under constraints"
NEEDS = ("covariances", "expr_alon", "expr_bladderbatch", "geno_1kg_aisnp_2504")
SECONDS = 60  # for each, proof included
PAIRS = {"pit props": [["topdiam", "length"], ["moist", "testsg"], ["ovensg", "ringtop"], ["bowmax", "bowdist"]]}


def compute(run: Run) -> dict[str, Any]:
    """Solve and prove every problem under every constraint, and weigh samples."""
    rows = []
    for name, (operator, sparsity) in _problems(quick=run.quick).items():
        free = run.part(f"{name}, free", partial(_solved, operator, sparsity, Constraints(), run))
        rows.append({"data": name, "what": "none", **free})
        for what, asked in _asked(name, operator, free["support"], sparsity).items():
            label = f"{name}, {what}"
            rows.append(
                {
                    "data": name,
                    "what": what,
                    **run.part(label, partial(_solved, operator, sparsity, asked, run)),
                }
            )
    return {"rows": rows, "weights": run.part("weights", _weighted)}


def _problems(*, quick: bool) -> dict[str, tuple[Any, int]]:
    found: dict[str, tuple[Any, int]] = {"pit props": (certpca.pitprops(), 6)}
    for title, file in (("lung, correlation", "normlung"), ("communities, correlation", "normCommunities")):
        with np.load(SHARED / "covariances" / f"{file}.npz") as content:
            found[title] = certpca.from_matrix(content["A"]), 10
    found["colon, correlation"] = certpca.from_data(table("expr_alon")[0], scale=True), 10
    if not quick:
        found["bladder"] = certpca.from_data(table("expr_bladderbatch")[0]), 50
    return found


def _asked(name: str, operator: Any, support: list[int], sparsity: int) -> dict[str, Constraints]:
    """Ask for what the best component has not: features in that it lacks, features out that it has."""
    size = operator.size
    diagonal = np.asarray(operator.diagonal(), dtype=float)
    others = np.setdiff1d(np.arange(size), support)
    include = np.sort(others[np.argsort(diagonal[others], kind="stable")[:2]])  # the smallest variances that are not in
    asked = {
        "two features in": Constraints(include=tuple(include.tolist())),
        "its own features out": Constraints(exclude=tuple(support)) if size - len(support) >= sparsity else None,
        "no negative loadings": Constraints(nonnegative=True),
    }
    if size <= 101:
        names = list(operator.names or ())
        pairs = [[names.index(part) for part in pair] for pair in PAIRS.get(name, [])]
        pairs = pairs or [[first, first + 1] for first in range(0, size - 1, 2)]
        asked["pairs of features whole"] = Constraints(groups=tuple(sorted(tuple(sorted(pair)) for pair in pairs)))
    return {what: constraints for what, constraints in asked.items() if constraints is not None}


def _solved(operator: Any, sparsity: int, asked: Constraints, run: Run) -> dict[str, Any]:
    found = certpca.solve(
        operator,
        sparsity,
        certify=True,
        include=asked.include,
        exclude=asked.exclude,
        groups=asked.groups,
        nonnegative=asked.nonnegative,
        rng=SEED,
        time_limit=SECONDS / 4 if run.quick else SECONDS,
    )
    assert found.certificate is not None
    proof = certpca.verify(found.certificate, operator, constraints=asked)
    return {
        "size": operator.size,
        "sparsity": sparsity,
        "support": found.support.tolist(),
        "objective": proof.objective,
        "upper_bound": proof.upper_bound,
        "gap": proof.gap,
        "kind": proof.kind,
        "seconds": found.seconds,
    }


def _weighted() -> dict[str, Any]:
    """Let every population count the same, however many samples it has."""
    with np.load(SHARED / "geno_1kg_aisnp_2504" / "kidd.npz") as content:
        calls, population = content["G"].astype(float), content["super_pop"]
    calls = np.where(calls < 0, np.nan, calls)
    groups, place, counts = np.unique(population, return_inverse=True, return_counts=True)
    weights = 1.0 / counts[place]
    rows = []
    for what, given in (("each sample the same", None), ("each population the same", weights)):
        found = certpca.solve(
            calls, 10, certify=True, rng=SEED, time_limit=SECONDS, missing="mean", sample_weight=given
        )
        assert found.certificate is not None
        proof = certpca.verify(found.certificate, calls, sample_weight=False if given is None else given)
        mean = np.average(np.nan_to_num(calls), axis=0, weights=given)
        scores = (np.nan_to_num(calls) - mean) @ found.component
        means = {str(group): float(scores[place == number].mean()) for number, group in enumerate(groups)}
        rows.append({"what": what, "support": found.support.tolist(), "ratio": found.explained_variance_ratio,
                     "gap": proof.gap, "matrix": proof.matrix, "means": means})  # fmt: skip
    counted = {str(group): int(count) for group, count in zip(groups, counts, strict=True)}
    return {"samples": int(calls.shape[0]), "variants": int(calls.shape[1]), "counts": counted, "rows": rows}


def render(result: dict[str, Any]) -> None:
    """Write docs/constraints.md."""
    pages.write("constraints", [*_before(), *_table(result["rows"]), *_weights(result["weights"]), *_after()])


def _before() -> list[str]:
    return BEFORE.strip().splitlines()


def _after() -> list[str]:
    return ["", *AFTER.strip("\n").splitlines()]


def _table(rows: list[dict[str, Any]]) -> list[str]:
    free = {row["data"]: row["objective"] for row in rows if row["what"] == "none"}
    body = [
        [
            row["data"],
            row["what"],
            f"{row['size']:,}",
            row["sparsity"],
            f"{row['objective']:.5g}",
            f"{row['objective'] / free[row['data']]:.1%}",
            "proved optimal" if row["gap"] <= 1e-6 else f"{row['gap']:.2%}",
            row["kind"],
            f"{row['seconds']:.0f}",
        ]
        for row in rows
    ]
    head = ["data", "constraint", "features", "k", "captured", "of the free one", "proved gap", "kind", "seconds"]
    said = (
        f"Each problem had up to {SECONDS} s, answer and proof included, to a gap of 1 % (small ones to the optimum); "
        "every certificate was verified. *Two features in*: the two of smallest variance that the free component does "
        "not have. *Its own features out*: what is best without the features of the free component. *Pairs*: diameter "
        "and length, moisture and density, ... of the pit props; elsewhere each two neighbouring columns."
    )
    return ["", "## Measured", "", said, "", *pages.table(head, body, left=2)]


def _weights(result: dict[str, Any]) -> list[str]:
    counts = ", ".join(f"{name} {count}" for name, count in result["counts"].items())
    same = set(result["rows"][0]["support"]) & set(result["rows"][1]["support"])
    body = [
        [
            row["what"],
            f"{row['ratio']:.2%}",
            "proved optimal" if row["gap"] <= 1e-6 else f"{row['gap']:.2%}",
            ", ".join(f"{name} {mean:+.2f}" for name, mean in row["means"].items()),
        ]
        for row in result["rows"]
    ]
    return [
        "",
        "## Sample weights, measured",
        "",
        f"{result['samples']:,} samples of the 1000 Genomes Project at {result['variants']} variants ({counts}): a "
        "component of 10 variants, once with every sample the same and once with weights by which every population "
        f"counts the same. {len(same)} of 10 variants are in both. The verdict says what the second is about: "
        f"*{result['rows'][1]['matrix']}*.",
        "",
        *pages.table(["weights", "variance explained", "proved gap", "mean score"], body, left=1),
    ]


BEFORE = """
# Constraints and sample weights

Written by `python -m experiments constraints`.

```python
certpca.solve(X, 10, include=["TP53"], exclude=["batch"], certify=True)  # features in or out, by name or index
certpca.solve(X, 10, nonnegative=True, certify=True)  # no negative loadings
certpca.solve(X, 12, groups={"a": ["a1", "a2"], "b": ["b1", "b2", "b3"]}, certify=True)  # all of a group or none
certpca.solve(X, 10, sample_weight=w, certify=True)  # samples that count more, or less

certificate = certpca.certify(X, 10, exclude=["batch"])
certpca.verify(certificate, X, constraints=certpca.Constraints(exclude=(7,)))  # refused if it is about other components
```

```sh
certpca solve data.csv -k 10 --include TP53 --exclude batch,plate --nonnegative --certify --output result.json
certpca certify data.csv -k 12 --group a1,a2 --group b1,b2,b3 --sample-weight weights.txt --output certificate.json
certpca verify certificate.json data.csv --group a1,a2 --group b1,b2,b3    # or --unconstrained
```

`solve`, `certify`, `decompose` (for every greedy component) and `SparsePCA` take them. `auto` and `branch-and-bound`
follow all; `truncated-power` follows non-negative loadings; features are left out for every solver. A solver that
would not follow what is asked is refused.

**What is asked.** A support has all of `include`, none of `exclude`, all or none of every group, and at most k
features. Loadings are zero outside such a support, and none is negative where that is asked. Features that are forced
in take their places even if their loadings come out as zero. Only the ratios of weights count: they are brought to a
mean of one, so that equal weights change nothing, and a sample of weight two counts as two rows would. Means,
variances, missing values (the weighted mean) and products are weighted; data are made dense for that, in memory.

**What is proved.** The gap is to the best component *that is allowed*. A certificate under constraints states them,
in a format that versions without them refuse; the verdict repeats them, and `verify` takes what you expect. Weights
are part of how data become a matrix: the certificate lists them, they are hashed with the data, and the verdict says
that samples are weighted.
"""

AFTER = """
## How it is proved

- **Features out.** The checker leaves their columns out before it measures anything. All kinds of certificates then
  are about the principal submatrix of the others, with allowances for these alone: a column of huge variance that is
  left out costs no digits.
- **Features in.** Bounds for all supports are bounds for these. Tighter: a `search-tree` begins with them in the
  support, and in a `count-tree` every group has at least as many features as are forced in from it, so that a cell
  that allows fewer has no support.
- **Groups.** In every node of a `search-tree` a group with a feature in is in, one with a feature out is out, and one
  with more features than places left is out. Bounds of nodes are those for all supports; leaves list the unions of
  groups that fit. Screening leaves out whole groups.
- **No negative loadings.** For x ≥ 0 and N ≥ 0 entrywise, xᵀAx ≤ xᵀ(A + N)x. A `search-tree` may be about A + N for
  an N that it stores, and a leaf may bound all its features by λ_max(A + N) with an N of its own. The search takes N
  from negative entries, and for leaves from the doubly non-negative relaxation, min λ_max(A + N) over N ≥ 0, which
  was tight at every support that we tried. Other kinds bound loadings of any sign, which covers these.
- **Weights.** With weights ω of mean one, columns are √ω_i (x_i − μ), μ the weighted mean. The sum of the weights
  rounds by a relative γ_m for m samples, each ω by three roundings more and its root by half of that and one; the
  mean is a quotient of two sums of products, off by at most γ_{4m+64} of the mean magnitude. So a column is off by at
  most γ_{4m+64} √m times that, and γ_{2m+64} of its length.

Constraints reach thousands of features with search trees, and more with count-trees where features are forced in.
Non-negative loadings and groups among more than 4,096 features have the bounds for all loadings and all supports
only: valid, and often loose.
"""
