"""Alleles of one file matched with those of another: counted the other way round, or read off the other strand.

Two alleles of a variant are told apart by their letters. A file that counts the other allele has 2 − x copies where
this one has x; one that was read off the other strand has complementary letters. Where the two letters are
complements of each other (A and T, C and G), the other strand looks like the other allele: such variants are ambiguous
unless both files are known to be of one strand.
"""

from enum import Enum

COMPLEMENT = {"A": "T", "T": "A", "C": "G", "G": "C"}
UNKNOWN = frozenset({"0", ".", "N", ""})  # what stands where no sample has the allele


class Match(Enum):
    """How the alleles of a variant fit those of a reference."""

    SAME = "same alleles"
    SWAPPED = "other allele counted"
    FLIPPED = "other strand"
    FLIPPED_SWAPPED = "other strand, other allele counted"
    AMBIGUOUS = "strand ambiguous"
    DIFFERENT = "other alleles"

    @property
    def usable(self) -> bool:
        """Whether copies of the reference's allele are known."""
        return self not in (Match.AMBIGUOUS, Match.DIFFERENT)

    @property
    def turned(self) -> bool:
        """Whether copies are of the other allele."""
        return self in (Match.SWAPPED, Match.FLIPPED_SWAPPED)


def matched(reference: tuple[str, str], found: tuple[str, str], *, one_strand: bool) -> Match:
    """Say how alleles fit those of a reference; the counted one is first in both.

    Parameters
    ----------
    reference, found
        Pairs of alleles.
    one_strand
        Whether both are known to be of one strand.

    Examples
    --------
    >>> matched(("A", "G"), ("G", "A"), one_strand=False).value
    'other allele counted'
    >>> matched(("A", "G"), ("T", "C"), one_strand=False).value
    'other strand'
    >>> matched(("A", "T"), ("A", "T"), one_strand=False).value
    'strand ambiguous'
    """
    counted, other = (allele.upper() for allele in reference)
    pair = tuple(allele.upper() for allele in found)
    if not one_strand and COMPLEMENT.get(counted) == other:
        known = [allele for allele in pair if allele not in UNKNOWN]
        return Match.AMBIGUOUS if all(allele in (counted, other) for allele in known) else Match.DIFFERENT
    plain = _fits((counted, other), pair, Match.SAME, Match.SWAPPED)
    if plain is not Match.DIFFERENT or one_strand:
        return plain
    flipped = tuple(allele if allele in UNKNOWN else COMPLEMENT.get(allele, "") or "?" for allele in pair)
    return _fits((counted, other), flipped, Match.FLIPPED, Match.FLIPPED_SWAPPED)


def _fits(reference: tuple[str, str], pair: tuple[str, ...], same: Match, swapped: Match) -> Match:
    """Compare letters; one that no sample has, and is therefore not known, may be any."""
    if all(allele in UNKNOWN for allele in pair):
        return Match.DIFFERENT
    for order, match in ((pair, same), (pair[::-1], swapped)):
        if all(held in UNKNOWN or held == wanted for wanted, held in zip(reference, order, strict=True)):
            return match
    return Match.DIFFERENT
