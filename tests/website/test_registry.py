"""What a registry shows of the package."""

import re
import tomllib
from pathlib import Path

import pytest

hatch_build = pytest.importorskip("hatch_build", reason="hatchling, which builds the package, is not installed")
ROOT = Path(__file__).parents[2]
FILES = "{address}/{kind}/main/{path}"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_without_an_address_no_link_of_the_readme_leads_nowhere():
    shown = hatch_build.readme(README, "", FILES)
    assert not re.findall(r"\]\((?!https?:)", shown)
    assert "Start here" in shown
    assert hatch_build.urls("", FILES) == {}


def test_with_an_address_all_links_lead_there():
    shown = hatch_build.readme(README, "https://forge.example/us/certpca", FILES)
    assert "](https://forge.example/us/certpca/blob/main/docs/start.md)" in shown
    assert "](https://forge.example/us/certpca/raw/main/docs/figures/certified_path.png)" in shown
    assert not re.findall(r"\]\((?!https?:)", shown)
    assert "git clone https://forge.example/us/certpca certpca" in shown
    assert "Source" in hatch_build.urls("https://forge.example/us/certpca", FILES)


def test_the_environment_has_the_last_word_on_the_address(monkeypatch):
    hook = hatch_build.AddressHook(str(ROOT), {})
    for address in ("", "https://forge.example/fork/certpca"):
        monkeypatch.setenv("CERTPCA_ADDRESS", address)
        metadata: dict[str, dict[str, str]] = {}
        hook.update(metadata)
        assert metadata["urls"].get("Source", "") == address
        assert ("](https://forge.example/fork/certpca/raw/main/docs/figures/" in metadata["readme"]["text"]) == bool(
            address
        )


def test_links_in_the_readme_exist():
    paths = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert len(paths) > 20
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_the_citation_has_the_version():
    import certpca

    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {certpca.__version__}\n" in text
    assert tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["license"] in text
