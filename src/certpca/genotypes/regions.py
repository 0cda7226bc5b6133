"""Stretches of chromosomes, and those of the human genome where variants far apart are inherited together.

The table has the 24 autosomal regions of Price et al., "Long-range LD can confound genome scans in admixed
populations", American Journal of Human Genetics 83 (2008) 132-135, with the edges that Anderson et al., Nature
Protocols 5 (2010) 1564-1573 give for build 36 (hg18). For hg19 and hg38 these were lifted over, as quality control
pipelines distribute them. Six regions that lists for hg38 leave out, and the one around the centromere of chromosome 6
of which they have pieces, are moved from hg19 by as much as genes at their edges move. Edges are not sharp.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certpca.genotypes.chromosomes import plain_name, plain_names
from certpca.runtime.did_you_mean import did_you_mean
from certpca.runtime.errors import InvalidDataError, InvalidProblemError

FORM = re.compile(r"([^:\s]+):([\d_,]{1,30})-([\d_,]{1,30})")
OTHER_BUILDS = {"ncbi36": "hg18", "b36": "hg18", "grch37": "hg19", "b37": "hg19", "grch38": "hg38", "b38": "hg38"}

# Chromosome; first and last position by build.
LONG_RANGE_LD = (
    (1, (48060567, 52060567), (48227413, 52227412), (47761740, 51761740)),
    (2, (85941853, 100407914), (86146489, 101133568), (85919365, 100517106)),
    (2, (134382738, 137882738), (134783530, 138283530), (134025960, 137525960)),
    (2, (182882739, 189882739), (183291755, 190291755), (182427027, 189427029)),
    (3, (47500000, 50000000), (47524996, 50024996), (47483505, 49987563)),
    (3, (83500000, 87000000), (83417310, 86917310), (83368158, 86868160)),
    (3, (89000000, 97500000), (88917310, 96017310), (88868160, 96298466)),
    (5, (44500000, 50500000), (44464243, 50464243), (44464140, 51168409)),
    (5, (98000000, 100500000), (97972100, 100472101), (98636396, 101136397)),
    (5, (129000000, 132000000), (128972101, 131972101), (129636407, 132636409)),
    (5, (135500000, 138500000), (135472101, 138472101), (136136412, 139136412)),
    (6, (25500000, 33500000), (25392021, 33392022), (25391792, 33424245)),
    (6, (57000000, 64000000), (56892041, 63942041), (57027243, 63232137)),
    (6, (140000000, 142500000), (139958307, 142458307), (139637169, 142137170)),
    (7, (55193285, 66193285), (55032506, 66362565), (54964812, 66897578)),
    (8, (8000000, 12000000), (7962590, 11962591), (8105067, 12105082)),
    (8, (43000000, 50000000), (42880843, 49837447), (43025699, 48924888)),
    (8, (112000000, 115000000), (111930824, 114930824), (110918594, 113918595)),
    (10, (37000000, 43000000), (36959994, 43679994), (36671065, 43184546)),
    (11, (46000000, 57000000), (46043424, 57243424), (46021874, 57475952)),
    (11, (87500000, 90500000), (87860352, 90860352), (88127183, 91127184)),
    (12, (33000000, 40000000), (33108733, 41713733), (32955798, 41319931)),
    (12, (109521663, 112021663), (111015617, 113515617), (110577813, 113077812)),
    (20, (32000000, 34500000), (32536339, 35066586), (33948532, 36438183)),
)
BUILDS = ("hg18", "hg19", "hg38")


class Region(NamedTuple):
    """A stretch of a chromosome, both ends included."""

    chromosome: str
    first: int
    last: int


def regions_named(entries: Iterable[str]) -> tuple[Region, ...]:
    """Return regions: those of a genome build where linkage reaches far, or one written ``6:25500000-33500000``.

    Examples
    --------
    >>> regions_named(["chr6:25,500,000-33,500,000"])
    (Region(chromosome='6', first=25500000, last=33500000),)
    >>> len(regions_named(["hg19"]))
    24
    """
    found: list[Region] = []
    for entry in entries:
        build = OTHER_BUILDS.get(entry.lower(), entry.lower())
        if build in BUILDS:
            place = 1 + BUILDS.index(build)
            found += [Region(str(row[0]), *row[place]) for row in LONG_RANGE_LD]  # type: ignore[misc]
            continue
        written = FORM.fullmatch(entry.strip())
        if written is None:
            msg = (
                f"exclude_regions takes a genome build ({', '.join(BUILDS)}), for its regions of long-range linkage, "
                f"or regions such as 6:25500000-33500000, got {entry!r}{did_you_mean(entry, BUILDS)}"
            )
            raise InvalidProblemError(msg)
        first, last = (int(written[place].replace("_", "").replace(",", "") or 0) for place in (2, 3))
        if first > last:
            msg = f"exclude_regions: {entry!r} ends before it begins"
            raise InvalidProblemError(msg)
        found.append(Region(plain_name(written[1]), first, last))
    return tuple(found)


def outside_regions(
    chromosomes: NDArray[np.object_], positions: NDArray[np.int64], regions: Iterable[Region]
) -> NDArray[np.bool_]:
    """Mark the variants that are in none of the regions."""
    if not (positions > 0).any():
        msg = "no variant has a position (all are 0), so that exclude_regions cannot tell which to leave out"
        raise InvalidDataError(msg)
    plain, outside = plain_names(chromosomes), np.ones(positions.size, dtype=bool)
    for region in regions:
        outside &= ~((plain == region.chromosome) & (positions >= region.first) & (positions <= region.last))
    return outside
