"""Whatever a file of results holds, it is used or refused in one line: no traceback, no command to a terminal."""

import copy
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import certpca
from certpca.frontends.cli.main import main
from certpca.results.codec import solution_from_dict, solution_to_dict
from certpca.results.errors import CertificateError
from certpca.results.files import load_path, load_reading, save_path
from certpca.results.json_files import read_json
from certpca.results.schema import SOLUTION_FORMAT, check_certificate, check_path, check_solution
from certpca.runtime.errors import CertpcaError, DataFileError, InvalidDataError

FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
MARKED = "[/foo] [bold]x[/bold] [link=file:///etc]y[/link] :smile: <b>&amp;</b> \x1b[31mred\x1b[0m\x07\x9b2J\ud800"


def written(fields: Any) -> str:
    """Write JSON that Python itself would neither write nor read."""
    most = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(fields)
    finally:
        sys.set_int_max_str_digits(most)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    rng = np.random.default_rng(0)
    data = rng.standard_normal((30, 8)) + 2 * rng.standard_normal((30, 1)) * (np.arange(8) < 3)
    np.save(folder / "data.npy", data)
    names = [f"gene {number}" for number in range(8)]
    solution = certpca.solve(data, 3, certify=True, target_gap=1e-6, names=names)
    certpca.save_solution(solution, folder / "whole.json")
    save_path(certpca.path(data, [2, 3], certify=True), folder / "path.json")
    return folder


@pytest.fixture
def fields(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "whole.json").read_text()))


