# %% [markdown]
# # Text: what the documentation of SciPy is about
#
# Every Python with SciPy has a collection of texts: the descriptions of its functions. Which words go together?

# %%
import importlib
import inspect

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

import certpca

parts = "fft integrate interpolate linalg ndimage optimize signal sparse spatial special stats"
texts = {}
for part in parts.split():
    module = importlib.import_module(f"scipy.{part}")
    for name in module.__all__:
        text = inspect.getdoc(getattr(module, name)) or ""
        text = text.split("References\n")[0].split("Examples\n")[0]
        if len(text) > 400:
            texts[f"{part}.{name}"] = text
counter = CountVectorizer(token_pattern=r"\b[a-z]{4,}\b", stop_words="english", min_df=5, max_df=0.3)
counts = counter.fit_transform(texts.values())
X = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
words = counter.get_feature_names_out()
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.1%} of the entries are not zero")

# %% [markdown]
# Six topics of eight words, no word in two of them, chosen jointly. The matrix stays sparse.

# %%
articles = certpca.from_data(X, names=words)
topics = certpca.decompose(articles, 6, 8, together="disjoint", time_limit=60)
for topic in topics.components:
    order = np.argsort(-np.abs(topic.loadings))
    print(" ".join(("" if topic.loadings[j] > 0 else "−") + topic.names[j] for j in order))

# %% [markdown]
# The words that go together most, alone, with a proof how far from the best eight they can be:

# %%
first = certpca.solve(articles, 8, certify=True, target_gap=0.05, time_limit=60)
print(first)
print(f"no eight words capture more than {first.upper_bound:.5f}: a gap of at most {first.gap:.1%}")

# %% [markdown]
# Topics know nothing of modules, and yet each lives in one or two of them: the share of each topic's largest scores.

# %%
from matplotlib import pyplot

modules = np.array([name.split(".")[0] for name in texts])
names = sorted(set(modules))
scores = np.abs(topics.scores())
share = np.array([[(scores[modules == name, j] ** 2).sum() for name in names] for j in range(6)])
share /= share.sum(axis=1, keepdims=True)
titles = [" ".join(topic.names[j] for j in np.argsort(-np.abs(topic.loadings))[:3]) for topic in topics.components]
figure, ax = pyplot.subplots(figsize=(9, 3.4), layout="constrained")
shown = ax.imshow(share, cmap="Blues", vmin=0, aspect="auto")
ax.set_xticks(range(len(names)), names, rotation=30)
ax.set_yticks(range(6), titles)
figure.colorbar(shown, label="share of the topic's squared scores")

# %% [markdown]
# [Articles of Associated Press, from the raw file to a report](../docs/text.md); [topics beside those of other
# methods](../docs/topics.md).
