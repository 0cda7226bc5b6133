"""Put certificates before both checkers: valid ones of random small problems, and tampered ones.

    python -m benchmarks.checkers.agreement [--cases 1000] [--workers 1] [--seed 0]

Every certificate that a search proves on the way is a case, and so are alterations of it. They agree where both accept
or both refuse. Where only one accepts, the case is kept with what each said. A third judge, which tries every support
in floating point, says whether a bound that was accepted is false. Counts go to benchmarks/results/agreement.json, and
`python -m benchmarks.render` writes the table of docs/exact.md. Nightly: --cases 1000000.
"""

import argparse
import itertools
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.checkers.problems import drawn_certificates
from benchmarks.checkers.tampering import tampered
from benchmarks.machine import facts, write_results
from tests.golden.valid import exact_matrix

import certpca
from certpca.exact.certpca_exact import Refused, check_file
from certpca.results.certificate import Source
from certpca.runtime.errors import CertpcaError

SHARPER = ("proves only", "decides")  # the first refuses so where its allowances are wider, or its choices worse
CLOSE = 1e-6  # by which free choices (directions c) may let the first prove more
ALTERED = 8  # times that each certificate is altered
KEPT = 40  # disagreements that are kept in full


def first_says(file: Path, values: np.ndarray) -> str | None:
    """Return why certpca's checker refuses, or None."""
    try:
        certpca.verify(certpca.load_certificate(file), values)
    except CertpcaError as error:
        return str(error)
    return None


def second_says(file: Path, values: np.ndarray) -> str | None:
    """Return why the exact checker does not confirm, or None."""
    try:
        check_file(file, np.asarray(values, dtype=np.float64).tolist())
    except Refused as refusal:
        return str(refusal)
    return None


def is_false(file: Path, values: np.ndarray) -> bool:
    """Say whether some support captures more than is claimed, or fewer features are decided, for one component."""
    fields = json.loads(file.read_text())
    if "sparsity" not in fields:
        return False
    matrix = exact_matrix(Source(values=values, **fields["normalisation"]))
    supports = list(itertools.combinations(range(matrix.shape[0]), fields["sparsity"]))
    captured = np.array([np.linalg.eigvalsh(matrix[np.ix_(s, s)])[-1] for s in supports])
    size, best = np.abs(matrix).max(), captured.max()
    optimal = [set(supports[i]) for i in np.flatnonzero(captured >= best - 1e-12 * size)]
    outside = matrix.shape[0] - len(set.union(*optimal))
    decided = fields["features_in_no_optimum"] > outside
    decided |= fields["features_in_every_optimum"] > len(set.intersection(*optimal))
    return bool(decided or best > fields["upper_bound"] * (1 + 1e-9) + 1e-12 * size)


def compared(first: str | None, second: str | None) -> str:
    """Say whether they agree, and whether one may prove more than the other where they do not."""
    if first is None and second is None:
        return "both accept"
    if first and second:
        return "both refuse"
    if first:
        return "the second proves more" if any(words in first for words in SHARPER) else "only the second accepts"
    claim = re.fullmatch(r"the claim is (\S+), and (\S+) is what is proved", str(second))
    close = claim and float(claim[2]) <= float(claim[1]) * (1 + CLOSE)
    return "the first proves more, by a hair" if close else "only the first accepts"


def judged(file: Path, values: np.ndarray) -> dict[str, Any]:
    """Return what both say of the certificate in a file."""
    first, second = first_says(file, values), second_says(file, values)
    accepted = first is None or second is None
    return {
        "kind": json.loads(file.read_text()).get("kind"),
        "verdict": compared(first, second),
        "first": first,
        "second": second,
        "false": accepted and is_false(file, values),
    }


def cases_of(seed: int, altered: int = ALTERED) -> Iterator[dict[str, Any]]:
    """Yield what is said of the certificates of one random problem, and of altered ones."""
    rng = np.random.default_rng(seed)
    values, found = drawn_certificates(rng)
    for certificate in found:
        for turn in range(altered + 1):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "certificate.json"
                certpca.save_certificate(certificate, file)
                data = tampered(file, values, rng) if turn else values
                said = judged(file, data)
                if not turn and said["verdict"] == "both refuse":
                    break  # a step of a search in units of its own
                yield {"seed": seed, "turn": turn, "tampered": turn > 0, **said}


def _all_of(seed: int, altered: int) -> list[dict[str, Any]]:
    return list(cases_of(seed, altered))


def measured(cases: int, seed: int, workers: int, altered: int = ALTERED) -> dict[str, Any]:
    """Return counts by kind, whether valid or tampered, and verdict; and the disagreements."""
    counts: Counter[tuple[str, bool, str]] = Counter()
    disagreements: list[dict[str, Any]] = []
    false = problems = 0
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        seeds = iter(range(seed, sys.maxsize))
        while counts.total() < cases:
            batch = [next(seeds) for _ in range(8 * workers)]
            for rows in pool.map(partial(_all_of, altered=altered), batch):
                problems += 1
                for row in rows:
                    counts[str(row["kind"]), row["tampered"], row["verdict"]] += 1
                    false += row["false"]
                    if row["false"] or not row["verdict"].startswith("both"):
                        disagreements.append(row)
    rows = [{"kind": k, "tampered": t, "verdict": v, "count": c} for (k, t, v), c in sorted(counts.items())]
    return {
        "problems": problems,
        "cases": counts.total(),
        "false": false,
        "rows": rows,
        "disagreements": sum(row["verdict"].startswith("only") for row in disagreements),
        "kept": disagreements[:KEPT],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="put certificates before both checkers")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = facts()
    found = measured(options.cases, options.seed, options.workers)
    write_results("agreement", start, {"seed": options.seed, **found})
    for row in found["kept"]:
        print(json.dumps(row))
    print(f"{found['cases']} cases, {found['disagreements']} disagreements, {found['false']} false bounds")
    return 1 if found["false"] else 0


if __name__ == "__main__":
    sys.exit(main())
