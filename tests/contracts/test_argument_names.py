"""One name for each thing, and one order, in every public signature; CONTRIBUTING.md has the same table."""

import argparse
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import certpca
from certpca.frontends.cli.commands import commands
from certpca.frontends.estimators import sparse_kernel_pca, sparse_pca
from certpca.intake import DataOptions

# Where several of these are in one signature, they come in this order.
ORDER = [
    "data",
    "n_components",
    "sparsity",
    "sparsities",
    "solver",
    "include",
    "exclude",
    "groups",
    "nonnegative",
    "certify",
    "target_gap",
    "rng",
    "random_state",
    "time_limit",
    "budget",
    "memory",
    "listener",
    "checkpoint",
]
DATA_OPTIONS = ["center", "scale", "missing", "ddof", "sample_weight", "device", "client", "names"]
# What the things above must not be called.
OTHER_NAMES = {
    "X",  # but in methods that scikit-learn names
    "k",
    "cardinality",
    "n_nonzero",
    "ncomp",
    "num_components",
    "algorithm",
    "prove",
    "certificate_gap",
    "gap",
    "tol",
    "tolerance_gap",
    "seed",
    "random_seed",
    "seconds_limit",
    "timeout",
    "max_seconds",
    "max_time",
    "callback",
    "progress_callback",
    "resume",
    "state_dir",
    "max_memory",
    "memory_limit",
}
VERBS = ["solve", "certify", "path", "decompose", "choose_sparsity", "solve_sdp"]
SEARCHING = [verb for verb in VERBS if verb != "solve_sdp"]
ESTIMATORS = ["SparsePCA", "SparseKernelPCA"]
CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"


def signatures() -> Iterator[tuple[str, inspect.Signature]]:
    for name in certpca.__all__:
        thing: Any = getattr(certpca, name)
        if inspect.isfunction(thing) or name in ESTIMATORS:
            yield name, inspect.signature(thing)
    yield "tl.spca", inspect.signature(certpca.tl.spca)
    for name, solver in certpca.available_solvers().items():
        yield name, inspect.signature(solver)


SIGNATURES = dict(signatures())


