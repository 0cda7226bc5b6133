"""Text from the raw file to the figure: Associated Press, as one script that is run for this page."""

from typing import Any

from certpca.plots import styled
from experiments import pages, scripts
from experiments.data import SHARED
from experiments.running import Run

TITLE = "Text, from the raw file to the figure"
NEEDS = ("text_associated_press",)
STEPS: list[tuple[str, str]] = [
    (
        "2,246 articles of Associated Press, as counts of words: a sparse matrix and a list of words.",
        """
import numpy as np
from scipy.sparse import csr_array, load_npz
import certpca

counts = csr_array(load_npz(folder / "X.npz"))
words = np.array((folder / "vocab.txt").read_text().split())
print(counts.shape, f"{counts.nnz / np.prod(counts.shape):.1%} of the entries are not zero")
""",
    ),
    (
        "What an article is about comes up again in it: words are kept that a quarter of the articles with them use\n"
        "more than once. Counts become log(1 + count), rare words weigh more, and articles get unit length. The\n"
        "matrix stays sparse.",
        """
there = (counts > 0).sum(axis=0)
kept = (counts > 1).sum(axis=0) >= 0.25 * there
X, there = counts[:, kept].astype(float), there[kept]
X.data = np.log1p(X.data) * np.log(X.shape[0] / there)[X.indices]
X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), np.diff(X.indptr))
articles = certpca.from_data(X, names=words[kept])
print(articles.description)
""",
    ),
    (
        "How many components stand out of noise? Far more than anyone reads: text has many topics, each with little\n"
        "of the variance.",
        """
choice = certpca.choose_components(articles, method="marchenko-pastur")
print(choice)
print(f"the largest five: {', '.join(f'{value / choice.total:.2%}' for value in choice.eigenvalues[:5])}")
""",
    ),
    (
        "How few words tell 90 % of what the leading dense component tells about all words?",
        """
few = certpca.choose_sparsity(articles, [1, 2, 5, 10, 20, 40, 80, 160], method="share", share=0.9)
print(few)
""",
    ),
    (
        "Five topics of ten words, chosen together so that no word is in two of them, and a bound for the set: no\n"
        "other five such topics hold more variance than that. The verdict says how far from the best they can be.",
        """
topics = certpca.decompose(articles, 5, 10, together="disjoint", certify=True, time_limit=seconds)
for part in topics.components:
    order = np.argsort(-np.abs(part.loadings))
    print(" ".join(("" if part.loadings[j] > 0 else "−") + part.names[j] for j in order))
print(topics.verdict())
""",
    ),
    (
        "Which words of one topic would other articles give? Best in this sample, and found again in others, are two\n"
        "statements.",
        """
first = certpca.solve(articles, 10, certify=True, time_limit=seconds)
again = certpca.stability(articles, 10, solution=first, subsamples=halves)
print(again)
""",
    ),
    (
        "The figures, on axes of your own, and a report that anyone can read.",
        """
from matplotlib import pyplot

figure, axes = pyplot.subplots(1, 2, figsize=(12, 9), layout="constrained")
topics.plot("heatmap", axes[0])
again.plot(axes[1])
facts = certpca.write_report(topics, report, data=articles, title="Topics of Associated Press")
print("refused" if facts.refused else "verified by the checker and written")
""",
    ),
]


def compute(run: Run) -> list[dict[str, str]]:
    """Run the script."""
    report = run_folder() / "associated_press.html"
    known: dict[str, Any] = {
        "folder": SHARED / NEEDS[0],
        "seconds": 10 if run.quick else 120,
        "halves": 4 if run.quick else 20,
        "report": report,
    }
    with styled():
        done = scripts.executed(STEPS, known)
        pages.save(known["figure"], "text")
    return done


def run_folder() -> Any:
    """Return where the report goes: it is not kept."""
    import tempfile
    from pathlib import Path

    return Path(tempfile.mkdtemp())


def render(done: list[dict[str, str]]) -> None:
    """Write the page."""
    lines = [
        f"# {TITLE}",
        "",
        "This page is a script, run from top to bottom by `python -m experiments text`; below each block stands what",
        "it printed. `folder` holds the two files, `seconds` is 120 and `halves` 20. [Topics](topics.md) has more on",
        "the words that were kept.",
        *scripts.written(done),
        "",
        "![words and topics, and which words are found again](figures/text.png)",
    ]
    pages.write("text", lines)
