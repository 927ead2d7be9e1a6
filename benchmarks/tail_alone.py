"""What a tail alone tells of the label to a model that trains on some heads of a bundled set and is tested on others.

    python benchmarks/tail_alone.py [SET ...] [--seeds 0 1 7] [--halves 5]

A fact's score is the share of true facts that its tail has in the same relation under the heads learned from; 0.5 where it has
none. The AUC says how often a true fact scores above a false one: 0.5 is a coin, and below it the tail tells the opposite.

others: learned on all other heads of the same draw.
halves: the heads are split at random; learned on each half, tested on the other, in one draw of the whole set.
apart: split in the same way, and each half draws its false partners from its own facts, as two files do.
other draw: learned on all heads of another seed's draw, the tested ones too: what `negatives.py` calls *tail*.

A set with false facts of its own has one draw, so nothing under *apart* and *other draw*. Each figure is a mean over seeds and
splits; in brackets stand the lowest and the highest of a seed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import mean

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from negatives import Draw, auc, drawn

from medfact.datasets import bundled_names, load_bundled
from medfact.datasets.collection import Collection
from medfact.facts import Fact

WAYS = ("others", "halves", "apart", "other draw")
OTHER_SEED = 1000
"""How far the seed of the other draw is from that of the tested one."""


class Tails:
    """How often each tail is true and false in each relation, in all and under each head."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._counts = Counter[tuple[object, ...]]()
        for fact in facts:
            self._counts[fact.relation, fact.tail, fact.positive] += 1
            self._counts[fact.relation, fact.tail, fact.positive, fact.head] += 1

    def share(self, fact: Fact, without: str | None = None) -> float:
        """The share of true facts of a fact's tail, without those of one head; 0.5 where there are none."""
        ups, downs = (
            self._counts[fact.relation, fact.tail, truth] - self._counts[fact.relation, fact.tail, truth, without]
            for truth in (True, False)
        )
        return ups / (ups + downs) if ups + downs else 0.5


def facts_of(collection: Collection, seed: int) -> list[Fact]:
    """True and false facts: those of the file where it has false ones, else a draw with one partner each."""
    if has_own_negatives(collection):
        return list(collection.facts)
    return [fact for pair in drawn(collection, Draw(seed)) for fact in pair]


def has_own_negatives(collection: Collection) -> bool:
    return any(not fact.positive for fact in collection.facts)


def told(tested: Sequence[Fact], scores: Sequence[float]) -> float:
    """The AUC of scores of facts."""
    true = [score for fact, score in zip(tested, scores, strict=True) if fact.positive]
    return auc(true, [score for fact, score in zip(tested, scores, strict=True) if not fact.positive])


def others(facts: Sequence[Fact]) -> float:
    """Learned on all other heads of the same draw."""
    tails = Tails(facts)
    return told(facts, [tails.share(fact, fact.head) for fact in facts])


def split(collection: Collection, number: int) -> tuple[frozenset[str], frozenset[str]]:
    """The heads in two halves."""
    heads = sorted({fact.head for fact in collection.facts})
    Random(number).shuffle(heads)
    middle = len(heads) // 2
    return frozenset(heads[:middle]), frozenset(heads[middle:])


def learned_on_one_half(one: Sequence[Fact], other: Sequence[Fact]) -> float:
    """Learned on each half and tested on the other."""
    facts = [*one, *other]
    return told(facts, [*map(Tails(other).share, one), *map(Tails(one).share, other)])


def part(collection: Collection, heads: frozenset[str]) -> Collection:
    """The facts of these heads as a set of their own, with all that is known of their names."""
    facts = tuple(fact for fact in collection.facts if fact.head in heads)
    known = tuple(fact for fact in collection.known.facts if fact.head in heads)
    return replace(collection, facts=facts, known=replace(collection.known, facts=known))


def figures(collection: Collection, seed: int, halves: int) -> Iterator[tuple[str, float]]:
    """The way of learning, and its AUC."""
    facts = facts_of(collection, seed)
    yield "others", others(facts)
    own = has_own_negatives(collection)
    if not own:
        yield "other draw", told(facts, [*map(Tails(facts_of(collection, seed + OTHER_SEED)).share, facts)])
    for number in range(halves):
        one, other = split(collection, number)
        yield "halves", learned_on_one_half([f for f in facts if f.head in one], [f for f in facts if f.head in other])
        if not own:
            yield "apart", learned_on_one_half(*(facts_of(part(collection, heads), seed) for heads in (one, other)))


def cell(by_seed: Sequence[float]) -> str:
    """The mean over seeds, with the lowest and the highest."""
    if not by_seed:
        return "none"
    return f"{mean(by_seed):.2f}" + (f" ({min(by_seed):.2f} to {max(by_seed):.2f})" if len(by_seed) > 1 else "")


def row(collection: Collection, seeds: Sequence[int], halves: int) -> str:
    """A set's row of the table."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    seeds = seeds[:1] if has_own_negatives(collection) else seeds
    for seed in seeds:
        of_seed = list(figures(collection, seed, halves))
        for way in WAYS:
            if values := [value for name, value in of_seed if name == way]:
                found[way].append(mean(values))
    return f"| {collection.name} | {len(facts_of(collection, seeds[0])):,} | " + " | ".join(map(cell, found.values())) + " |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", choices=[*bundled_names(), []])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 7])
    parser.add_argument("--halves", type=int, default=5, help="how many random splits of the heads")
    options = parser.parse_args()
    print("| set | facts | " + " | ".join(WAYS) + " |\n" + "|---" * (len(WAYS) + 2) + "|")
    for name in options.sets or bundled_names():
        print(row(load_bundled(name), options.seeds, options.halves), flush=True)


if __name__ == "__main__":
    main()
