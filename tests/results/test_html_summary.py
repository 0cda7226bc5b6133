"""What notebooks show of results."""

from html.parser import HTMLParser

import numpy as np
import pytest

import certpca

EVIL = "<script>alert(1)</script>&\x1b[31m"


class Balanced(HTMLParser):
    """Collects text, and refuses tags that are not closed, or scripts."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        assert tag != "script"
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(result):
    parser = Balanced()
    parser.feed(result._repr_html_())
    assert not parser.open
    return parser.text


@pytest.fixture
def data(rng):
    return rng.standard_normal((40, 30)) @ rng.standard_normal((30, 30))


def test_a_solution_shows_loadings_and_what_is_proved(data):
    names = [EVIL, *(f"g{j}" for j in range(1, 30))]
    found = certpca.solve(data, 25, certify=True, names=names, target_gap=0.5)
    text = shown(found)
    assert "25 of 30 features" in text
    assert "upper bound" in text
    assert "and 5 smaller loadings" in text
    assert "\x1b" not in found._repr_html_()
    whole = certpca.solve(data, 30, names=names)
    assert "&lt;script&gt;" in whole._repr_html_() or EVIL[:8] not in shown(whole)
    assert "upper bound" not in shown(whole)


def test_constraints_are_shown_with_what_is_proved_under_them(data):
    found = certpca.solve(data, 3, certify=True, include=[4], nonnegative=True, target_gap=0.5)
    for result in (found, found.certificate):
        assert "feature 4 forced in; no negative loadings" in shown(result)
    assert "constraints" not in shown(certpca.solve(data, 3))


def test_names_are_never_markup():
    names = [EVIL, "b"]
    text = certpca.solve(np.diag([2.0, 1.0]), 2, covariance=True, names=names)._repr_html_()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_certificates_say_that_they_are_claims(data):
    certificate = certpca.certify(data, 5, target_gap=0.9)
    text = shown(certificate)
    assert certificate.fingerprint in text
    assert "A claim until certpca.verify has checked it" in text


def test_components_say_what_is_proved_of_the_set(data):
    found = certpca.decompose(data, 3, 8)
    text = shown(found)
    assert "3 components of 30 features" in text
    assert "nothing is proved of the set" in text
    assert "feature" in text
