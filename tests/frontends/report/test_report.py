"""What a report says, that it stays true and safe whatever the names are, and that files are whole."""

import base64
import hashlib
import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import certpca
from certpca.frontends.report import Files, gather, sections, write_report
from certpca.frontends.report.compose import compose
from certpca.frontends.report.escape import as_html, as_markdown, shortened
from certpca.frontends.report.page import to_html
from certpca.frontends.report.words import duration, number, percent_up
from certpca.plots import kinds
from certpca.results.status import Status
from certpca.runtime.errors import DataFileError, InvalidDataError, InvalidProblemError

VOID = {"meta", "link", "br", "rect", "circle", "path", "col"}
NASTY = (
    "<script>alert(1)</script>",
    "\" onload='x' &amp; | `tick` $x$ [l](http://a.b) <img src=x>",
    "line\nbreak\x00\x1b and \ud800",
    "ÅΩ漢字 \u202eright to left",
    "n" * 500,
)


class Page(HTMLParser):
    """Collects what is on a page and refuses elements that are not closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open[-1:] != ["style"]:
            self.texts.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.texts))


@pytest.fixture(scope="module")
def pitprops_solution():
    return certpca.solve(certpca.pitprops(), 7, certify=True, target_gap=1e-6)


def page_of(solution, tmp_path, **given):
    write_report(solution, tmp_path / "report.html", **given)
    return Page((tmp_path / "report.html").read_text(encoding="utf-8"))


# --- what is said -------------------------------------------------------------------------------


def test_proved_optimal_and_verified(pitprops_solution, tmp_path):
    page = page_of(pitprops_solution, tmp_path, data=certpca.pitprops(), files=Files(data="pit props.csv"))
    assert "Proved optimal, verified" in page.text
    assert "No choice of 7 of the 13 features explains more of the variance than this one does: 30.73 %" in page.text
    assert "Verified now against pit props.csv by the independent checker" in page.text
    assert "6 of 13 features" in page.text  # in no optimal choice
    assert "Scores need samples" in page.text


def test_certificate_without_data_is_repeated_and_not_called_verified(pitprops_solution, tmp_path):
    page = page_of(pitprops_solution, tmp_path)
    assert "Proved optimal, not re-checked here" in page.text
    assert "did not check it" in page.text
    assert "erified now" not in page.text


def test_gap_is_rounded_so_that_it_stays_true(pitprops_solution, tmp_path):
    certificate = replace(pitprops_solution.certificate, upper_bound=pitprops_solution.objective * 1.01001)
    page = page_of(replace(pitprops_solution, certificate=certificate, status=Status.STALLED), tmp_path)
    assert "No choice of 7 of the 13 features can explain more than 31.05 % of the variance." in page.text
    assert "within 1.00 % of the best possible" in page.text  # 0.9911 %, upwards
    assert "proved optimal" not in page.text.lower()


def test_without_certificate_nothing_is_called_proved(tmp_path, rng):
    data = rng.standard_normal((20, 6))
    page = page_of(
        certpca.solve(data, 2), tmp_path, data=data, files=Files(data="a b.csv", data_options=("--uncentred",))
    )
    assert "No certificate" in page.text
    assert "another choice of 2 features may explain more" in page.text
    assert "certpca certify 'a b.csv' --uncentred -k 2" in page.text
    assert "erified now" not in page.text


def test_other_data_are_refused(rng, tmp_path):
    data = rng.standard_normal((20, 6))
    solution = certpca.solve(data, 2, certify=True)
    changed = data.copy()
    changed[0, solution.support[0]] += 1.0
    facts = write_report(solution, tmp_path / "report.html", data=changed)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert facts.refused
    assert "Refused" in page.text
    assert "Nothing below is proved" in page.text
    assert "within" not in page.text
    assert "Proved" not in page.text
    assert "Scores" not in page.text


def test_data_that_differ_outside_the_support_are_refused_by_the_checker(rng, tmp_path):
    data = rng.standard_normal((20, 6))
    solution = certpca.solve(data, 2, certify=True)
    changed = data.copy()
    changed[0, np.setdiff1d(np.arange(6), solution.support)[0]] += 1.0
    facts = write_report(solution, tmp_path / "report.html", data=changed)
    assert facts.refused
    assert facts.check is not None
    assert "of the variance" in facts.check.refusal  # what is left of it has changed
    trace = changed.var(axis=0, ddof=1).sum()
    largest = np.linalg.eigvalsh(np.cov(changed.T))[-1]
    fitting = replace(
        solution, explained_variance_ratio=solution.objective / trace, relative_objective=solution.objective / largest
    )
    facts = write_report(fitting, tmp_path / "report.html", data=changed)
    assert facts.check is not None
    assert "other data" in facts.check.refusal


def test_wrong_option_is_explained(rng, tmp_path):
    data = rng.standard_normal((20, 6)) * np.arange(1, 7)
    facts = write_report(certpca.solve(data, 2, scale=True), tmp_path / "report.html", data=data)
    assert facts.refused
    assert facts.check is not None
    assert "correlation matrix" in facts.check.refusal
    assert "covariance matrix" in facts.check.refusal


def test_certificate_for_another_sparsity_is_refused(rng, tmp_path):
    data = rng.standard_normal((20, 6))
    narrow, wide = (certpca.solve(data, k, certify=True) for k in (2, 3))
    facts = gather(replace(narrow, certificate=wide.certificate), data=data)
    assert facts.check is not None
    assert "the sparsity is 2 in the result but 3 in its certificate" in facts.check.refusal


def test_result_above_its_own_bound_is_refused_even_without_data(pitprops_solution, tmp_path):
    boastful = replace(pitprops_solution, objective=pitprops_solution.objective * 1.01)
    page = page_of(boastful, tmp_path)
    assert "Refused" in page.text
    assert "more than the upper bound" in page.text
    assert "Proved" not in page.text


def test_status_without_certificate_is_not_repeated(pitprops_solution, tmp_path):
    page = page_of(replace(pitprops_solution, certificate=None), tmp_path)
    assert "calls itself optimal, but nothing here proves it" in page.text
    assert "proved optimal" not in page.text.lower()


@pytest.mark.parametrize("scale", [0.0, 1e-12, 1.0, 1e12])
@pytest.mark.parametrize("form", ["html", "markdown", "svg"])
def test_degenerate_matrices(tmp_path, scale, form):
    matrix = scale * np.diag([3.0, 2.0, 1.0])
    solution = certpca.solve(matrix, 1, covariance=True, certify=True)
    path = certpca.path(matrix, [1, 2], covariance=True, certify=scale > 0)
    facts = write_report(solution, tmp_path / "a", data=matrix, covariance=True, path=path, form=form)
    assert not facts.refused
    text = (tmp_path / "a").read_text(encoding="utf-8")
    assert "nan" not in re.sub("[a-z]nan|nan[a-z]", "", text.lower()) or form == "svg"


def test_support_wider_than_the_certificate_is_not_compared_with_it(pitprops_solution, tmp_path):
    wide = replace(certpca.solve(certpca.pitprops(), 9), status=Status.WIDER_SUPPORT)
    page = page_of(replace(wide, sparsity=7, certificate=pitprops_solution.certificate), tmp_path)
    assert "has 9 loadings, so the bound is not about it" in page.text
    assert "within" not in page.text


def test_many_loadings_show_the_largest_and_say_so(rng, tmp_path):
    loadings = rng.standard_normal(5000)
    solution = certpca.solve(np.diag(np.arange(1.0, 4.0)), 2, covariance=True)
    many = replace(
        solution,
        support=np.arange(5000),
        loadings=loadings / np.linalg.norm(loadings),
        names=tuple(f"feature <{j}>" for j in range(5000)),
        size=6000,
        sparsity=5000,
    )
    page = page_of(many, tmp_path)
    assert "The 30 largest of 5,000 loadings" in page.text
    bars = [
        value for tag, name, value in page.attributes if (tag, name) == ("rect", "class") and value in ("plus", "minus")
    ]
    assert len(bars) == 30
    first = np.argmax(np.abs(loadings))
    assert f"feature <{first}>" in page.texts
    assert all(f"feature <{j}>" in page.texts for j in (0, 1234, 4999))
    write_report(many, tmp_path / "few.html", largest=3)
    assert "The 3 largest of 5,000 loadings" in (tmp_path / "few.html").read_text(encoding="utf-8")


# --- the data -----------------------------------------------------------------------------------


def test_scores_are_the_standardised_data_times_the_loadings(rng):
    data = rng.standard_normal((30, 8)) * np.arange(1, 9)
    solution = certpca.solve(data, 3, scale=True)
    facts = gather(solution, data=data, scale=True)
    assert facts.scores is not None
    standard = (data - data.mean(axis=0)) / data.std(axis=0, ddof=1)
    np.testing.assert_allclose(facts.scores.first, standard @ solution.component, rtol=1e-10)
    second = facts.scores.second_component
    assert second is not None
    assert facts.scores.second is not None
    np.testing.assert_allclose(facts.scores.second, standard @ second.component, rtol=1e-10)
    parts = certpca.decompose(data, 2, 3, scale=True)
    np.testing.assert_array_equal(second.support, parts.components[1].support)
    assert facts.scores.second_ratio == pytest.approx(parts.adjusted_variance_ratio[1])


@pytest.mark.parametrize("form", ["nan", "int8", "sparse"])
def test_missing_values_and_constant_columns_are_counted(rng, form):
    data = rng.integers(0, 3, (40, 7)).astype(np.float64)
    data[:, 4] = 1.0
    data[[0, 3, 5], [1, 2, 2]] = np.nan
    given = {
        "nan": data,
        "int8": np.nan_to_num(data, nan=-9).astype(np.int8),
        "sparse": sp.csc_array(data),
    }[form]
    facts = gather(certpca.solve(given, 2, missing="mean"), data=given, missing="mean")
    assert facts.data is not None
    assert (facts.data.samples, facts.data.features) == (40, 7)
    assert (facts.data.missing, facts.data.constant) == (3, 1)
    assert facts.data.total_variance == pytest.approx(facts.trace)


def test_component_that_explains_everything_has_no_second(rng, tmp_path):
    data = np.outer(rng.standard_normal(10), [1.0, 2.0])
    page = page_of(certpca.solve(data, 2), tmp_path, data=data)
    assert "nothing is left for a second one" in page.text


def test_labels_get_groups_and_the_many_small_ones_are_others(rng, tmp_path):
    data = rng.standard_normal((60, 5))
    solution = certpca.solve(data, 2)
    page = page_of(solution, tmp_path, data=data, labels=["<b>"] * 40 + [f"g{j}" for j in range(20)])
    assert "<b> (40)" in page.text
    assert "8 other labels (8)" in page.text  # fourteen lines of legend, one of them for the rest
    groups = [v for _, name, v in page.attributes if name == "class" and (v.startswith("group") or v == "others")]
    assert len(groups) == 14
    drawing = (
        (tmp_path / "report.html").read_text(encoding="utf-8").partition('class="group0"')[2].partition("</svg>")[0]
    )
    assert drawing.count("<use") == 60
    with pytest.raises(InvalidDataError, match="one label for each of the 60 samples, got 2"):
        gather(solution, data=data, labels=["a", "b"])


def test_many_samples_are_thinned_and_it_is_said(rng, tmp_path):
    data = rng.standard_normal((9000, 3))
    page = page_of(certpca.solve(data, 1), tmp_path, data=data)
    assert "3,000 of 9,000 samples, evenly picked" in page.text


def test_wrong_data_are_named(pitprops_solution, rng):
    with pytest.raises(InvalidDataError, match=r"about 13 features, x\.csv have 4"):
        gather(pitprops_solution, data=rng.standard_normal((9, 4)), files=Files(data="x.csv"))
    with pytest.raises(InvalidProblemError, match="labels need the data"):
        gather(pitprops_solution, labels=["a"])
    with pytest.raises(InvalidProblemError, match="without samples"):
        gather(pitprops_solution, data=certpca.pitprops(), labels=["a"])


def test_result_without_finite_numbers_is_refused(pitprops_solution):
    with pytest.raises(InvalidProblemError, match="not finite"):
        gather(replace(pitprops_solution, objective=math.nan))


# --- path and history ---------------------------------------------------------------------------


def test_path_has_a_band_where_it_is_proved(pitprops_solution, tmp_path):
    proved = certpca.path(certpca.pitprops(), [3, 5, 7, 13], certify=True)
    page = page_of(pitprops_solution, tmp_path, path=proved)
    assert ("g", "class", "band") in page.attributes
    assert "not checked again for this report" in page.text
    assert "this report: 7" in page.text
    page = page_of(pitprops_solution, tmp_path, path=certpca.path(certpca.pitprops(), [3, 5]))
    assert ("g", "class", "band") not in page.attributes
    assert "Nothing is proved along this path." in page.text


def test_path_is_computed_when_asked_for(pitprops_solution, tmp_path):
    facts = write_report(pitprops_solution, tmp_path / "a.md", data=certpca.pitprops(), sparsities=[2, 7])
    assert facts.path is not None
    assert facts.path.sparsities.tolist() == [2, 7]
    assert "were proved on these data" in (tmp_path / "a.md").read_text(encoding="utf-8")


def test_path_of_other_features(pitprops_solution, rng):
    other = certpca.path(rng.standard_normal((9, 4)), [1, 2])
    with pytest.raises(InvalidProblemError, match="path is about 4 features, the result about 13"):
        gather(pitprops_solution, path=other)


def test_history_is_drawn_only_where_there_is_one(pitprops_solution):
    drawn = to_html(compose(gather(pitprops_solution)))
    assert 'id="history-title"' in drawn
    assert 'id="history-title"' not in to_html(compose(gather(replace(pitprops_solution, history=()))))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
@pytest.mark.parametrize("form", ["html", "svg"])
def test_numbers_of_any_size_are_drawn(tmp_path, scale, form):
    path = certpca.path(scale * np.diag([3.0, 2.0, 1.0]), [1, 2, 3], covariance=True, certify=True)
    steps = [certpca.Step(0.1 * j, scale * j, math.inf if j < 3 else 6 * scale) for j in range(1, 5)]
    solution = replace(path.solutions[1], history=tuple(steps))
    for told in (solution, replace(solution, explained_variance_ratio=0.0)):  # with and without a total
        write_report(told, tmp_path / "a", path=path, form=form)
        text = (tmp_path / "a").read_text(encoding="utf-8").lower()
        assert "nan" not in re.sub("[a-z]nan|nan[a-z]", "", text)


# --- sections -----------------------------------------------------------------------------------

TOY = '''
"""How many features were left out."""

from certpca.frontends.report.blocks import Chart, Paragraph

ORDER = 15
TITLE = "Left out"


def applies(facts):
    return facts.solution.size > 5


def blocks(facts):
    left = facts.solution.size - facts.solution.support.size
    return [Paragraph(f"{left} features are not used."), Chart("Toy", "A toy.", "toy", [left])]
'''


@pytest.fixture
def toy_section(tmp_path, monkeypatch):
    """One file beside the other sections, and one beside the other plots."""
    for package, text in ((sections, TOY), (kinds, "def draw(ax, left):\n    ax.plot([0], [left], gid='toy')\n")):
        folder = tmp_path / package.__name__
        folder.mkdir()
        (folder / "toy.py").write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    yield
    for package in (sections, kinds):
        sys.modules.pop(f"{package.__name__}.toy", None)


def test_a_section_and_a_plot_are_a_file_each(toy_section, pitprops_solution, tmp_path):
    page = page_of(pitprops_solution, tmp_path)
    headings = re.findall(r"<h2[^>]*>([^<]*)</h2>", (tmp_path / "report.html").read_text(encoding="utf-8"))
    assert headings[:3] == ["Loadings", "Left out", "Certificate"]
    assert "6 features are not used." in page.text
    assert ("desc", "id", "toy-words") in page.attributes
    write_report(pitprops_solution, tmp_path / "report.md")
    assert "## Left out\n\n6 features are not used.\n\nToy: A toy." in (tmp_path / "report.md").read_text(
        encoding="utf-8"
    )
    write_report(pitprops_solution, tmp_path / "report.svg")
    assert 'id="toy"' in (tmp_path / "report.svg").read_text(encoding="utf-8")


def test_a_section_can_stay_away(toy_section, tmp_path):
    page = page_of(certpca.solve(np.diag([3.0, 2.0, 1.0]), 2, covariance=True), tmp_path)
    assert "Left out" not in page.text


# --- safe whatever the names are ----------------------------------------------------------------


def nasty_solution(rng, title=None):
    data = rng.standard_normal((30, 5)) * [5.0, 4.0, 3.0, 2.0, 1.0]
    return data, certpca.solve(data, 5, names=NASTY)


def test_names_cannot_break_the_page(rng, tmp_path):
    data, solution = nasty_solution(rng)
    page = page_of(solution, tmp_path, data=data, names=NASTY, title=NASTY[0], labels=[NASTY[1]] * 30)
    assert not {"img", "iframe", "object", "embed"} & set(page.tags)
    assert page.tags.count("script") == 1  # its own
    assert not [name for _, name, _ in page.attributes if name == "style"]
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert NASTY[0] in page.texts
    assert any("漢字" in text for text in page.texts)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e\ud800-\udfff]", page.text)
    assert any(name == "title" and value == "n" * 500 for _, name, value in page.attributes)


def test_page_refers_to_nothing_outside(rng, tmp_path):
    data, solution = nasty_solution(rng)
    text_page = page_of(solution, tmp_path, data=data, names=NASTY)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    links = [
        value
        for _, name, value in text_page.attributes
        if name in ("href", "src", "srcset", "action", "data", "poster") and not value.startswith("#")
    ]
    assert links == ["data:,"]
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert "default-src 'none'" in text


def test_names_cannot_break_markdown(rng, tmp_path):
    data, solution = nasty_solution(rng)
    write_report(solution, tmp_path / "report.md", data=data, names=NASTY, title="a\n# b")
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# a \\# b\n")
    table = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert len(table) >= 5
    bars = [line for line in table if "█" in line or "▏" in line]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in bars} == {4}
    assert "<script>" not in text.replace("\\<", "")


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_names_cannot_break_a_picture(rng, tmp_path, ending):
    data, solution = nasty_solution(rng)
    path = certpca.path(data, [1, 2, 5], certify=True)
    target = tmp_path / f"report.{ending}"
    write_report(solution, target, data=data, names=NASTY, path=path, labels=["$x_{"] * 15 + ["b"] * 15)
    start = target.read_bytes()[:200]
    assert start.startswith(b"\x89PNG") if ending == "png" else b"<?xml" in start


@given(st.text())
def test_escaped_text_is_one_line_that_html_reads_back(text):
    escaped = as_html(text)
    assert not set(escaped) & set("<>\"'\n\r")
    escaped.encode()
    as_markdown(text).encode()
    assert "\n" not in as_markdown(text)
    assert len(shortened(text, 10)) <= 10


# --- numbers ------------------------------------------------------------------------------------


@given(st.floats(0, 1))
def test_upward_percentages_never_fall_short(share):
    written = float(percent_up(share).rstrip("%").strip())
    assert written / 100 >= share * (1 - 1e-9) - 1e-12
    assert written / 100 <= share + 1.0001e-4


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1554.9612, "1,554.96"), (-2.5, "−2.5"), (3.7432e8, "3.7432 × 10⁸"), (2e-7, "2 × 10⁻⁷"), (13.0, "13")],
)
def test_numbers(value, text):
    assert number(value).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0002, "less than 1 ms"), (0.377, "377 ms"), (12.34, "12.3 s"), (98.5, "98.5 s"), (4000, "66 min 40 s")],
)
def test_durations(seconds, text):
    assert duration(seconds).replace("\u00a0", " ") == text


# --- whole or not at all ------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["html", "md", "png"])
def test_failure_keeps_the_old_report(pitprops_solution, tmp_path, monkeypatch, ending):
    target = tmp_path / f"report.{ending}"
    target.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(DataFileError, match="No space left"):
        write_report(pitprops_solution, target)
    assert target.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == [target.name]


def test_bad_targets_are_refused_before_the_work(pitprops_solution, tmp_path, monkeypatch):
    monkeypatch.setattr("certpca.frontends.report.write.gather", lambda *_, **__: pytest.fail("the work began"))
    with pytest.raises(InvalidProblemError, match=r"report\.docx.*\.html"):
        write_report(pitprops_solution, tmp_path / "report.docx")
    with pytest.raises(InvalidProblemError, match="got 'pdf'"):
        write_report(pitprops_solution, tmp_path / "report.html", form="pdf")
    with pytest.raises(DataFileError, match="there is no folder"):
        write_report(pitprops_solution, tmp_path / "nowhere" / "report.html")
    with pytest.raises(InvalidProblemError, match="largest must be a whole number of at least 1"):
        write_report(pitprops_solution, tmp_path / "report.html", largest=0)


def test_format_wins_over_the_ending(pitprops_solution, tmp_path):
    write_report(pitprops_solution, Path(tmp_path / "report.txt"), form="markdown")
    assert (tmp_path / "report.txt").read_text(encoding="utf-8").startswith("# Sparse principal component")


# --- several components, and what is known of samples and features -------------------------------


@pytest.mark.parametrize(
    ("name", "genes", "address"),
    [
        ("rs7", False, "https://www.ncbi.nlm.nih.gov/snp/rs7"),
        ("rs123_T", False, "https://www.ncbi.nlm.nih.gov/snp/rs123"),
        ("ENSMUSG00000059552", False, "https://www.ensembl.org/id/ENSMUSG00000059552"),
        ("HLA-DRB1", True, "https://www.ncbi.nlm.nih.gov/gene/?term=HLA-DRB1%5Bsym%5D"),
        ("HLA-DRB1", False, ""),
        ("rs", False, ""),
        ("rs1 onclick=1", True, ""),
        ('TP53"><script>', True, ""),
        ("javascript:1", True, ""),
    ],
)
def test_names_lead_to_databases(name, genes, address):
    from certpca.frontends.report.links import link_of

    assert link_of(name, genes=genes) == address


def test_policy_allows_the_page_itself_by_hashes_alone(pitprops_solution, tmp_path):
    write_report(pitprops_solution, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert "unsafe" not in policy[1]
    for tag in ("style", "script"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)
        assert inside is not None
        digest = base64.b64encode(hashlib.sha256(inside[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]


def test_stability_says_two_things(rng, tmp_path):
    data = rng.standard_normal((40, 12))
    data[:, :3] += 2 * rng.standard_normal((40, 1))
    solution = certpca.solve(data, 3, certify=True, target_gap=1e-6)
    facts = write_report(solution, tmp_path / "report.md", data=data, subsamples=6)
    assert facts.stability is not None
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "Best in this sample: no choice of 3 of the 12 features captures more, proved" in text
    assert "Found again in 100% of 6 half-samples" in text


def test_scores_of_several_components_are_those_of_the_data(rng, tmp_path):
    data = rng.standard_normal((30, 8))
    found = certpca.decompose(data, 3, 3)
    facts = write_report(found, tmp_path / "report.html", data=data, labels=["a"] * 30)
    assert facts.scores is not None
    np.testing.assert_allclose(facts.scores.table, (data - data.mean(axis=0)) @ found.loadings, atol=1e-10)
    assert facts.data is not None
    assert facts.data.samples == 30


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"labels": ["a"]}, InvalidDataError, "one label for each of the 30 samples, got 1"),
        ({"sample_names": ["a"]}, InvalidDataError, "one name for each of the 30 samples, got 1"),
        (
            {"metadata": {"age": [1, 2]}},
            InvalidDataError,
            "'age' of the metadata has 2 values, but there are 30 samples",
        ),
        ({"metadata": ["age"]}, InvalidDataError, "metadata must be a DataFrame"),
        ({"genes": "yes"}, InvalidProblemError, "genes must be True or False"),
        ({"subsamples": 3}, InvalidProblemError, "subsamples"),
    ],
)
@pytest.mark.parametrize("several", [False, True])
def test_what_does_not_fit_the_samples_is_refused(rng, tmp_path, settings, error, message, several):
    data = rng.standard_normal((30, 8))
    result = certpca.decompose(data, 2, 3) if several else certpca.solve(data, 3)
    with pytest.raises(error, match=message):
        write_report(result, tmp_path / "report.html", data=data, **settings)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("what", ["labels", "sample_names", "metadata"])
def test_what_is_about_samples_needs_data(pitprops_solution, tmp_path, what):
    for result in (pitprops_solution, certpca.decompose(certpca.pitprops(), 2, 3)):
        with pytest.raises(InvalidProblemError, match=f"{what} need the data as well"):
            write_report(result, tmp_path / "report.html", **{what: {"a": [1]}})  # type: ignore[call-overload]
