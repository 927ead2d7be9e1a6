"""How hard the bundled sets' negatives are, and whether a name gives the label away, per relation.

    python benchmarks/negatives.py ENCODER [SET ...] [--difficulty closest] [--seed 7]

near: share of near negatives in the draw of seed 0. tail: AUC with which a tail alone, by its share of positives over nine
other seeds' draws, tells the label (of a set with negatives of its own: by its share under the other heads). words: AUC of the
cosine of head and tail under a sentence encoder, over all pairs and over near ones; 0.5 is a coin. `--difficulty closest` asks
for those instead of near ones, `--seed` draws with another seed. `--save` writes what word matching scores, with the threshold
that suits the facts kept aside, to assets/datasets/words_alone.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy.stats import rankdata

from medfact.assets import ASSETS
from medfact.datasets import bundled_names, grouping, load_bundled
from medfact.datasets.collection import Collection
from medfact.facts import Fact
from medfact.models.words_alone import Likeness, best_threshold, encoder_likeness
from medfact.negatives import CLOSEST, NEAR
from medfact.runs.plan import select_facts
from medfact.spec import RunSpec

OTHER_SEEDS = 9
"""So many seeds after the drawn one tell how often a tail is false."""
Pair = tuple[Fact, Fact]
Score = Callable[[Fact], float]


def auc(true: Sequence[float], false: Sequence[float]) -> float:
    """Chance that a true fact scores higher than a false one; a tie counts half."""
    ranks = rankdata([*true, *false])
    return (
        float((ranks[: len(true)].sum() - len(true) * (len(true) + 1) / 2) / len(true) / len(false)) if false else float("nan")
    )


@dataclass(frozen=True)
class Draw:
    """Which false partners are looked at."""

    seed: int = 0
    difficulty: str = NEAR


def drawn(collection: Collection, draw: Draw) -> list[Pair]:
    """Each true fact with its first false partner."""
    group = grouping(collection, 1, draw.seed, draw.difficulty)
    members = (group(fact) for fact in collection.facts if fact.positive)
    return [(group[0], group[1]) for group in members if len(group) > 1]


def tail_share(collection: Collection, draw: Draw) -> Score:
    """A tail's share of positives: over other seeds' draws, or under the other heads where the file has its own negatives."""
    own = [fact for fact in collection.facts if not fact.positive]
    facts = (
        [*own, *(f for f in collection.facts if f.positive)]
        if own
        else [f for s in range(1, 1 + OTHER_SEEDS) for p in drawn(collection, replace(draw, seed=draw.seed + s)) for f in p]
    )
    true = Counter((f.relation, f.tail) for f in facts if f.positive)
    false = Counter((f.relation, f.tail) for f in facts if not f.positive)
    here = Counter((f.relation, f.tail, f.head, f.positive) for f in facts) if own else Counter()

    def share(fact: Fact) -> float:
        key = fact.relation, fact.tail
        ups = true[key] - here[(*key, fact.head, True)]
        downs = false[key] - here[(*key, fact.head, False)]
        return ups / (ups + downs) if ups + downs else 0.5

    return share


def sides(collection: Collection, draw: Draw) -> tuple[list[Fact], list[Fact]]:
    """True and false facts: of the file, where it has false ones, else of the draw."""
    if any(not fact.positive for fact in collection.facts):
        return [f for f in collection.facts if f.positive], [f for f in collection.facts if not f.positive]
    pairs = drawn(collection, draw)
    return [true for true, _ in pairs], [false for _, false in pairs]


def line(name: str, true: list[Fact], false: list[Fact], share: Score, words: Score, difficulty: str) -> str:
    near = [fact.difficulty == difficulty for fact in false]
    partners = {fact.negative_of for fact, is_near in zip(false, near, strict=True) if is_near}
    of_near = [fact for fact in true if fact.fact_id in partners]
    by_tail = auc([*map(share, true)], [*map(share, false)])
    by_words = auc([*map(words, true)], [*map(words, false)])
    near_words = auc([*map(words, of_near)], [words(f) for f, is_near in zip(false, near, strict=True) if is_near])
    return f"| {name} | {len(true):,} | {100 * np.mean(near):.1f} % | {by_tail:.3f} | {by_words:.3f} | {near_words:.3f} |"


def cosines(likeness: Likeness, collection: Collection, draw: Draw) -> Score:
    """The cosine of a fact's names, computed at once for every head with every tail of its relation that is asked of it."""
    selection = select_facts(spec_of(collection.name, draw))
    facts = [*sides(collection, draw)[0], *sides(collection, draw)[1], *selection.test, *selection.shots]
    triplets = sorted({(fact.head, fact.relation, fact.tail or "") for fact in facts})
    found = dict(zip(triplets, likeness(triplets), strict=True))
    return lambda fact: found[fact.head, fact.relation, fact.tail or ""]


def spec_of(dataset: str, draw: Draw) -> RunSpec:
    """A run of the whole set with these false partners."""
    return RunSpec(model="", dataset=dataset, seed=draw.seed, negative_difficulty=draw.difficulty)


def words_alone(dataset: str, words: Score, draw: Draw) -> dict[str, float]:
    """What word matching scores on a whole set, with its threshold from the facts kept aside."""
    selection = select_facts(spec_of(dataset, draw))
    aside = [fact for fact in selection.shots if fact.tail]
    threshold = best_threshold(np.array([*map(words, aside)]), np.array([fact.positive for fact in aside]))
    right = {fact.fact_id: (words(fact) > threshold) == fact.positive for fact in selection.test}
    pairs = [(right[f.fact_id], right[f.negative_of]) for f in selection.test if f.negative_of in right]
    share = round(float(np.mean(list(right.values()))), 4)
    both = round(float(np.mean([a and b for a, b in pairs])), 4)
    return {"facts": len(right), "average_accuracy": share, "joint_accuracy": share, "pair_joint_accuracy": both}


def main() -> None:
    """Prints a table per set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("encoder", help="a sentence-transformers folder or repository")
    parser.add_argument("sets", nargs="*", default=bundled_names())
    parser.add_argument("--difficulty", choices=(NEAR, CLOSEST), default=NEAR)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    draw = Draw(options.seed, options.difficulty)
    if options.save and draw != Draw():
        parser.error("what --save writes is of near ones and seed 0")
    likeness, scores = encoder_likeness(options.encoder), {}
    for name in options.sets:
        collection = load_bundled(name)
        share, (true, false) = tail_share(collection, draw), sides(collection, draw)
        words = cosines(likeness, collection, draw)
        headings = f"| relation | pairs | {draw.difficulty} | tail | words | words, {draw.difficulty} |"
        print(f"\n**{name}**\n\n{headings}\n|---|---|---|---|---|---|")
        for relation in sorted({fact.relation for fact in true}):
            print(
                line(
                    relation,
                    [f for f in true if f.relation == relation],
                    [f for f in false if f.relation == relation],
                    share,
                    words,
                    draw.difficulty,
                )
            )
        print(line("in all", true, false, share, words, draw.difficulty))
        scores[name] = words_alone(name, words, draw)
        print(f"\nWord matching, which knows no medicine: {scores[name]}")
    if options.save:
        Path(ASSETS / "datasets" / "words_alone.json").write_text(json.dumps(scores, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
