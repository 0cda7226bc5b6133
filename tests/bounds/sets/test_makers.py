"""Makers of certificates for several components are found by themselves, and each kind has a rule in the checker."""

from certpca.bounds.sets.makers import makers
from certpca.checker.set_rules import rules
from certpca.results.set_certificate import PROBLEMS


def test_every_kind_has_a_maker_and_a_rule() -> None:
    assert {kind for maker in makers() for kind in maker.KINDS} == set(rules())


def test_makers_are_tried_in_one_order() -> None:
    orders = [maker.ORDER for maker in makers()]
    assert orders == sorted(set(orders))


def test_every_problem_has_a_rule_and_rules_know_no_others() -> None:
    assert {problem for rule in rules().values() for problem in rule.PROBLEMS} == set(PROBLEMS)


def test_kinds_of_sets_and_of_one_component_have_different_names() -> None:
    from certpca.checker.rules import rules as rules_of_one

    assert not set(rules()) & set(rules_of_one())
