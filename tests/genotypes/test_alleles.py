"""Alleles are matched as two people would who know what they mean: enumerated over all pairs of letters."""

from itertools import permutations

import pytest

from certpca.genotypes.alleles import COMPLEMENT, Match, matched

PAIRS = list(permutations("ACGT", 2))


@pytest.mark.parametrize("reference", PAIRS)
@pytest.mark.parametrize("found", PAIRS)
def test_all_pairs_of_letters(reference: tuple[str, str], found: tuple[str, str]) -> None:
    other = (COMPLEMENT[found[0]], COMPLEMENT[found[1]])
    fitting = {
        Match.SAME: found == reference,
        Match.SWAPPED: found[::-1] == reference,
        Match.FLIPPED: other == reference,
        Match.FLIPPED_SWAPPED: other[::-1] == reference,
    }
    possible = [match for match, fits in fitting.items() if fits]
    answer = matched(reference, found, one_strand=False)
    if len(possible) == 2:  # two readings that contradict each other
        assert possible[0].turned != possible[1].turned
        assert answer is Match.AMBIGUOUS
    else:
        assert answer is (possible[0] if possible else Match.DIFFERENT)
    known = matched(reference, found, one_strand=True)
    assert known is (
        Match.SAME if fitting[Match.SAME] else Match.SWAPPED if fitting[Match.SWAPPED] else Match.DIFFERENT
    )


@pytest.mark.parametrize(
    ("reference", "found", "match"),
    [
        (("a", "G"), ("A", "g"), Match.SAME),
        (("A", "G"), ("0", "G"), Match.SAME),  # nobody in that file has an A
        (("A", "G"), ("0", "A"), Match.SWAPPED),
        (("A", "G"), ("0", "C"), Match.FLIPPED),
        (("A", "G"), ("0", "T"), Match.FLIPPED_SWAPPED),
        (("A", "T"), ("0", "T"), Match.AMBIGUOUS),
        (("A", "T"), ("0", "C"), Match.DIFFERENT),
        (("A", "G"), ("0", "0"), Match.DIFFERENT),
        (("1", "2"), ("2", "1"), Match.SWAPPED),
        (("A", "ACT"), ("ACT", "A"), Match.SWAPPED),
        (("A", "ACT"), ("T", "AGT"), Match.DIFFERENT),  # longer ones are not turned round
        (("A", "G"), ("A", "C"), Match.DIFFERENT),
    ],
)
def test_other_alleles(reference: tuple[str, str], found: tuple[str, str], match: Match) -> None:
    assert matched(reference, found, one_strand=False) is match
