"""How many facts of the bundled sets independent sources state, by set and relation, and what was read for that.

    python benchmarks/sources.py [SET ...]

one, two: facts that at least one, or two, sources state besides this project's editors: the source that the set names, and
those of which `assets/datasets/NAME.sources.csv` says that an editor read them and that they state the fact. Of two, none goes
back to the other (`medfact.datasets.sources.independent`). link: facts with a link to a page that states them, not to a front
page or a search alone. False facts stand on lines of their own.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.datasets import bundled_names, load_bundled
from medfact.datasets.bundled import rows_of
from medfact.datasets.sources import independent, sources_of
from medfact.facts import Fact


def line(name: str, facts: Sequence[Fact]) -> str:
    """A row of the table."""
    counts = [independent(sources_of(fact)) for fact in facts]
    link = sum(any(source.address and not source.opens for source in sources_of(fact)) for fact in facts)
    shares = (*(sum(count >= least for count in counts) for least in (1, 2)), link)
    return f"{name:<34} {len(facts):>6,}" + "".join(f" {count:>6,} {count / len(facts):>5.0%}" for count in shares)


def report(name: str) -> None:
    """The shares of a set, and how its proposals were decided."""
    facts = load_bundled(name).facts
    by_relation: dict[str, list[Fact]] = {}
    for fact in facts:
        by_relation.setdefault(fact.relation if fact.positive else f"{fact.relation}, false", []).append(fact)
    print(f"\n{name:<34}  facts    one          two          link")
    for relation, own in by_relation.items():
        print(line(relation, own))
    print(line("in all", facts))
    if decisions := Counter(row["decision"] for row in rows_of(f"{name}.sources.csv")):
        print(f"decided: {decisions.total():,}; " + ", ".join(f"{word} {count:,}" for word, count in decisions.most_common()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", choices=[*bundled_names(), []])
    for name in parser.parse_args().sets or bundled_names():
        report(name)


if __name__ == "__main__":
    main()
