"""Topics of two text collections: five sparse components of ten words each.

Documents x words stay sparse throughout.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, load_npz

import certpca
from experiments import pages
from experiments.data import SHARED
from experiments.running import Run

TITLE = "Topics: five components of ten words"
NEEDS = ("text_20newsgroups", "text_associated_press")
COLLECTIONS = {"20 Newsgroups": "text_20newsgroups", "Associated Press": "text_associated_press"}
REPEATED = 0.25  # share of a word's documents that must use it more than once
# Parts of internet addresses, which stand in the headers of posts and are quoted with every answer.
ADDRESSES = (
    "ac", "acs", "arc", "au", "bnr", "ca", "caltech", "cam", "cc", "cleveland", "cmu", "columbia", "cs",
    "cso", "cwru", "de", "demon", "digex", "du", "ed", "freenet", "gatech", "gov", "jpl", "magnus", "net",
    "netcom", "nyx", "nz", "ohio", "org", "pitt", "po", "prism", "purdue", "sgi", "sys", "toronto", "uiuc",
    "uk",
)  # fmt: skip
SECONDS = 10  # for each certificate


def repeated_share(counts: Any) -> np.ndarray:
    """Return for each word the share of documents that use it more than once, among those that use it."""
    counts = csr_array(counts)
    present = np.bincount(counts.indices[counts.data > 0], minlength=counts.shape[1])
    again = np.bincount(counts.indices[counts.data > 1], minlength=counts.shape[1])
    return np.asarray(again / np.maximum(present, 1))


def weighted(counts: Any) -> csr_array:
    """Weigh words and documents so that neither a common word nor a long document is a topic.

    Counts become log(1 + count) · log(documents / documents with the word), and documents have unit length.
    """
    damped = csr_array(counts, dtype=np.float64)
    documents = np.bincount(damped.indices[damped.data > 0], minlength=damped.shape[1])
    rarity = np.log(damped.shape[0] / np.maximum(documents, 1))
    damped.data = np.log1p(damped.data) * rarity[damped.indices]
    lengths = np.sqrt(np.asarray(damped.multiply(damped).sum(axis=1)).ravel())
    damped.data /= np.repeat(np.maximum(lengths, 1e-300), np.diff(damped.indptr))
    return damped


def compute(run: Run) -> list[dict[str, Any]]:
    """Decompose both collections."""
    rows = []
    for name, folder in COLLECTIONS.items():
        words = np.array((SHARED / folder / "vocab.txt").read_text().split())
        counts = csr_array(load_npz(SHARED / folder / "X.npz"))
        kept = np.flatnonzero((repeated_share(counts) >= REPEATED) & ~np.isin(words, ADDRESSES))
        data, known = weighted(counts[:, kept]), words[kept].tolist()

        def job(data: csr_array = data, names: list[str] = known) -> list[dict[str, Any]]:
            return _topics(data, names, certify=not run.quick)

        about = {
            "collection": name,
            "documents": data.shape[0],
            "words": words.size,
            "kept": data.shape[1],
            "density": data.nnz / (data.shape[0] * data.shape[1]),
        }
        for topic in run.part(name, job):
            rows.append({**about, **topic})
            run.say(f"{name} {topic['topic']}: {' '.join(topic['list'])}")
    return rows


def _topics(data: csr_array, names: list[str], *, certify: bool) -> list[dict[str, Any]]:
    """Find topics one after the other, each among the words that the earlier ones left."""
    operator = certpca.from_data(data, names=names)
    left, loadings, topics = np.arange(operator.size), np.zeros((operator.size, 5)), []
    for number in range(loadings.shape[1]):
        problem = operator.restrict(left)
        part = certpca.solve(problem, 10)
        gap = None
        if certify:
            gap = certpca.certify(problem, 10, solution=part, budget=certpca.Budget(seconds=SECONDS)).gap
        words = left[part.support]
        loadings[words, number] = part.loadings
        left = np.setdiff1d(left, words)
        order = np.argsort(-np.abs(part.loadings))
        listed = [("" if part.loadings[place] > 0 else "−") + names[words[place]] for place in order]
        topics.append({"topic": number + 1, "gap": gap, "list": listed})
    scores = loadings.T @ np.asarray(operator.matmat(loadings))
    adjusted = np.diag(np.linalg.cholesky((scores + scores.T) / 2)) ** 2 / operator.trace()
    return [{**topic, "share": float(share)} for topic, share in zip(topics, adjusted, strict=True)]


def render(rows: list[dict[str, Any]]) -> None:
    """Write the words as a page."""
    lines = [
        f"# {TITLE}",
        "",
        "Written by `python -m experiments topics`. Supports are disjoint, and the matrix of documents "
        "x words stays sparse. "
        "Both collections are",
        "prepared by the same rules:",
        "",
        f"- A word is kept if at least {REPEATED:.0%} of the documents that use it do so more than once: "
        "what a text is about "
        "comes up again, whereas words",
        "  of headers and signatures (posting, host, nntp, university, reply) and colourless ones "
        "(made, find, thing) come "
        "once.",
        f"- {len(ADDRESSES)} parts of internet addresses, which are quoted with every answer, are left out by hand: "
        f"{', '.join(sorted(ADDRESSES))}.",
        "- Counts become log(1 + count) · log(documents / documents with the word), and documents are "
        "scaled to unit length.",
        "",
        "What was tried: limits of 25%, 30% and 35%, each with and without the weight for rare words, "
        "and several lists of "
        "addresses. These rules were kept",
        "because their topics read best, so this page shows what can be had with some care, not what a "
        "first try gives.",
        "",
        "The share is that of the total variance, beyond the topics before. The gap is how far from the "
        "best ten words that "
        "were left a topic can be at",
        f"most, after {SECONDS} seconds of proving. A minus sign marks words that speak against the topic.",
    ]
    for name in dict.fromkeys(row["collection"] for row in rows):
        mine = [row for row in rows if row["collection"] == name]
        first = mine[0]
        lines += [
            "",
            f"## {name}, {first['documents']:,} x {first['kept']:,} of {first['words']:,} words",
            "",
            f"{first['density']:.1%} of the entries are not zero.",
            "",
            "| topic | share | proved gap | words |",
            "|--:|--:|--:|---|",
        ]
        for row in mine:
            gap = "–" if row["gap"] is None else f"{row['gap']:.1%}"
            lines.append(f"| {row['topic']} | {row['share']:.2%} | {gap} | {', '.join(row['list'])} |")
    pages.write("topics", lines)