@pytest.mark.parametrize("name", SIGNATURES)
def test_shared_arguments_have_one_name_and_one_order(name: str) -> None:
    asked = list(SIGNATURES[name].parameters)
    assert not OTHER_NAMES & set(asked)
    for order in (ORDER, DATA_OPTIONS):
        shared = [argument for argument in asked if argument in order]
        assert shared == sorted(shared, key=order.index)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_the_same(verb: str) -> None:
    asked = SIGNATURES[verb].parameters
    assert {"target_gap", "time_limit", "budget", "listener"} <= set(asked)
    positional = [name for name, parameter in asked.items() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    assert set(positional) <= {"data", "n_components", "sparsity", "sparsities", "solver"}
    if verb in SEARCHING:
        assert {"solver", "rng", "checkpoint"} <= set(asked)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_take_names_alone_and_components_first(name: str) -> None:
    asked = SIGNATURES[name].parameters
    assert list(asked)[:3] == ["n_components", "sparsity", "solver"]
    assert {parameter.kind for parameter in asked.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert {"certify", "target_gap", "random_state", "time_limit"} <= set(asked)


def options_of(command: Any) -> set[str]:
    parser = argparse.ArgumentParser()
    command.add_options(parser)
    return {flag.removeprefix("--").replace("-", "_") for action in parser._actions for flag in action.option_strings}


def test_the_command_line_uses_the_same_words() -> None:
    known = {argument for asked in SIGNATURES.values() for argument in asked.parameters}
    for name in ("solve", "certify", "path"):
        options = options_of(commands()[name])
        assert {"solver", "target_gap", "time_limit", "checkpoint", "memory", "device", "missing", "seed"} <= options
        assert not options & (OTHER_NAMES - {"k", "seed"})  # -k, and --seed, which on a command line is a number
        assert {"target_gap", "time_limit", "checkpoint", "memory"} <= known


def test_the_table_for_developers_names_them_all() -> None:
    text = CONTRIBUTING.read_text(encoding="utf-8")
    table = text[text.index("### Names of arguments") :].split("\n## ")[0]
    told = set(re.findall(r"`(\w+)`", table))
    assert {*ORDER, *DATA_OPTIONS} <= told
    assert list(DataOptions.__annotations__) == ["covariance", *DATA_OPTIONS, "reading"]


WRONG: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (certpca.solve, {"taget_gap": 0.1}, "solve has no argument 'taget_gap'; did you mean 'target_gap'?"),
    (certpca.solve, {"seed": 1}, "solve has no argument 'seed'; did you mean 'rng'?"),
    (certpca.solve, {"random_state": 1}, "solve has no argument 'random_state'; did you mean 'rng'?"),
    (certpca.solve, {"centre": True}, "solve has no argument 'centre'; did you mean 'center'?"),
    (certpca.certify, {"timelimit": 1}, "certify has no argument 'timelimit'; did you mean 'time_limit'?"),
    (certpca.path, {"callback": print}, "path has no argument 'callback'; did you mean 'listener'?"),
    (certpca.decompose, {"n_component": 3}, "decompose has no argument 'n_component'; did you mean 'n_components'?"),
    (certpca.choose_sparsity, {"fold": 3}, "choose_sparsity has no argument 'fold'; did you mean 'folds'?"),
    (certpca.solve_sdp, {"gap": 0.1}, "solve_sdp has no argument 'gap'; did you mean 'target_gap'?"),
    (certpca.verify, {"max_gaps": 0.1}, "verify has no argument 'max_gaps'; did you mean 'max_gap'?"),
    (certpca.SparsePCA, {"alpha": 1}, "SparsePCA has no argument 'alpha'; did you mean 'sparsity'?"),
    (certpca.SparsePCA, {"rng": 1}, "SparsePCA has no argument 'rng'; did you mean 'random_state'?"),
    (certpca.SparseKernelPCA, {"gama": 1}, "SparseKernelPCA has no argument 'gama'; did you mean 'gamma'?"),
    (certpca.solve, {"purple": 1}, "solve has no argument 'purple'"),
]


@pytest.mark.parametrize(("function", "given", "message"), WRONG)
def test_a_wrong_name_is_refused_before_anything_else(
    function: Callable[..., Any], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(certpca.UnknownArgumentError) as caught:
        function(**given)
    assert str(caught.value) == message
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("made", [sparse_pca.SparsePCA, sparse_kernel_pca.SparseKernelPCA])
def test_a_number_by_position_is_refused_with_what_to_write(made: Any) -> None:
    name = made.__name__
    with pytest.raises(TypeError, match=rf"{name} takes its .*; write {name}\(n_components=5, sparsity=…\)"):
        made(5)
    assert made(n_components=5).get_params()["n_components"] == 5


def test_a_wrong_solver_is_refused_with_the_nearest() -> None:
    with pytest.raises(certpca.InvalidProblemError, match="did you mean 'branch-and-bound'"):
        certpca.solve(certpca.pitprops(), 3, "branch_and_bound")
    with pytest.raises(certpca.InvalidProblemError, match="did you mean 'target_gap'"):
        certpca.solver_named("branch-and-bound", gap=0.1)


NO_EFFECT: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (certpca.solve, {"sparsity": 3, "target_gap": 0.1}, "target_gap=0.1 would have no effect"),
    (certpca.path, {"sparsities": [3], "target_gap": 0.1}, "target_gap=0.1 would have no effect"),
    (certpca.decompose, {"n_components": 2, "sparsity": 3, "target_gap": 0.1}, "target_gap=0.1 would have no effect"),
    (certpca.choose_sparsity, {"target_gap": 0.1}, "target_gap=0.1 would have no effect"),
    (certpca.choose_sparsity, {"folds": 5}, "folds=5 would have no effect"),
    (certpca.choose_sparsity, {"subsamples": 5}, "subsamples=5 would have no effect"),
    (certpca.choose_sparsity, {"stable": 0.5}, "stable=0.5 would have no effect"),
    (
        certpca.decompose,
        {"n_components": 2, "sparsity": 3, "together": "disjoint", "deflation": "schur"},
        "deflation='schur' would have no effect",
    ),
    (
        certpca.decompose,
        {"n_components": 2, "sparsity": 3, "together": "shared", "solver": "auto"},
        "solver='auto' would have no effect",
    ),
    (certpca.decompose, {"n_components": 2, "total": 3}, "total=3 would have no effect"),
    (
        certpca.certify,
        {"sparsity": 3, "solver": "truncated-power", "solution": certpca.solve(certpca.pitprops(), 3)},
        "solver='truncated-power' would have no effect: a solution is given",
    ),
    (certpca.solve, {"sparsity": 3, "time_limit": 5, "budget": certpca.Budget()}, "time_limit, or a budget"),
]


@pytest.mark.parametrize(("function", "given", "message"), NO_EFFECT)
def test_what_would_have_no_effect_is_refused(
    function: Callable[..., Any], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(certpca.InvalidProblemError, match=message):
        function(certpca.pitprops(), **given)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target_gap": 0.1}, "target_gap=0.1 would have no effect"),
        ({"kernel": "linear", "gamma": 1.0}, "takes no parameters, got gamma"),
        ({"degree": 2}, "takes gamma, got degree"),
    ],
)
def test_so_do_estimators(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(certpca.InvalidProblemError, match=message):
        certpca.SparseKernelPCA(sparsity=2, **settings).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]])
