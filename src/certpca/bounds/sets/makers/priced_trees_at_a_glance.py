"""A short search for prices of features and trees, before the pair bound of many features is descended.

Where components have few features the trees find what each is worth at its prices exactly, or nearly so, within
seconds; where they have more they find nothing for minutes.
"""

from certpca.bounds.sets.makers import paired_prices, priced_trees
from certpca.bounds.sets.search import SetSearch

ORDER = 45
KINDS = priced_trees.KINDS
SHARE = 0.1  # of the time there is,
SECONDS = 10.0  # or as much, where there is no limit


def applies(search: SetSearch) -> bool:
    """Whether the pair bound would be next."""
    return priced_trees.applies(search) and paired_prices.applies(search)


def make(search: SetSearch) -> None:
    """Go on for a share of the time."""
    progress = search.progress
    until = progress.seconds + (SHARE * progress.remaining if progress.timed else SECONDS)
    priced_trees.find(search, lambda: progress.exhausted or progress.seconds > until, lambda: True)
