"""The two-way clustered error of a mean by plain loops, as a reference for the product's arrays."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from scipy import stats

Fact = tuple[str, str]
"""The head and the tail of a fact."""


class Clusters:
    """Sums over the clusters of one grouping: by head, by tail, or by both.

    keys: the cluster of each value. deviations: each value less the mean. fact_keys: the cluster of each fact, from which the
    shares of the clusters are computed.
    """

    def __init__(self, keys: Sequence[Hashable], deviations: Sequence[float], fact_keys: Sequence[Hashable]) -> None:
        sums: dict[Hashable, float] = defaultdict(float)
        for key, deviation in zip(keys, deviations, strict=True):
            sums[key] += deviation
        self.squares = sum(total**2 for total in sums.values()) / len(deviations) ** 2  # variance of the mean, biased downwards
        fourth = sum(total**4 for total in sums.values()) / len(deviations) ** 4
        shares = [count / len(fact_keys) for count in Counter(fact_keys).values()]
        self.simpson = sum(share**2 for share in shares)  # probability that two draws of a fact share a cluster
        self.effective_count = 1 / self.simpson  # of clusters
        excess = fourth / self.squares**2 - self.simpson if self.squares else 0.0
        self.degrees = max(1.0, min(self.effective_count - 1, 2 / excess if excess > 0 else math.inf))
        # expected Σ (share · (u − Σ share · u))² of effects u of variance 1, term by term
        self.expected_square = sum(
            share**2 * ((1 - share) ** 2 + sum(other**2 for index, other in enumerate(shares) if index != number))
            for number, share in enumerate(shares)
        )


def standard_error_and_degrees(
    values: Sequence[float], pairs: Sequence[Fact], facts: Sequence[Fact] | None = None
) -> tuple[float, float]:
    """Returns the standard error of the mean, clustered by head and by tail, and its degrees of freedom, not a whole number.

    pairs: head and tail of each value. facts: those from which the sizes of the clusters are counted; None for `pairs`.
    """
    mean = sum(values) / len(values)
    deviations = [value - mean for value in values]
    facts = pairs if facts is None else facts
    heads = Clusters([head for head, _ in pairs], deviations, [head for head, _ in facts])
    tails = Clusters([tail for _, tail in pairs], deviations, [tail for _, tail in facts])
    crossed = Clusters(pairs, deviations, facts)
    by_head = heads.squares * heads.simpson / heads.expected_square
    seen = tails.expected_square - (1 - tails.simpson) * crossed.simpson
    added = 0.0
    if tails.effective_count >= 2 and tails.simpson > crossed.simpson and seen > 0:
        added = max(0, tails.squares - (1 - tails.simpson) * crossed.squares) * (tails.simpson - crossed.simpson) / seen
    tail_count = max(tails.effective_count, 1.5)
    added *= (tail_count / (tail_count - 1)) ** 2  # the mean of few tails lies close to each of them
    head_degrees, tail_degrees = heads.degrees, tails.degrees
    if by_head + added == 0:
        return 0.0, head_degrees
    degrees = (by_head + added) ** 2 / (by_head**2 / head_degrees + added**2 / tail_degrees)
    return math.sqrt(by_head + added), degrees


def half_width(values: Sequence[float], pairs: Sequence[Fact], facts: Sequence[Fact] | None = None) -> float:
    """Returns half the width of the 95 % t-interval of the mean; parameters as of `standard_error_and_degrees`."""
    error, degrees = standard_error_and_degrees(values, pairs, facts)
    return float(stats.t.ppf(0.975, degrees)) * error
