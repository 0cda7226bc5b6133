"""The markers of a panel among the variants of another file."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certpca.genotypes.alleles import Match, matched
from certpca.genotypes.chromosomes import plain_names
from certpca.genotypes.markers import MarkerPanel
from certpca.genotypes.plink_text import Variants
from certpca.runtime.arrays import Indices
from certpca.runtime.errors import InvalidDataError

ABSENT, SEVERAL = "not in the file", "there several times"
BY_POSITION, BY_NAME = "position", "name"


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Which markers were found as which variants, whether they count the other allele there, and what became of all."""

    markers: Indices
    variants: Indices
    turned: NDArray[np.bool_]
    counts: Mapping[str, int]


def find_markers(panel: MarkerPanel, variants: Variants, by: str, *, one_strand: bool) -> Found:
    """Look for the markers by where they lie, or by name, and compare alleles.

    Of several variants in one place (what had more than two alleles, split up) the one that fits is taken.
    """
    places = _candidates(panel, variants, by)
    markers, chosen, turned = [], [], []
    counts: Counter[str] = Counter()
    for marker in range(panel.size):
        reference = panel.counted[marker], panel.other[marker]
        fates = {
            place: matched(reference, (variants.counted[place], variants.other[place]), one_strand=one_strand)
            for place in places.get(marker, ())
        }
        usable = [place for place, fate in fates.items() if fate.usable]
        if len(usable) == 1:
            fate = fates[usable[0]]
            markers.append(marker)
            chosen.append(usable[0])
            turned.append(fate.turned)
            counts[fate.value] += 1
        elif usable:
            counts[SEVERAL] += 1
        elif fates:
            ambiguous = Match.AMBIGUOUS in fates.values()
            counts[(Match.AMBIGUOUS if ambiguous else Match.DIFFERENT).value] += 1
        else:
            counts[ABSENT] += 1
    if not markers:
        raise _none_found(panel, counts, by)
    return Found(
        np.array(markers, dtype=np.intp), np.array(chosen, dtype=np.intp), np.array(turned, dtype=bool), dict(counts)
    )


def _candidates(panel: MarkerPanel, variants: Variants, by: str) -> dict[int, list[int]]:
    """Return for each marker the variants that may be it."""
    wanted: dict[Any, list[int]] = {}
    if by == BY_NAME:
        keys, those = panel.names.tolist(), np.arange(variants.names.size)
        held = variants.names.tolist()
    else:
        keys = list(zip(plain_names(panel.chromosomes), panel.positions.tolist(), strict=True))
        those = np.flatnonzero(np.isin(variants.positions, panel.positions) & (variants.positions > 0))
        plain = plain_names(variants.chromosomes)
        held = list(zip(plain[those], variants.positions[those].tolist(), strict=True))
    for marker, key in enumerate(keys):
        wanted.setdefault(key, []).append(marker)
    found: dict[int, list[int]] = {}
    for place, key in zip(those.tolist(), held, strict=True):
        for marker in wanted.get(key, ()):
            found.setdefault(marker, []).append(place)
    return found


def _none_found(panel: MarkerPanel, counts: Counter[str], by: str) -> InvalidDataError:
    said = ", ".join(f"{count} {what}" for what, count in counts.items())
    if counts[ABSENT] == panel.size:
        advice = (
            "are both files of one genome build? match='name' (--match name) goes by names instead"
            if by == BY_POSITION
            else "are variants named alike in both? match='position' (--match position) goes by where they lie"
        )
    elif counts[Match.AMBIGUOUS.value]:
        advice = "if both files are known to be of one strand, say strand='same' (--strand same)"
    else:
        advice = "are both files of one genome build, with letters (A, C, G, T) for alleles in both?"
    return InvalidDataError(f"none of the {panel.size} markers can be used ({said}); {advice}")