@pytest.fixture
def certificate(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "whole.certificate.json").read_text()))


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Walk over every field, and the first entries of every list."""
    entries = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, entry in entries:
        yield (*way, key)
        yield from places(entry, (*way, key))


def put(value: Any, way: tuple[Any, ...], entry: Any) -> Any:
    changed = copy.deepcopy(value)
    inner = changed
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = entry
    return changed


NONSENSE: list[Any] = [
    MARKED,
    math.nan,
    math.inf,
    -math.inf,
    int("9" * 4000) * 10**1000,
    10**30,
    -1,
    0,
    1e308,
    -1e308,
    5e-324,
    3.5,
    True,
    None,
    "",
    "x" * 100_000,
    [],
    {},
    [[]],
    [None],
    [True],
    [MARKED],
    [math.nan],
    {MARKED: MARKED},
    {"a": {"b": {"c": [1]}}},
]


def told(capsys: Any, command: list[str]) -> tuple[int, str]:
    """Run a command; whatever it says is one line of harmless text where it is a refusal."""
    status = main(command)
    out, err = capsys.readouterr()
    assert not FORBIDDEN.search(out + err)
    assert status in (0, 1, 2)
    complaints = [line for line in err.splitlines() if line.startswith("certpca: ")]  # beside what was understood
    assert status == 0 or len(complaints) == 1, err
    return status, out + err


@pytest.mark.parametrize("value", NONSENSE, ids=[f"{number}" for number in range(len(NONSENSE))])
def test_nonsense_in_a_result_is_refused_or_harmless(value: Any, folder: Path, fields: Any, capsys: Any) -> None:
    """In every field, the certificate inside included, for the report and for those who load it."""
    file = folder / "s.json"
    refused = 0
    for way in places(fields):
        file.write_text(written(put(fields, way, value)))
        for target in ("r.html", "r.md"):
            status, _ = told(capsys, ["report", str(file), "--output", str(folder / target)])
        if status == 0:
            page = (folder / "r.html").read_text(encoding="utf-8")
            assert not FORBIDDEN.search(page)
            assert "<b>&amp;" not in page
        refused += status != 0
    assert refused > 20


@pytest.mark.parametrize("value", NONSENSE, ids=[f"{number}" for number in range(len(NONSENSE))])
def test_nonsense_in_a_certificate_is_refused_or_harmless(
    value: Any, folder: Path, certificate: Any, capsys: Any
) -> None:
    file = folder / "c.json"
    for way in places(certificate):
        file.write_text(written(put(certificate, way, value)))
        told(capsys, ["verify", str(file), str(folder / "data.npy")])
        told(capsys, ["verify", str(file), str(folder / "data.npy"), "--json"])


@pytest.mark.parametrize(
    ("form", "way", "value"),
    [
        ("png", ("matrix",), MARKED),
        ("svg", ("names", 0), MARKED),
        ("svg", ("objective",), 5e-324),
        ("png", ("history",), [[0.1, 1e300, None], [0.2, None, 1e300]]),
        ("png", ("history",), [[0.1, 1e300, None], [0.2, 1e300, 1e300]]),
        ("png", ("history",), [[0.1, 5e-324, None], [0.2, 1e-320, 1e300]]),
        ("svg", ("history",), [[0.1, None, 1.0], [0.2, None, 1.0]]),
        ("svg", ("details",), {MARKED: math.nan}),
    ],
)
def test_pictures_of_nonsense(
    form: str, way: tuple[Any, ...], value: Any, folder: Path, fields: Any, capsys: Any
) -> None:
    (folder / "s.json").write_text(written(put(fields, way, value)))
    told(capsys, ["report", str(folder / "s.json"), "--output", str(folder / f"r.{form}")])


def test_what_a_file_says_is_shown_literally(folder: Path, fields: Any, capsys: Any) -> None:
    """Brackets are no markup and codes between colons no pictures, in what is printed and in what is written."""
    for way in (("matrix",), ("solver",), ("names", 0)):
        (folder / "s.json").write_text(written(put(fields, way, MARKED)))
        status, _ = told(capsys, ["report", str(folder / "s.json"), "--output", str(folder / "r.html")])
        assert status == 0
        page = (folder / "r.html").read_text(encoding="utf-8")
        assert "[/foo] [bold]x[/bold]" in page
        assert ":smile: &lt;b&gt;&amp;amp;&lt;/b&gt; \ufffd[31mred\ufffd[0m\ufffd\ufffd2J\ufffd" in page


def test_what_data_bring_along_is_shown_literally(tmp_path: Path, capsys: Any) -> None:
    rng = np.random.default_rng(0)
    header = '"[/foo]","[bold]x","\x1b[31mred\x07",":smile:"'
    rows = "\n".join(",".join(f"{value:.6f}" for value in row) for row in rng.standard_normal((9, 4)))
    (tmp_path / "a.csv").write_text(f"{header}\n{rows}\n")
    assert main(["solve", str(tmp_path / "a.csv"), "-k", "4"]) == 0
    shown = capsys.readouterr()
    assert all(name in shown.out for name in ("[/foo]", "[bold]x", "\ufffd[31mred\ufffd", ":smile:"))
    assert not FORBIDDEN.search(shown.out + shown.err)


def test_an_error_is_one_harmless_line(tmp_path: Path, capsys: Any) -> None:
    assert main(["report", str(tmp_path / "no\x1b[31m\nwhere.json")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert not FORBIDDEN.search(err.rstrip("\n"))


# --- JSON -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"format": "certpca solution 1", "size": ' + "9" * 5000 + "}", "a whole number of 5000 digits"),
        ("[" * 100_000, "cannot be read"),
        ('{"a": ' * 5_000 + "1" + "}" * 5_000, "cannot be read|not a solution"),
        ('{"format": "certpca solution 1", "size": 3, "size": 4}', "'size' is there twice"),
        ('{"format": "certpca solution 3"}', "is not a solution"),
        ('{"format": ["certpca solution 1"]}', "is not a solution"),
        ('\ufeff{"format": "certpca solution 1"}', "cannot be read"),
        ('{"format": "certpca solution 1"}', "support is missing"),
    ],
)
def test_json_that_is_not_as_it_should_be(content: str, why: str, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataFileError, match=why):
        certpca.load_solution(tmp_path / "a.json")
    assert main(["report", str(tmp_path / "a.json")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_file_that_is_too_large_or_endless(tmp_path: Path, fields: Any) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps({**fields, "padding": "x" * (1 << 21)}))
    length = file.stat().st_size
    assert read_json(file, SOLUTION_FORMAT, "a solution", most_bytes=length)["size"] == fields["size"]
    for source, most in ((file, length - 1), (Path("/dev/zero"), 1 << 21)):
        if source.exists():
            with pytest.raises(DataFileError, match="larger than"):
                read_json(source, SOLUTION_FORMAT, "a solution", most_bytes=most)


def test_fields_of_later_versions_are_ignored_where_nothing_depends_on_them(fields: Any, certificate: Any) -> None:
    check_solution({**fields, "mood": MARKED})
    check_certificate({**certificate, "mood": MARKED})
    for name in ("normalisation", "evidence"):
        with pytest.raises(InvalidDataError, match="'mood', which is unknown"):
            check_certificate(
                put(certificate, (name, "mood"), 1) if name in certificate else {**certificate, name: {"mood": 1}}
            )


# --- fields that contradict each other --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"loadings": [0.8, 0.8, 0.8]}, "length one"),
        ({"loadings": [0.0, 0.0, 2.0]}, "loadings"),
        ({"support": [0, 0, 1]}, "increasing"),
        ({"support": [2, 1, 0]}, "increasing"),
        ({"support": [0, 1, 8]}, "increasing indices in 0..7"),
        ({"support": [0, 1]}, "loadings must be as many"),
        ({"sparsity": 9}, "sparsity must be a whole number in 1..8"),
        ({"names": ["a"]}, "names must be one for each"),
        ({"names": ["a", "b", 3]}, r"names\[2\] must be a text"),
        ({"objective": -1.0}, "objective must be a finite number from 0"),
        ({"explained_variance_ratio": 1.5}, "explained_variance_ratio must be"),
        ({"seconds": -1.0}, "seconds must be"),
        ({"refitted": 1}, "refitted must be true or false"),
        ({"status": "BORED"}, "status must be one that this version knows"),
        ({"history": [[0.1, 0.2]]}, r"history\[0\] must be a list of 3"),
        ({"size": True}, "size must be a whole number"),
        ({"size": 3.0}, "size must be a whole number"),
        ({"reading": None}, "reading must be a mapping"),
        ({"reading": {"a": [[[[[[[[1]]]]]]]]}}, "nested at most"),
    ],
)
def test_fields_of_a_solution(change: dict[str, Any], why: str, fields: Any) -> None:
    with pytest.raises(InvalidDataError, match=why):
        solution_from_dict({**fields, **change})


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("kind", "data ", "one of 'matrix', 'data'"),
        ("center", 1, "true or false"),
        ("scale", 1, 'true, false or "2pq"'),
        ("scale", "3pq", 'true, false or "2pq"'),
        ("divisor", True, "a finite number"),
        ("divisor", 0.0, "a finite number from"),
        ("divisor", -29.0, "a finite number from"),
        ("divisor", math.inf, "a finite number from"),
        ("missing", [[1.0, 2.0]], "a whole number"),
        ("missing", -9.0, "a whole number"),
        ("missing", 10**30, "a whole number"),
        ("fill_missing", "yes", "true or false"),
        ("values", [[1.0]], "'values', which is unknown"),
    ],
)
def test_normalisation_is_checked_field_by_field(name: str, value: Any, why: str, certificate: Any) -> None:
    with pytest.raises(InvalidDataError, match=why):
        check_certificate(put(certificate, ("normalisation", name), value))


def test_fields_of_a_path(folder: Path, tmp_path: Path) -> None:
    fields = json.loads((folder / "path.json").read_text())
    check_path(fields)
    parts = fields["solutions"]
    for changed, why in (
        ({**fields, "solutions": parts[::-1]}, "must increase"),
        ({**fields, "solutions": [parts[0], parts[0]]}, "must increase"),
        ({**fields, "solutions": [parts[0], {**parts[1], "size": 9}]}, "same number of features"),
        ({**fields, "solutions": []}, "a list of 1"),
        ({**fields, "seconds": math.nan}, "seconds must be"),
        (put(fields, ("solutions", 1, "loadings", 0), "x"), r"solutions\[1\]\.loadings\[0\]"),
        (put(fields, ("solutions", 1, "certificate", "evidence"), {"file": "../x", "digest": "0" * 40}), "plain name"),
    ):
        (tmp_path / "p.json").write_text(written(changed))
        with pytest.raises(DataFileError, match=why):
            load_path(tmp_path / "p.json")


def test_how_a_file_was_read_is_checked_before_it_is_used(fields: Any, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({**fields, "reading": {"maf": 0.05}}))
    assert load_reading(tmp_path / "a.json") == {"maf": 0.05}
    unusable: list[Any] = [None, 3, [], {"a": math.nan}, {"a": "x" * 100_000}]
    for reading in unusable:
        (tmp_path / "a.json").write_text(json.dumps({**fields, "reading": reading}))
        with pytest.raises(DataFileError, match="is damaged"):
            load_reading(tmp_path / "a.json")


def test_numbers_that_are_not_finite_are_strict_json_and_come_back(fields: Any) -> None:
    solution = solution_from_dict(
        {**fields, "certificate": None, "history": [[0.1, None, None]], "details": {"a": None}}
    )
    assert solution.history[0].objective == -math.inf
    assert math.isnan(solution.details["a"])
    json.dumps(solution_to_dict(solution), allow_nan=False)


# --- whatever else ----------------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["certpca solution 1", "certpca certificate 1", "data", "l0-dual", "2pq"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(picks=st.lists(st.tuples(st.integers(0, 10**6), VALUES), min_size=1, max_size=3))
def test_any_json_is_loaded_and_checked_or_refused(picks: Any, folder: Path, fields: Any, certificate: Any) -> None:
    data = np.load(folder / "data.npy")
    for base, load in ((fields, certpca.load_solution), (certificate, certpca.load_certificate)):
        changed = base
        for number, value in picks:
            ways = list(places(changed))
            changed = put(changed, ways[number % len(ways)], value)
        (folder / "h.json").write_text(written(changed))
        try:
            held = load(folder / "h.json")
        except DataFileError:
            continue
        found = held.certificate if isinstance(held, certpca.Solution) else held
        if found is not None:
            try:
                certpca.verify(found, data)
            except CertificateError:
                continue


@settings(max_examples=100, deadline=None)
@given(value=VALUES)
def test_any_value_is_refused_by_every_check(value: Any) -> None:
    for check in (check_solution, check_certificate, check_path):
        with pytest.raises(CertpcaError):
            check(value)
