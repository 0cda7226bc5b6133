"""What turns docs/ into a site, and what looks for broken links in it."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import certpca
from website import check, dialect, mathematics, mentions, public_names, repository_links

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TAGS = ("em", "strong", "li", "table", "tr", "pre", "h2", "h3", "img", "ul", "ol")


def test_every_public_name_has_a_page():
    assert not public_names.missing_names()


def test_the_first_session_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(
        str(DOCS / "start.md"), module_relative=False, optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    )
    assert tried > 5
    assert not failed


def counted(html: str) -> dict[str, int]:
    html = re.sub(r"<!--.*?-->", "", html, flags=re.DOTALL)
    return {tag: len(re.findall(rf"<{tag}[ >]", html)) for tag in TAGS}


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_pages_look_the_same_on_a_forge_and_on_the_site(page):
    """Both dialects of Markdown see the same lists, tables, blocks and emphasis."""
    config = pytest.importorskip("mkdocs.config").load_config(str(ROOT / "mkdocs.yml"))
    import markdown

    text = page.read_text(encoding="utf-8")
    site = markdown.Markdown(extensions=config.markdown_extensions, extension_configs=config.mdx_configs)
    forge = MarkdownIt("commonmark", {"html": True}).enable("table")
    assert counted(site.convert(mathematics.escaped(dialect.with_wide_lists(text)))) == counted(forge.render(text))


def test_indices_and_exponents_are_set():
    html = "<p>λ_max(A_SS) ≤ Σ_{i∈S} a_ia_iᵀ + τ_{k_t} of R^{−½}, <code>a_i</code></p>"
    assert mathematics.typeset(html) == (
        "<p>λ<sub>max</sub>(A<sub>SS</sub>) ≤ Σ<sub>i∈S</sub> a<sub>i</sub>a<sub>i</sub>ᵀ + τ<sub>k<sub>t</sub></sub> "
        "of R<sup>−½</sup>, <code>a_i</code></p>"
    )


def test_names_of_programs_are_not_mathematics():
    assert mathematics.typeset("<p>level_screening</p>") == "<p>level_screening</p>"


def test_blocks_that_are_formulas_are_told_from_commands():
    block = '<div class="highlight"><pre><span></span><code>{}\n</code></pre></div>'
    assert mathematics.typeset(block.format("Z* ≤ kρ")) == '<div class="formula">Z* ≤ kρ</div>'
    assert mathematics.typeset(block.format("certpca solve --k=3")) == block.format("certpca solve --k=3")


def test_names_lead_to_the_reference_but_words_do_not():
    html = mentions.linked("<p><code>certpca.solve(X, 5)</code> <code>path</code> <code>SparsePCA</code></p>", "a.md")
    assert 'href="api/verbs.html#certpca.solve"' in html
    assert 'href="api/estimators.html#certpca.SparsePCA"' in html
    assert "<code>path</code></a>" not in html


def test_see_also_is_a_list():
    entries = "<p>solve : One.\nscipy.linalg : Two\nlines.</p>"
    text = f'<details class="see-also" open>\n<summary>See Also</summary>\n{entries}</details>'
    html = mentions.linked(text, "api/verbs.md")
    assert '<li><a href="verbs.html#certpca.solve"><code>solve</code></a>: One.</li>' in html
    assert "<li><code>scipy.linalg</code>: Two lines.</li>" in html


def test_links_out_of_the_docs_lead_to_copies():
    assert repository_links.rewritten("[x](../README.md#use)", "a.md") == "[x](repository/README.md#use)"
    assert repository_links.rewritten("[x](docs/start.md)", "repository/README.md") == "[x](../start.md)"
    assert repository_links.rewritten("[x](nowhere.md)", "a.md") == "[x](nowhere.md)"


def a_site(folder: Path, body: str) -> list[str]:
    (folder / "a.html").write_text(f"<h1 id='top'>A</h1>{body}")
    return [line for line in check.complaints(folder) if "reference" not in line]


def test_the_check_finds_broken_links(tmp_path):
    assert not a_site(
        tmp_path, "<a href='a.html#top'>a</a><a href='#top'>b</a><a href='https://elsewhere.example/x'>c</a>"
    )
    assert "no such file: b.html" in a_site(tmp_path, "<a href='b.html'>b</a>")[0]
    assert "no such place" in a_site(tmp_path, "<a href='#end'>b</a>")[0]
    assert "not whole by itself" in a_site(tmp_path, "<script src='https://elsewhere.example/x.js'></script>")[0]
    assert len([line for line in check.complaints(tmp_path) if "reference" in line]) >= len(certpca.__all__)


def test_an_empty_folder_is_no_site(tmp_path):
    assert "no pages" in next(check.complaints(tmp_path))


def test_the_site_is_built_strictly_and_every_link_resolves(tmp_path):
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    assert not list(check.complaints(tmp_path / "site"))
