"""The template of each predicate, from MKJ's pool or drafted by a model (MKJ, Section 3.3), and how steps write their files."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medfact.answers.prompts import TEMPLATE
from medfact.datasets.text import open_text
from medfact.errors import FactsError, Mistake
from medfact.facts import Fact, digest
from medfact.prototypes import READY, load_pool
from medfact.runs.start import start_planned
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import Plan, Store
from medfact.writing.runs import drafts
from medfact.writing.templates import FORMS, Draft, problem_of, shown_triplet


def write_text(file: Path, text: str) -> None:
    """Replaces a file's text. Raises Mistake where the folder cannot be written."""
    beside = file.with_name(f".{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, file)
    except OSError as error:
        raise Mistake(f"{file.name} cannot be written: {error.strerror}.", "Choose another folder, or make room.") from None


def write_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Replaces a file's rows, one JSON object a line."""
    write_text(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_json(file: Path, content: Any) -> None:
    """Replaces a file's JSON."""
    write_text(file, json.dumps(content, ensure_ascii=False, indent=2) + "\n")


def read_lines(file: Path) -> list[dict[str, Any]]:
    """The rows of a file, none where it is not there. Raises FactsError, naming the line, where one is not an object."""
    if not file.is_file():
        return []
    rows = []
    with open_text(file) as stream:
        for number, line in enumerate(stream, 1):
            try:
                row = json.loads(line) if line.strip() else None
            except (ValueError, RecursionError):
                row = 0
            if row is not None and not isinstance(row, dict):
                raise FactsError(
                    f"{file.name}, line {number}: this is not a JSON object.", "Mend the line, or delete the file."
                )
            rows += [row] if row is not None else []
    return rows


FILE, STATE = "4-templates.jsonl", "construction.json"

UNREAD = "drafted, and nobody has accepted it: read it, set accepted to true in 4-templates.jsonl, and run again"


@dataclass(frozen=True)
class Template:
    """The sentence of a predicate, with [X] for the subject and [Y] for the object.

    by: who wrote it. accepted: by a person, who may change the sentence in the file too. problem: the rule that it breaks.
    """

    predicate: str
    sentence: str
    by: str
    accepted: bool
    problem: str | None


def usable(templates: Iterable[Template], accept_drafts: bool) -> dict[str, str]:
    """Predicate → sentence, of those that break no rule and that a person has accepted; of all such with accept_drafts."""
    return {one.predicate: one.sentence for one in templates if one.problem is None and (one.accepted or accept_drafts)}


def of_predicates(
    folder: Path,
    state: dict[str, Any],
    facts: Sequence[Fact],
    spec: RunSpec,
    store: Store,
    ask: Callable[[str], None],
    accept_drafts: bool,
) -> list[Template]:
    """A template for each predicate of the facts, as in the file, else of the pool, else drafted now. Writes the file."""
    examples: dict[str, Fact] = {}
    for fact in facts:
        examples.setdefault(fact.relation, fact)
    kept = {one.predicate: one for one in map(_of_row, read_lines(folder / FILE)) if one.accepted}
    pool = load_pool(READY)
    found: dict[str, Template] = {}
    for predicate in examples:
        name = pool.canonical(predicate)
        if predicate in kept:
            found[predicate] = kept[predicate]
        elif name is not None:
            found[predicate] = Template(predicate, pool.relations[name].sentences["none"], pool.title, True, None)
    missing = [fact for predicate, fact in examples.items() if predicate not in found]
    for draft in _drafted(folder, state, missing, spec, store, ask):
        sentence = draft.sentences.get("none", "")
        found.setdefault(draft.relation, Template(draft.relation, sentence, spec.model, False, draft.problem))
    for fact in missing:
        found.setdefault(fact.relation, Template(fact.relation, "", spec.model, False, "the model has not drafted it"))
    made = [found[predicate] for predicate in examples]
    write_lines(folder / FILE, map(dataclasses.asdict, made))
    return made


def _of_row(row: Mapping[str, Any]) -> Template:
    """A row as a person may have left it; its sentence is checked again."""
    predicate, sentence = str(row.get("predicate", "")), str(row.get("sentence", ""))
    accepted, is_drafted = row.get("accepted") is True, row.get("by") != load_pool(READY).title
    problem = problem_of(predicate, {"none": sentence}, FORMS[TEMPLATE]) if accepted and is_drafted else None
    return Template(predicate, sentence, str(row.get("by", "")), accepted, problem)


def _drafted(
    folder: Path, state: dict[str, Any], missing: Sequence[Fact], spec: RunSpec, store: Store, ask: Callable[[str], None]
) -> list[Draft]:
    """Drafts for predicates: of earlier runs, and of a new one for those that none has asked about."""
    runs: list[str] = state["runs"].setdefault(TEMPLATE, [])
    asked = {item.statement.fact.relation for run in runs for item in store.answers.asked(run)}
    new = [fact for fact in missing if fact.relation not in asked]
    if new:
        statements = (Statement(fact, TEMPLATE, "none", shown_triplet(fact, TEMPLATE)) for fact in new)
        plan = Plan.without_shots(folder.name, digest(*(fact.fact_id for fact in new)), TEMPLATE, statements)
        runs.append(start_planned(replace(spec, task=TEMPLATE), plan, store))
        write_json(folder / STATE, state)
    found: list[Draft] = []
    for run in runs:
        ask(run)
        found += drafts(run, store)
    return found
