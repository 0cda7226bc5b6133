"""Topics of two text collections: five sparse components of ten words each.

    python -m experiments.topics

Documents x words stay sparse throughout. Writes docs/topics.md.
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, load_npz

import certpca

CHECKOUT = Path(__file__).parents[1]
SHARED = CHECKOUT.parent / "shared" / "data"
COLLECTIONS = {"20 Newsgroups": "text_20newsgroups", "Associated Press": "text_associated_press"}


def weighted(counts: Any) -> csr_array:
    """Dampen counts to log(1 + count) and scale documents to unit length, so that no long document is a topic."""
    damped = csr_array(counts, dtype=np.float64)
    damped.data = np.log1p(damped.data)
    lengths = np.sqrt(damped.multiply(damped).sum(axis=1))
    damped.data /= np.repeat(np.maximum(np.asarray(lengths).ravel(), 1e-300), np.diff(damped.indptr))
    return damped


def compute() -> list[dict[str, Any]]:
    """Decompose both collections."""
    rows = []
    for name, folder in COLLECTIONS.items():
        words = (SHARED / folder / "vocab.txt").read_text().split()
        data = weighted(load_npz(SHARED / folder / "X.npz"))
        found = certpca.decompose(data, 5, 10, names=words, disjoint=True)
        for number, part in enumerate(found.components):
            assert part.names is not None
            order = np.argsort(-np.abs(part.loadings))
            share = found.adjusted_variance_ratio[number]
            rows.append(
                {
                    "collection": name,
                    "documents": data.shape[0],
                    "words": data.shape[1],
                    "topic": number + 1,
                    "share": float(share),
                    "list": [("" if part.loadings[place] > 0 else "−") + part.names[place] for place in order],
                }
            )
            print(name, number + 1, " ".join(rows[-1]["list"]), flush=True)
    return rows


def render(rows: list[dict[str, Any]]) -> None:
    """Write the words as a page."""
    lines = [
        "# Topics: five components of ten words",
        "",
        "Written by `python -m experiments.topics`. Counts are dampened to log(1 + count) and documents scaled to unit",
        "length; supports are disjoint; the matrix of documents x words stays sparse. A minus sign marks words that",
        "speak against the topic. The share is that of the total variance, beyond the topics before.",
    ]
    for name in dict.fromkeys(row["collection"] for row in rows):
        mine = [row for row in rows if row["collection"] == name]
        lines += ["", f"## {name}, {mine[0]['documents']:,} x {mine[0]['words']:,}", "", "| topic | share | words |"]
        lines += ["|--:|--:|---|"]
        lines += [f"| {row['topic']} | {row['share']:.2%} | {', '.join(row['list'])} |" for row in mine]
    (CHECKOUT / "docs" / "topics.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    render(compute())
