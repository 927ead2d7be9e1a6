"""Retrieve-and-check of twenty diseases: what documents propose, and whether a careless checker is seen.

    python benchmarks/curate.py MEDQUAD [--into FOLDER] [--seeds 5]

MEDQUAD is a table of documents with the columns of MedQuAD (source, url, focus, synonyms, question_type, answer). An editor,
no clinician, has read each proposal beside its sentence (`curate_read.csv`). Reviewers are scripted: the editor, another who
decides the same but for slips in 5% of the decisions, one who accepts everything and one who presses at random. With --into,
the facts that the editor accepts are written there with their sentences, and everything that was proposed.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.curation.beginning import Begun, begin
from medfact.curation.checks import (
    ACCEPTED,
    ALL,
    REFUSED,
    Quality,
    Said,
    decided,
    fact_rows,
    pair_text,
    quality_of,
    reviewer_text,
    settled,
    standing,
)
from medfact.curation.proposals import Proposing
from medfact.datasets import load_file
from medfact.datasets.table_writer import write_table
from medfact.store import Candidate, Curation, CurationDecision, Store

DISEASES = (
    "gout", "asthma", "psoriasis", "kidney stones", "appendicitis", "gallstones", "glaucoma", "epilepsy", "lupus",
    "celiac disease", "pneumonia", "endometriosis", "malaria", "atrial fibrillation", "heart failure", "multiple sclerosis",
    "Parkinson disease", "rheumatoid arthritis", "cystic fibrosis", "Crohn disease",
)  # fmt: skip
RELATIONS = ("symptoms", "therapeutic drugs", "surgical procedures")
READ = Path(__file__).with_name("curate_read.csv")
EDITOR, CAREFUL, ALL_OF_THEM, AT_RANDOM = "editor", "careful", "accepts everything", "presses at random"
SLIPS = 0.05

Rule = Callable[[Candidate], CurationDecision]


def editor() -> Rule:
    """Decides as was read; refuses controls, and what nobody has read."""
    with READ.open(encoding="utf-8", newline="") as file:
        read = {(row["head"], row["relation"], row["tail"]): row for row in csv.DictReader(file)}

    def rule(one: Candidate) -> CurationDecision:
        row = read.get((one.head, one.relation, one.tail))
        if row is None or one.control:
            return decided(one, EDITOR, REFUSED)
        mended = row["head_instead"] or one.head, one.relation, row["tail_instead"] or one.tail
        return decided(one, EDITOR, row["decision"], mended)

    return rule


def careful(like: Rule, seed: int) -> Rule:
    """Decides like another, but for slips: accepts what is to be refused, and refuses the rest."""
    draws = random.Random(f"careful {seed}")

    def rule(one: Candidate) -> CurationDecision:
        right = like(one)
        return decided(one, CAREFUL, ACCEPTED if right.decision == REFUSED else REFUSED) if draws.random() < SLIPS else right

    return rule


def reviewers(seed: int) -> Iterator[tuple[str, Rule]]:
    draws = random.Random(f"random {seed}")
    yield EDITOR, editor()
    yield CAREFUL, careful(editor(), seed)
    yield ALL_OF_THEM, lambda one: decided(one, ALL_OF_THEM, ACCEPTED)
    yield AT_RANDOM, lambda one: decided(one, AT_RANDOM, draws.choice((ACCEPTED, REFUSED)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("documents", type=Path, metavar="MEDQUAD")
    parser.add_argument("--into", type=Path, help="a folder for the facts and the proposals")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


def measure(options: argparse.Namespace, folder: Path) -> None:
    (folder / "diseases.txt").write_text("\n".join(DISEASES), encoding="utf-8")
    store = Store(f"sqlite:///{folder / 'curations.db'}")
    seen = 0
    for seed in range(options.seeds):
        began = time.perf_counter()
        asked = Begun(options.documents, folder / "diseases.txt", RELATIONS, reviewers=4, how=Proposing(seed=seed))
        made = begin(asked, store, lambda _: None)
        seconds = time.perf_counter() - began
        candidates = store.curations.candidates(made.curation)
        said = checked(store, made, candidates, seed)
        quality = quality_of(candidates, said)
        seen += {one.name for one in quality.reviewers if one.is_careless} == {ALL_OF_THEM, AT_RANDOM}
        if seed == 0:
            print(f"{seconds:.1f} s to propose")
            describe(candidates, said)
            tell(quality)
            if options.into:
                write(options.into, candidates, said)
    print(f"the two careless ones are seen, and nobody else, in {seen} of {options.seeds} curations")


def checked(store: Store, made: Curation, candidates: list[Candidate], seed: int) -> Said:
    """What all scripted reviewers decide."""
    for name, rule in reviewers(seed):
        decisions = [CurationDecision(**{**vars(rule(one)), "reviewer": name}) for one in candidates]
        store.of(name).curations.record(made.curation, decisions)
    return standing(store.curations.log(made.curation))


def describe(candidates: list[Candidate], said: Said) -> None:
    """What was proposed, by relation, and what the editor decides."""
    with READ.open(encoding="utf-8", newline="") as file:
        read = {(row["head"], row["relation"], row["tail"]) for row in csv.DictReader(file)}
    for relation in RELATIONS:
        real = [one for one in candidates if one.relation == relation and not one.control]
        counts: Mapping[str, int] = {
            name: sum(said[one.position][f"{EDITOR}/{EDITOR}"].decision == name for one in real)
            for name in (ACCEPTED, "mended", REFUSED)
        }
        unread = sum((one.head, one.relation, one.tail) not in read for one in real)
        heads = len({one.head for one in real})
        print(f"{relation}: {len(real)} proposals of {heads} diseases, {counts}, {unread} of them unread")
    cued = [one for one in candidates if one.cue and not one.control]
    refused = sum(said[one.position][f"{EDITOR}/{EDITOR}"].decision == REFUSED for one in cued)
    print(f"{len(cued)} may deny by their words, {refused} of them are refused")
    print(f"{sum(one.control for one in candidates)} controls")


def tell(quality: Quality) -> None:
    print("\n".join([*map(reviewer_text, quality.reviewers), *map(pair_text, quality.pairs)]))


def write(folder: Path, candidates: list[Candidate], said: Said) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    own = {position: {name: one for name, one in of.items() if one.reviewer == EDITOR} for position, of in said.items()}
    write_table(fact_rows(settled(candidates, own, ALL, 1)), folder / "facts.csv")
    write_table((vars(one) for one in candidates), folder / "proposals.csv")
    facts = load_file(folder / "facts.csv").facts
    heads = {fact.head for fact in facts} & set(DISEASES)
    print(
        f"{len(facts)} facts, of {len(heads)} of the {len(DISEASES)} diseases, each with its sentence: {folder / 'facts.csv'}"
    )


if __name__ == "__main__":
    main()
