"""The two-way clustered error of a mean by plain loops, as a reference for the product's arrays."""

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

from scipy import stats

Fact = tuple[str, str]
"""A head and a tail."""


class Clusters:
    """Sums of deviations and shares of the facts by cluster. keys, of_facts: the cluster of each row, of each fact."""

    def __init__(self, keys: Sequence[Hashable], errors: Sequence[float], of_facts: Sequence[Hashable]) -> None:
        sums: dict[Hashable, float] = defaultdict(float)
        for key, error in zip(keys, errors, strict=True):
            sums[key] += error
        self.squares = sum(total**2 for total in sums.values()) / len(errors) ** 2
        fourth = sum(total**4 for total in sums.values()) / len(errors) ** 4
        shares = [count / len(of_facts) for count in Counter(of_facts).values()]
        self.simpson = sum(share**2 for share in shares)
        self.effective_count = 1 / self.simpson
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
    """Returns the standard error of the mean and its degrees of freedom. pairs: head and tail of each value."""
    mean = sum(values) / len(values)
    errors = [value - mean for value in values]
    facts = pairs if facts is None else facts
    heads = Clusters([head for head, _ in pairs], errors, [head for head, _ in facts])
    tails = Clusters([tail for _, tail in pairs], errors, [tail for _, tail in facts])
    crossed = Clusters(pairs, errors, facts)
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
    """Returns half the width of the 95 % interval of the mean."""
    error, degrees = standard_error_and_degrees(values, pairs, facts)
    return float(stats.t.ppf(0.975, degrees)) * error
