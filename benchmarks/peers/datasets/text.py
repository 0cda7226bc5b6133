"""A sparse matrix the shape of a text collection: 20,000 documents, 50,000 words, made with a fixed seed.

Words follow Zipf's law, a document mixes it with one of 25 topics, and entries are log(1 + count). Dense it would take
4 GB in float32; sparse it takes some ten.
"""

import numpy as np
from benchmarks.peers.problem import Case, Problem, sparse

DOCUMENTS, WORDS, TOPICS, TOPIC_WORDS = 20_000, 50_000, 25, 60
TOPIC_SHARE, COMMON_LENGTH, SPREAD = 0.3, 120, 0.6


def load() -> Problem:
    from scipy.sparse import coo_array

    rng = np.random.default_rng(0)
    zipf = 1.0 / np.arange(1, WORDS + 1) ** 1.05
    cumulative = np.cumsum(zipf) / zipf.sum()
    topics = rng.integers(100, 5000, size=(TOPICS, TOPIC_WORDS))
    lengths = np.maximum(rng.lognormal(np.log(COMMON_LENGTH), SPREAD, DOCUMENTS).astype(int), 5)
    popularity = 1.0 / np.arange(1, TOPICS + 1)
    topic = np.repeat(rng.choice(TOPICS, DOCUMENTS, p=popularity / popularity.sum()), lengths)
    words = np.minimum(np.searchsorted(cumulative, rng.random(topic.size)), WORDS - 1)
    on_topic = rng.random(topic.size) < TOPIC_SHARE
    drawn = topics[topic, rng.integers(0, TOPIC_WORDS, topic.size)]
    words = np.where(on_topic, drawn, words)
    documents = np.repeat(np.arange(DOCUMENTS), lengths)
    counts = coo_array((np.ones(words.size, dtype=np.float32), (documents, words)), shape=(DOCUMENTS, WORDS)).tocsr()
    counts.sum_duplicates()
    counts.data = np.log1p(counts.data)
    return sparse(counts)


CASES = [Case("text 20000 x 50000, sparse", WORDS, 50, load)]
