"""Retrieve-and-check of twenty diseases: what documents propose, and whether a careless checker is seen.

    python benchmarks/curate.py MEDQUAD [--into FOLDER] [--per-relation 10] [--seeds 5]

MEDQUAD is a table of documents with the columns of MedQuAD (source, url, focus, synonyms, question_type, answer). With --into,
the facts that are accepted are written there with their sentences, and everything that was proposed, to be read.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.curation.beginning import Begun, begin
from medfact.curation.checks import ACCEPTED, ALL, REFUSED, decided, fact_rows, settled, standing
from medfact.curation.names import Name, are_linked, with_known_names
from medfact.curation.proposals import Proposing
from medfact.curation.quality import quality_of
from medfact.curation.words import pair_text, reviewer_text
from medfact.datasets import load_file
from medfact.datasets.table_writer import write_table
from medfact.store import Candidate, Store

DISEASES = (
    "gout", "asthma", "psoriasis", "kidney stones", "appendicitis", "gallstones", "glaucoma", "epilepsy", "lupus",
    "celiac disease", "pneumonia", "endometriosis", "malaria", "atrial fibrillation", "heart failure", "multiple sclerosis", "Parkinson disease",
    "rheumatoid arthritis", "cystic fibrosis", "Crohn disease",
)  # fmt: skip
RELATIONS = ("symptoms", "therapeutic drugs", "surgical procedures")
SLIPS = 0.03

Rule = Callable[[Candidate], str]


def careful(seed: int) -> Rule:
    """Accepts what a bundled set links and no word denies, but for slips."""
    draws = random.Random(f"careful {seed}")

    def rule(one: Candidate) -> str:
        known = are_linked(with_known_names(Name(one.head)), with_known_names(Name(one.tail)))
        right = known and not one.cue and not one.control
        return ACCEPTED if right != (draws.random() < SLIPS) else REFUSED

    return rule


def at_random(seed: int) -> Rule:
    draws = random.Random(f"random {seed}")
    return lambda _: draws.choice((ACCEPTED, REFUSED))


def reviewers(seed: int) -> Iterator[tuple[str, Rule]]:
    yield "careful 1", careful(2 * seed)
    yield "careful 2", careful(2 * seed + 1)
    yield "accepts everything", lambda _: ACCEPTED
    yield "presses at random", at_random(seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("documents", type=Path, metavar="MEDQUAD")
    parser.add_argument("--into", type=Path, help="a folder for the facts and the proposals")
    parser.add_argument("--per-relation", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


def measure(options: argparse.Namespace, folder: Path) -> None:
    diseases = folder / "diseases.txt"
    diseases.write_text("\n".join(DISEASES), encoding="utf-8")
    store = Store(f"sqlite:///{folder / 'curations.db'}")
    seen = 0
    for seed in range(options.seeds):
        began = time.perf_counter()
        how = Proposing(per_relation=options.per_relation, seed=seed)
        made = begin(Begun(options.documents, diseases, RELATIONS, reviewers=4, how=how), store, lambda _: None)
        seconds = time.perf_counter() - began
        candidates = store.curations.candidates(made.curation)
        for name, rule in reviewers(seed):
            store.of(name).curations.record(made.curation, [decided(one, name, rule(one)) for one in candidates])
        said = standing(store.curations.log(made.curation))
        quality = quality_of(candidates, said)
        seen += [one.is_careless for one in quality.reviewers] == [True, False, False, True]
        if seed == 0:
            print(f"{seconds:.1f} s to propose")
            describe(candidates)
            print("\n".join([*map(reviewer_text, quality.reviewers), *map(pair_text, quality.pairs)]))
            if options.into:
                write(options.into, candidates, {p: {n: d for n, d in of.items() if "careful" in n} for p, of in said.items()})
    print(f"both careless reviewers are seen, and neither careful one is, in {seen} of {options.seeds} curations")


def describe(candidates: list[Candidate]) -> None:
    """What was proposed, by relation."""
    for relation in RELATIONS:
        real = [one for one in candidates if one.relation == relation and not one.control]
        known = sum(are_linked(with_known_names(Name(one.head)), with_known_names(Name(one.tail))) for one in real)
        heads = len({one.head for one in real})
        print(
            f"{relation}: {len(real)} proposals of {heads} diseases, {known} of them linked in a bundled set; "
            f"{sum(bool(one.cue) for one in real)} may deny"
        )
    print(f"{sum(one.control for one in candidates)} controls")


def write(folder: Path, candidates: list[Candidate], said: dict) -> None:  # type: ignore[type-arg]
    folder.mkdir(parents=True, exist_ok=True)
    found = settled(candidates, said, ALL, 2)
    write_table(fact_rows(found), folder / "facts.csv")
    write_table((vars(one) for one in candidates), folder / "proposals.csv")
    collection = load_file(folder / "facts.csv")
    heads = len({fact.head for fact in collection.facts})
    print(f"{len(collection.facts)} facts of {heads} diseases, each with its sentence, in {folder / 'facts.csv'}")


if __name__ == "__main__":
    main()
