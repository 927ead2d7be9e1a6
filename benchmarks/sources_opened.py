"""Whether sources that count as stating a fact do so: a sample drawn at random, opened and read.

    python benchmarks/sources_opened.py FOLDER                     # whether each place of the list is there
    python benchmarks/sources_opened.py FOLDER --draw 60 --seed 44      # another sample to read

FOLDER holds `medquad.parquet` (columns source, url, answer) and `cdsi_vaccines.tsv` (disease, observation_code, text). The list
is `assets/datasets/sources_opened.csv`: what somebody read at each source. *yes*: it says the fact; *partly*: it says so of a
wider or narrower disease or group, or less plainly; *no*: it does not.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyarrow.parquet as parquet

from medfact.datasets import bundled_names
from medfact.datasets.bundled import rows_of
from medfact.datasets.sources import STATES
from medfact.metrics.uncertainty import wilson

LIST = "sources_opened.csv"
RULES = "CDC: decision support for vaccines"
ANSWERS = ("yes", "partly", "no")

Place = tuple[str, str]
"""Name of a source, and an identifier of it."""

Stated = tuple[str, str, str, str, str, str, str]
"""Data set, head, relation, tail, whether it is true, source, identifier."""


def read_passages(folder: Path) -> Mapping[Place, str]:
    """What stands at each place, with single spaces."""
    found: defaultdict[Place, str] = defaultdict(str)
    for row in parquet.read_table(folder / "medquad.parquet", columns=["source", "url", "answer"]).to_pylist():
        found[row["source"], row["url"]] += f"{' '.join(row['answer'].split())}\n"
    with (folder / "cdsi_vaccines.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            found[RULES, f"CDSi {row['disease']} {row['observation_code']}"] += f"{row['text']}\n"
    return found


def stated() -> Iterator[Stated]:
    """Each fact of the bundled sets with each source that counts as stating it."""
    for name in bundled_names():
        truth = {}
        for row in rows_of(f"{name}.csv"):
            fact = row["head"], row["relation"], row["tail"]
            truth[fact] = row.get("positive", "true")
            yield name, *fact, truth[fact], row["source"], row["source_id"]
        for row in rows_of(f"{name}.sources.csv"):
            if row["decision"] == STATES:
                fact = row["head"], row["relation"], row["tail"]
                yield name, *fact, truth[fact], row["source"], row["source_id"]


def draw(passages: Mapping[Place, str], count: int, seed: int) -> Iterator[Stated]:
    """A fact at random among those with a source at hand, and one of its sources."""
    at_hand = sorted({one for one in stated() if one[5:] in passages})
    of_fact: defaultdict[tuple[str, ...], list[Stated]] = defaultdict(list)
    for one in at_hand:
        of_fact[one[:5]].append(one)
    chance = Random(seed)
    for fact in chance.sample(sorted(of_fact), count):
        yield chance.choice(of_fact[fact])


def check(passages: Mapping[Place, str]) -> None:
    """Prints how many of the list say the fact, and every row whose source is not there."""
    rows = list(rows_of(LIST))
    for row in rows:
        if (row["source"], row["source_id"]) not in passages:
            print(f"not there: {row['source']}, {row['source_id']}")
    says = Counter(row["says"] for row in rows)
    for answer in ANSWERS:
        low, high = wilson(says[answer] / len(rows), len(rows))
        print(f"{answer}: {says[answer]} of {len(rows)} ({says[answer] / len(rows):.1%}; {low:.1%} to {high:.1%})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--draw", type=int, metavar="N", help="print so many facts to read, and check nothing")
    parser.add_argument("--seed", type=int, default=44)
    options = parser.parse_args()
    passages = read_passages(options.folder)
    if options.draw is None:
        check(passages)
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerows(draw(passages, options.draw, options.seed))


if __name__ == "__main__":
    main()
