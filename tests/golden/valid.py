"""Small certificates of every kind and every way from data to matrix, as the searches make them.

Searches offer many certificates on the way to the best one. Here all of them are kept, and limits are set so that small
data are treated like large ones.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from unittest import mock

import numpy as np

import certpca
from certpca import Certificate, Constraints, SetCertificate
from certpca.bounds.makers import pair_rows, pair_rows_later, search_tree
from certpca.bounds.proving import ROUNDED_UP, Prover
from certpca.bounds.sdp import solve as relaxation_solver
from certpca.bounds.sets.counts.search import CountSearch
from certpca.bounds.sets.makers import priced_regions as regions_of_directions
from certpca.bounds.sets.paired.search import PairedSearch
from certpca.bounds.sets.search import SetSearch
from certpca.checker import examine, fingerprint
from certpca.checker.matrix import in_words
from certpca.results.certificate import Source
from certpca.results.constraints import FREE
from certpca.results.evidence_forms import within
from certpca.runtime.limits import with_limits
from tests.brute_force import best_allowed

Any_ = Certificate | SetCertificate


# --- data -------------------------------------------------------------------------------------------------------------


@cache
def data() -> dict[str, np.ndarray]:
    """Return the data files by name."""
    rng = np.random.default_rng(5)
    wide = rng.standard_normal((12, 3)) @ rng.standard_normal((3, 20)) * 0.8 + rng.standard_normal((12, 20))
    tall = rng.standard_normal((40, 3)) @ rng.standard_normal((3, 10)) + rng.standard_normal((40, 10))
    noise = rng.standard_normal((18, 16))
    spiked = rng.standard_normal((7, 9))
    spiked[:, :3] += 3.0 * rng.standard_normal((7, 1))
    half = rng.standard_normal((8, 8))
    holes = tall[:15].copy()
    holes[[2, 7, 9], [0, 4, 4]] = np.nan
    counts = rng.integers(0, 3, (15, 12)).astype(np.int8)
    counts[:, :4] = np.clip(counts[:, :1] + rng.integers(0, 2, (15, 4)), 0, 2)
    gaps = counts.copy()
    gaps[[1, 4, 8], [2, 2, 7]] = -9
    words = (rng.random((200, 12)) < np.linspace(0.01, 0.3, 12)).astype(np.int8)
    words[:, 0] |= words[:, 9]
    words[::67, 11] = 40
    places = np.arange(9)
    return {
        "wide.npy": np.round(wide, 3),
        "tall.npy": np.round(tall, 3),
        "noise.npy": np.round(noise, 3),
        "spiked.npy": np.round(spiked, 3),
        "ladder.npy": np.linalg.cholesky(0.8 ** np.abs(places[:, None] - places)).T.copy(),
        "pitprops.npy": np.asarray(certpca.pitprops().submatrix(np.arange(13))),
        "indefinite.npy": np.round(half + half.T, 3),
        "holes.npy": np.round(holes, 3),
        "counts.npy": counts,
        "gaps.npy": gaps,
        "words.npy": words,
        "table.csv": np.round(tall[:20, :6], 3),
    }


# --- the certificates of a search -------------------------------------------------------------------------------------


@contextmanager
def kept() -> Iterator[list[Any_]]:
    """Keep all certificates that are proved meanwhile."""
    found: list[Any_] = []

    def keeping(prove: Callable[..., Any_]) -> Callable[..., Any_]:
        def both(*given: Any, **named: Any) -> Any_:
            found.append(prove(*given, **named))
            return found[-1]

        return both

    with (
        mock.patch.object(Prover, "prove", keeping(Prover.prove)),
        mock.patch.object(SetSearch, "proved", keeping(SetSearch.proved)),
    ):
        yield found


def best(kind: str, search: Callable[[], Any], *, screened: bool = False) -> Any_:
    """Return the best certificate of a kind that a search proves, with or without screening."""
    with kept() as found:
        search()
    fitting = [
        one
        for one in found
        if one.kind == kind and screened == any(name.startswith("screen_") for name in one.evidence)
    ]
    return min(fitting, key=lambda one: one.upper_bound)


@contextmanager
def as_if(*, trees: bool = True, regions: bool = True, **limits: Any) -> Iterator[None]:
    """Treat small data like large ones, perhaps without the makers that search supports, or regions at prices."""
    with ExitStack() as stack:
        stack.enter_context(with_limits(**{"few_features": 8, "always_optimal": 0, "searched_supports": 0, **limits}))
        if not trees:
            for maker in (pair_rows, pair_rows_later, search_tree):
                stack.enter_context(mock.patch.object(maker, "applies", return_value=False))
        if not regions:
            stack.enter_context(mock.patch.object(regions_of_directions, "applies", return_value=False))
        yield


def closed_form(kind: str, operator: Any, sparsity: int) -> Any_:
    """Return a certificate without evidence."""
    found = certpca.solve(operator, sparsity)
    return Prover(operator, sparsity).prove(kind, {}, found.support, found.loadings)


def claimed(
    source: Source,
    kind: str,
    sparsity: int,
    evidence: dict[str, Any],
    tree: Any = None,
    constraints: Constraints = FREE,
) -> Certificate:
    """Return a certificate with evidence made by hand, for the best support there is."""
    matrix = exact_matrix(source)
    support = best_allowed(matrix, sparsity, constraints)[1]
    loadings = np.linalg.eigh(matrix[np.ix_(support, support)])[1][:, -1]
    loadings = np.abs(loadings) if constraints.nonnegative else loadings
    draft = Certificate(
        kind=kind,
        size=matrix.shape[0],
        sparsity=sparsity,
        upper_bound=np.inf,
        matrix=in_words(source),
        normalisation=source.normalisation(),
        fingerprint=fingerprint(source),
        support=support,
        loadings=loadings,
        evidence=evidence,
        tree=tree,
        constraints=constraints,
    )
    proof = examine(draft, source)
    return replace(
        draft,
        upper_bound=proof.claimable * (1 + ROUNDED_UP),
        objective=proof.objective,
        outside=int(proof.outside.size),
        inside=int(proof.inside.size),
    )


def exact_matrix(source: Source) -> np.ndarray:
    """Return the matrix that data and a normalisation give, as the format describes it."""
    values = np.asarray(source.values, dtype=np.float64)
    if source.kind == "matrix":
        return (values + values.T) / 2
    hole = np.isnan(values) if source.missing is None else values == source.missing
    filled = np.where(hole, 0.0, values)
    shares = np.ones(len(values)) if source.weights is None else np.array(source.weights) / np.mean(source.weights)
    mean = shares @ filled / (shares @ ~hole) if source.center else np.zeros(values.shape[1])
    centred = np.where(hole, 0.0, filled - mean) * np.sqrt(shares)[:, None]
    if source.scale is True:
        centred /= np.linalg.norm(centred, axis=0)
        return np.asarray(centred.T @ centred)
    if source.scale == "2pq":
        centred /= np.sqrt(mean * (1 - mean / 2))
    return np.asarray(centred.T @ centred / source.divisor)


def covariance(values: np.ndarray) -> Source:
    """Return centred data, divided by one less than their rows."""
    return Source("data", values, center=True, divisor=float(values.shape[0] - 1))


def every_way(values: np.ndarray) -> Certificate:
    """Return a tree by hand, with every operation and every leaf: "noise.npy" has 16 features."""
    size, k = values.shape[1], 6
    matrix = exact_matrix(covariance(values))
    scale = float(np.diagonal(matrix).mean())
    pairs = np.triu(matrix) / scale + 0.01 * np.tril(np.sin(np.arange(size * size)).reshape(size, size), -1)
    point = {"features": np.arange(size), "pairs": pairs.astype(np.float32), "alpha": np.full(size, 0.8, np.float32)}
    tree = [
        [{"fix": "pairs", "point": 0, "out": [0], "in": [7]}, {"split": 1, "in": 1, "out": 2}],
        [{"fix": "squares", "shift": 0.5, "out": [2], "in": []}, {"split": 3, "in": 3, "out": 4}],
        [{"leaf": "cheapest", "shift": 0.25, "point": 0}],
        [{"leaf": "squares", "shift": 0.5, "alpha": 0.75}],
        [{"split": 4, "in": 5, "out": 6}],
        [{"split": 5, "in": 7, "out": 8}],
        [{"leaf": "pairs", "point": 0}],
        [{"leaf": "eigenvalue"}],
        [{"split": 6, "in": 9, "out": 10}],
        [{"leaf": "list"}],
        [{"leaf": "trace"}],
    ]
    evidence = {"scale": np.float64(scale), **within("point0", point)}
    return claimed(covariance(values), "search-tree", k, evidence, tree)


def constrained_ways(values: np.ndarray) -> Certificate:
    """Return a tree by hand under every constraint: "noise.npy" has 16 features, of which 13 are left."""
    asked = Constraints(include=(3,), exclude=(0, 8), groups=((1, 2), (4, 5, 6), (8, 9)), nonnegative=True)
    kept = asked.kept(16)
    matrix = exact_matrix(covariance(values))[np.ix_(kept, kept)]
    scale = float(np.diagonal(matrix).mean())
    raised = np.maximum(-matrix, 0.0)
    own = np.maximum(-0.5 * matrix, 0.0)
    tree = [
        [{"split": 0, "in": 1, "out": 2}],  # feature 1, and 2 with it
        [{"leaf": "list"}],
        [{"split": 3, "in": 3, "out": 4}],  # feature 4, and its group
        [{"leaf": "raised", "raised": 0}],
        [{"fix": "squares", "shift": 0.5, "out": [7], "in": []}, {"split": 8, "in": 5, "out": 6}],
        [{"leaf": "cheapest", "shift": 0.5}],
        [{"leaf": "eigenvalue"}],
    ]
    evidence = {"scale": np.float64(scale), "raised": raised, "raise0_features": np.arange(13), "raise0_entries": own}
    return claimed(covariance(values), "search-tree", 5, evidence, tree, asked)


def priced_ways(values: np.ndarray) -> SetCertificate:
    """Return parts by hand, with a split and every leaf that prices have: "tall.npy" has 10 features."""
    plain = _set("priced-trees", 2, [3, 2], "disjoint")(values)
    assert isinstance(plain, SetCertificate)
    size = values.shape[1]
    matrix = exact_matrix(covariance(values))
    scale, prices = float(np.diagonal(matrix).mean()), plain.evidence["leaf0_prices"]
    shown = np.triu(matrix) / scale + 0.01 * np.tril(np.cos(np.arange(size * size)).reshape(size, size), -1)
    point = {"features": np.arange(size), "pairs": shown.astype(np.float32), "alpha": np.full(size, 0.7, np.float32)}
    arrays = {"scale": np.float64(scale), **within("point0", point)}
    squares = {"shift": 0.5, "alpha": 0.75}
    ways = [
        [{"fix": "pairs", "point": 0, "out": [0], "in": []}, {"split": 1, "in": 1, "out": 2}],
        [{"leaf": "cheapest", **squares, "point": 0}],
        [{"fix": "squares", **squares, "out": [], "in": [2]}, {"split": 3, "in": 3, "out": 4}],
        [{"leaf": "trace"}],
        [{"split": 4, "in": 5, "out": 6}],
        [{"leaf": "pairs", "point": 0}],
        [{"split": 6, "in": 7, "out": 8}],
        [{"leaf": "squares", **squares}],
        [{"leaf": "eigenvalue"}],
    ]
    listed = [[{"leaf": "list"}]]
    tree = [
        {"split": 8, "none": 1, "into": [[0, 2], [1, 3]]},
        {"leaf": 0, "slots": [ways, listed]},
        {"leaf": 1, "slots": [listed, listed]},
        {"leaf": 2, "slots": [listed, listed]},
    ]
    evidence: dict[str, Any] = {}
    for leaf in range(3):
        evidence[f"leaf{leaf}_prices"] = prices
        for slot in range(2):
            own = arrays if (leaf, slot) == (0, 0) else {"scale": arrays["scale"]}
            evidence |= within(f"leaf{leaf}_slot{slot}", own)
    return _proved(plain, values, tree, evidence)


def priced_directions(values: np.ndarray) -> SetCertificate:
    """Return prices of features and of directions in one leaf."""
    plain = _set("priced-trees", 2, [3, 2], "disjoint")(values)
    assert isinstance(plain, SetCertificate)
    return _proved(plain, values, *_descended(plain, values).certificate())


def priced_counts(values: np.ndarray) -> SetCertificate:
    """Return parts by how many of two blocks components have."""
    plain = _set("priced-trees", 2, [3, 3], "disjoint")(values)
    assert isinstance(plain, SetCertificate)
    whole = _descended(plain, values)
    contested = np.sort(np.concatenate(plain.supports))
    rest = np.setdiff1d(np.arange(values.shape[1]), contested)
    search = CountSearch(whole, (3, 3), [contested[:4], rest[:2]], 0.0, lambda trees: trees > 7)
    search.run(lambda bound: None)
    return _proved(plain, values, *search.certificate())


def _descended(plain: SetCertificate, values: np.ndarray) -> PairedSearch:
    loadings = np.zeros((values.shape[1], len(plain.supports)))
    for column, support, own in zip(loadings.T, plain.supports, plain.loadings, strict=True):
        column[support] = own
    search = PairedSearch(exact_matrix(covariance(values)), plain.sparsities, loadings, lambda: False, apart=True)
    search.run(0.0)
    return search


def _proved(plain: SetCertificate, values: np.ndarray, tree: Any, evidence: dict[str, Any]) -> SetCertificate:
    draft = replace(plain, evidence=evidence, tree=tree, upper_bound=np.inf)
    proof = examine(draft, covariance(values))
    return replace(draft, upper_bound=proof.claimable * (1 + ROUNDED_UP), objective=proof.objective)


# --- the list ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Valid:
    """A valid certificate: the name of its file, its data, what it shows, and how it is made."""

    name: str
    data: str
    shows: str
    make: Callable[[Any], Any_]
    covariance: bool = False
    later: bool = False  # constraints, weights or a later kind, which not every checker knows


def _certify(kind: str, sparsity: int, *, screened: bool = False, **options: Any) -> Callable[[Any], Any_]:
    return lambda values: best(kind, lambda: certpca.certify(values, sparsity, **options), screened=screened)


def _large(kind: str, sparsity: int, limits: dict[str, Any] | None = None, **options: Any) -> Callable[[Any], Any_]:
    def make(values: Any) -> Any_:
        with as_if(**(limits or {})):
            return _certify(kind, sparsity, **options)(values)

    return make


def _parted(values: Any) -> Any_:
    with mock.patch.object(relaxation_solver, "FEW", 0):
        return best("sdp-dual", lambda: certpca.solve(values, 3, "sdp-threshold"))


def _set(
    kind: str, count: int, sparsity: Any, together: str, gap: float = 1e-6, **limits: Any
) -> Callable[[Any], Any_]:
    def search(values: Any) -> Any:
        return certpca.decompose(values, count, sparsity, together=together, certify=True, target_gap=gap)

    def make(values: Any) -> Any_:
        if not limits:
            return best(kind, lambda: search(values))
        with as_if(**limits):
            return best(kind, lambda: search(values))

    return make


def _asked(kind: str, sparsity: int, limits: dict[str, Any] | None = None, **options: Any) -> Callable[[Any], Any_]:
    """Return the last certificate of a search: those on the way do not state what is left out."""

    def make(values: Any) -> Any_:
        with as_if(**limits) if limits else ExitStack():
            found = certpca.certify(values, sparsity, **options)
        assert found.kind == kind, found.kind
        return found

    return make


def weighted_set(values: np.ndarray) -> Any_:
    """Return a certificate of two components of weighted samples."""
    weights = np.linspace(0.2, 2.0, len(values))
    return best(
        "priced-trees",
        lambda: certpca.decompose(values, 2, [3, 2], together="disjoint", certify=True, sample_weight=weights),
    )


NO_TREES: dict[str, Any] = {"trees": False}
SMALL_LEVELS: dict[str, Any] = {"trees": False, "constrained_supports": 0}
DEEP: dict[str, Any] = {"trees": False, "largest_factored": 8}

VALID = (
    Valid(
        "trace",
        "indefinite.npy",
        "a given matrix with negative eigenvalues, whose factor is not exact",
        lambda values: claimed(Source("matrix", values), "trace", 3, {}),
        covariance=True,
    ),
    Valid(
        "row-sums",
        "pitprops.npy",
        "a given matrix",
        lambda values: closed_form("row-sums", certpca.from_matrix(values), 2),
        covariance=True,
    ),
    Valid(
        "largest-eigenvalue",
        "wide.npy",
        "correlations",
        lambda values: closed_form("largest-eigenvalue", certpca.from_data(values, scale=True), 15),
    ),
    Valid("l0-dual", "wide.npy", "a density with roots", _large("l0-dual", 5, {"few_features": 512}, branching=False)),
    Valid(
        "l0-dual-screened",
        "tall.npy",
        "a first point leaves features out; a square root as factor",
        _certify("l0-dual", 3, screened=True, target_gap=1e-6),
    ),
    Valid(
        "l0-tree",
        "wide.npy",
        "regions of directions",
        _large("l0-tree", 5, NO_TREES, branching="directions", target_gap=0.005),
    ),
    Valid(
        "l0-tree-screened",
        "wide.npy",
        "regions of directions for the features that are left",
        _large("l0-tree", 5, {"few_features": 512}, branching="directions", target_gap=0.005, screened=True),
    ),
    Valid("l0-reduced", "wide.npy", "six of twelve directions", _large("l0-reduced", 5, depth=6)),
    Valid(
        "l0-reduced-random",
        "wide.npy",
        "the same, by random vectors",
        _large("l0-reduced-random", 5, {"largest_factored": 8}, depth=6),
    ),
    Valid("l0-level", "wide.npy", "a matrix as level", _large("l0-level", 5, NO_TREES, target_gap=1e-6)),
    Valid(
        "l0-level-uncentred",
        "wide.npy",
        "data that are not centred, divided by their number of rows",
        _large("l0-level", 4, NO_TREES, target_gap=1e-6, center=False),
    ),
    Valid("l0-level-random", "wide.npy", "the same, by random vectors", _large("l0-level-random", 5, DEEP)),
    Valid("count-tree", "wide.npy", "cells of counts", _large("count-tree", 5, NO_TREES, target_gap=0.003)),
    Valid(
        "search-tree",
        "pitprops.npy",
        "the optimum, for a given matrix",
        lambda values: best("search-tree", lambda: certpca.certify(values, 6, covariance=True)),
        covariance=True,
    ),
    Valid(
        "search-tree-pairs",
        "noise.npy",
        "a point of pairs that decides features",
        _certify("search-tree", 6, target_gap=1e-6),
    ),
    Valid("search-tree-ways", "noise.npy", "every operation and every leaf, by hand", every_way),
    Valid(
        "search-tree-screened",
        "tall.npy",
        "features numbered among those left",
        _certify("search-tree", 3, screened=True, target_gap=1e-6),
    ),
    Valid("pair-rows", "wide.npy", "rows, then a tree", _large("pair-rows", 5, target_gap=1e-6)),
    Valid(
        "sdp-dual-dense",
        "ladder.npy",
        "the relaxation, dense, uncentred",
        lambda values: best("sdp-dual", lambda: certpca.solve(values, 3, "sdp-threshold", center=False)),
    ),
    Valid(
        "sdp-dual-clipped",
        "spiked.npy",
        "the relaxation, clipped",
        lambda values: best("sdp-dual", lambda: certpca.solve(values, 3, "sdp-threshold")),
    ),
    Valid("sdp-dual-parted", "wide.npy", "the relaxation, completed beside some features", _parted),
    Valid("missing-code", "gaps.npy", "-9 is missing", _certify("search-tree", 4, missing="mean")),
    Valid(
        "missing-nan",
        "holes.npy",
        "NaN is missing, correlations",
        _certify("search-tree", 4, missing="mean", scale=True),
    ),
    Valid("alleles", "counts.npy", "scaled by allele frequencies", _certify("search-tree", 4, scale="2pq")),
    Valid("thin-columns", "words.npy", "columns hashed without their zeros", _certify("search-tree", 3)),
    Valid("table", "table.csv", "a table of text", _certify("search-tree", 2)),
    Valid("priced-trees", "tall.npy", "disjoint supports", _set("priced-trees", 2, [3, 2], "disjoint")),
    Valid("priced-trees-ways", "tall.npy", "a split, and every leaf at prices, by hand", priced_ways),
    Valid("priced-directions", "tall.npy", "disjoint supports, with prices of directions", priced_directions),
    Valid("priced-counts", "tall.npy", "disjoint supports, by how many of a block each has", priced_counts, later=True),
    Valid("matrix-prices", "tall.npy", "orthogonal loadings", _set("matrix-prices", 2, 6, "orthogonal")),
    Valid("shared-level", "wide.npy", "one choice of features", _set("shared-level", 2, 4, "shared", few_features=8)),
    Valid(
        "shared-split",
        "wide.npy",
        "one choice of features, some directions apart",
        _set("shared-split", 2, 4, "shared", few_features=8),
        later=True,
    ),
    Valid(
        "uncorrelated-level",
        "wide.npy",
        "uncorrelated scores",
        _set("uncorrelated-level", 2, 4, "uncorrelated", few_features=8),
    ),
    Valid(
        "priced-level",
        "wide.npy",
        "prices and a level",
        _set("priced-level", 2, 4, "disjoint", few_features=8, regions=False),
    ),
    Valid(
        "priced-regions",
        "wide.npy",
        "prices, and a level in each region of directions",
        _set("priced-regions", 2, 4, "disjoint", 0.05, few_features=8, small_supports=1),
        later=True,
    ),
    Valid("sum-of-singles", "tall.npy", "single certificates", _set("sum-of-singles", 2, [3, 2], "uncorrelated")),
    Valid(
        "sum-of-singles-random",
        "wide.npy",
        "single certificates, by random vectors",
        _set("sum-of-singles-random", 2, 4, "orthogonal", **DEEP),
    ),
    Valid(
        "constraints",
        "tall.npy",
        "features in and out, groups, no negative loadings",
        _asked("search-tree", 4, include=[1], exclude=[0], groups=[[2, 3], [5, 6]], nonnegative=True),
        later=True,
    ),
    Valid("constraints-ways", "noise.npy", "groups in nodes, entries raised, by hand", constrained_ways, later=True),
    Valid(
        "forced-in",
        "pitprops.npy",
        "a tree that begins with two features",
        _asked("search-tree", 6, covariance=True, include=[11, 12]),
        covariance=True,
        later=True,
    ),
    Valid(
        "forced-in-counts",
        "wide.npy",
        "cells of counts with features forced in",
        _asked("count-tree", 4, {"few_features": 4, "constrained_supports": 0}, include=[2, 11], target_gap=0.003),
        later=True,
    ),
    Valid(
        "left-out",
        "wide.npy",
        "fewer features are left than there are samples: a square root as factor",
        _asked("l0-level", 5, SMALL_LEVELS, exclude=list(range(0, 18, 2)), target_gap=0.01, branching=False),
        later=True,
    ),
    Valid(
        "weights",
        "wide.npy",
        "weights of samples, one of them zero, correlations",
        _certify("search-tree", 3, scale=True, sample_weight=[0.0, 0.1, *range(1, 11)]),
        later=True,
    ),
    Valid(
        "weights-missing",
        "holes.npy",
        "weights, and missing values that take the weighted mean",
        _certify("search-tree", 3, missing="mean", sample_weight=[1.0, 3.0, 0.5] * 5),
        later=True,
    ),
    Valid("weights-set", "tall.npy", "weights, disjoint supports", weighted_set, later=True),
)
