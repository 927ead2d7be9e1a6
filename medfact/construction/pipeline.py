"""The steps of a construction, each with a file that shows what came of it. Running it again goes on where it was.

What a model wrote is in the database, what the UMLS answered in a file; all else is computed anew from these, so that a kill at
any moment loses nothing and nothing is asked twice.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medfact.answers.prompts import TERMS
from medfact.construction import templates
from medfact.construction.links import (
    Entry,
    Linked,
    entries_of,
    is_usable,
    known_of,
    link_locally,
    link_remotely,
    mkj_files,
    triplets_of,
)
from medfact.construction.templates import read_lines, write_json, write_lines
from medfact.errors import Mistake
from medfact.facts import Fact, digest, name_key
from medfact.references import UmlsApi
from medfact.runs.start import start_planned
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import Plan, Store

KEY = "medical_terminologies"

MOST_TERMS = 10
"""Terms of one question that are used; the instruction asks for 3 to 5."""

MOST_CHARACTERS = 200
"""Of a term; a longer one is a sentence."""

_LONGEST_REPLY = 50_000
_LONGEST_LITERAL = 10_000
"""Characters that are read with Python's grammar, which is slow on long ones."""

_TRAILING = re.compile(r",(\s*[\]}])")
_QUOTES = str.maketrans("“”„«»‘’", '"""""\'\'')


class NoTerms(ValueError):
    """A reply without terms; says what came instead."""


def terms_in(reply: str | None) -> tuple[str, ...]:
    """The terms in a reply, each once, in order. Raises NoTerms, which says what came instead, where there are none."""
    if reply is None or not reply.strip():
        raise NoTerms("the model wrote nothing")
    named = re.search(KEY, reply[:_LONGEST_REPLY], re.IGNORECASE) is not None
    for read in _objects(reply[:_LONGEST_REPLY]):
        found = list(_terms_in_json(read))
        if found:
            different: dict[str, str] = {}
            for term in found:
                different.setdefault(name_key(term), term)
            return tuple(different.values())[:MOST_TERMS]
    if named:
        raise NoTerms("the JSON cannot be read, or lists no term")
    raise NoTerms("there is no JSON with medical_terminologies in it")


def _objects(reply: str) -> Iterator[Any]:
    """What the reply holds as JSON or nearly so: the widest pieces between brackets first, then the list after the key."""
    spans = [(reply.find(opening), reply.rfind(closing)) for opening, closing in ("[]", "{}")]
    pieces = [reply[start : end + 1] for start, end in sorted(spans) if 0 <= start < end]
    pieces += re.findall(rf"\{{[^{{}}]*{KEY}[^{{}}]*\}}", reply, re.IGNORECASE)
    lists = re.findall(rf"{KEY}\W{{1,8}}?(\[[^\[\]]*\]?)", reply, re.IGNORECASE)
    pieces += [part if part.endswith("]") else f"{part.rsplit(',', 1)[0]}]" for part in lists]
    for piece in pieces:
        yield from _readings(piece)


def _readings(piece: str) -> Iterator[Any]:
    """A piece as JSON; with plain quotes and without trailing commas; with single quotes."""
    mended = _TRAILING.sub(r"\1", piece.translate(_QUOTES))
    for text in (piece, mended):
        try:
            yield json.loads(text)
            return
        except (ValueError, RecursionError):
            continue
    if len(mended) <= _LONGEST_LITERAL:
        try:
            yield ast.literal_eval(mended)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return


def _terms_in_json(read: Any, depth: int = 0) -> Iterator[str]:
    """The terms under the key, in objects and lists of objects; those of a bare list of texts."""
    if depth > 4:
        return
    if isinstance(read, dict):
        for key, value in read.items():
            if isinstance(key, str) and name_key(key) == name_key(KEY):
                yield from _texts(value)
            elif isinstance(value, list | dict):
                yield from _terms_in_json(value, depth + 1)
    elif isinstance(read, list):
        if depth == 0 and all(isinstance(one, str) for one in read):
            yield from _texts(read)
        for one in read:
            if isinstance(one, dict | list):
                yield from _terms_in_json(one, depth + 1)


def _texts(value: Any) -> Iterator[str]:
    """The usable texts of a list, or of one text with commas."""
    listed = value if isinstance(value, list | tuple) else value.split(",") if isinstance(value, str) else []
    for one in listed:
        text = " ".join(one.split()) if isinstance(one, str) else ""
        if text and len(text) <= MOST_CHARACTERS and text.isprintable() and name_key(text) and text != "...":
            yield text


STATE = "construction.json"
TERMS_FILE, LINKS_FILE, TRIPLETS_FILE = "1-terms.jsonl", "2-links.jsonl", "3-triplets.jsonl"
PROBLEMS_FILE, UMLS_FILE = "problems.jsonl", "umls-answers.jsonl"

RELATIONS_PER_TERM = 20

Ask = Callable[[str], None]
"""Asks the statements of a recorded run that have no answer. Raises MedfactError where it cannot."""


@dataclass(frozen=True)
class Settings:
    """What a construction is made of. umls: the folder's name, or "api". seed: of the draws; per_term: relations of a term."""

    questions: str
    model: str
    umls: str
    language: str = "ENG"
    sources: tuple[str, ...] = ()
    seed: int = 0
    per_term: int = RELATIONS_PER_TERM


@dataclass(frozen=True)
class Step:
    """What came of a step: how many, and how many have a problem. file: where it stands."""

    step: str
    file: str
    made: int
    problems: int


def open_construction(folder: Path, settings: Settings) -> dict[str, Any]:
    """The state of the construction in a folder, begun now if there is none.

    Raises Mistake where the folder holds a construction with other settings, or other files.
    """
    file, now = folder / STATE, json.loads(json.dumps(dataclasses.asdict(settings)))
    if not file.is_file():
        if folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir()):
            raise Mistake(f"The folder {folder.name} holds other files.", "Give a new folder with --into.")
        write_json(file, {"settings": now, "runs": {}})
    try:
        state: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        before = state["settings"]
    except (ValueError, KeyError, TypeError, OSError):
        raise Mistake(f"{STATE} in {folder.name} cannot be read.", "Give a new folder with --into.") from None
    if differing := [name for name in now if before.get(name) != now[name]]:
        raise Mistake(
            f"The folder {folder.name} holds a construction with other settings: {', '.join(differing)}.",
            "Give a new folder with --into, or the settings of that one.",
        )
    return state


def construct(
    folder: Path,
    questions: Sequence[str],
    settings: Settings,
    umls: Path | None,
    spec: RunSpec,
    store: Store,
    ask: Ask,
    accept_drafts: bool = False,
) -> Iterator[Step]:
    """Makes, or goes on making, a data set in a folder; yields each step once its file is there.

    umls: the folder of the RRF files; None asks the REST API. spec: the model and how it is asked. accept_drafts: whether
    drafted templates are used that nobody has accepted in their file. Raises MedfactError.
    """
    state = open_construction(folder, settings)
    rows = _terms(folder, state, questions, spec, store, ask)
    yield Step("terms", TERMS_FILE, sum(len(row["terms"]) for row in rows), sum(bool(row["problem"]) for row in rows))
    linked = _links(folder, rows, settings, umls)
    yield Step("links", LINKS_FILE, sum(len(one.links) for one in linked), sum(not one.links for one in linked))
    facts = triplets_of(linked)
    write_lines(folder / TRIPLETS_FILE, ({"subject": f.head, "predicate": f.relation, "object": f.tail} for f in facts))
    yield Step("triplets", TRIPLETS_FILE, len(facts), sum(len(one.links) for one in linked) - len(facts))
    sentences = templates.of_predicates(folder, state, facts, spec, store, ask, accept_drafts)
    used = templates.usable(sentences, accept_drafts)
    yield Step("templates", templates.FILE, len(used), len(sentences) - len(used))
    entries = list(entries_of(facts, known_of(facts, linked), settings.seed))
    for name, content in mkj_files(entries, facts, used).items():
        write_json(folder / name, content)
    usable = sum(is_usable(entry, used) for entry in entries)
    write_lines(folder / PROBLEMS_FILE, _problems(rows, linked, sentences, entries, used))
    yield Step("statements", "data.json", usable, len(entries) - usable)


# ---------------------------------------------------------------------------------------------- terms


def terms_plan(questions: Sequence[str], name: str) -> Plan:
    """The plan of the run that asks for the terms of each question."""
    facts = (Fact(question, "asks for", "medical terms") for question in questions)
    statements = (Statement(fact, TERMS, "none", fact.head) for fact in facts)
    return Plan.without_shots(name, digest(*questions), TERMS, statements)


def _terms(
    folder: Path, state: dict[str, Any], questions: Sequence[str], spec: RunSpec, store: Store, ask: Ask
) -> list[dict[str, Any]]:
    """A row for each question: its terms, or why there are none."""
    if TERMS not in state["runs"]:
        run = start_planned(replace(spec, task=TERMS), terms_plan(questions, folder.name), store)
        state["runs"][TERMS] = run
        write_json(folder / STATE, state)
    ask(state["runs"][TERMS])
    rows = []
    for item in store.answers.asked(state["runs"][TERMS]):
        row: dict[str, Any] = {"question": item.statement.text, "terms": [], "problem": None}
        try:
            if item.answer is None:
                row["problem"] = "not asked yet"
            elif item.answer.failure is not None:
                row["problem"] = f"the call failed: {item.answer.failure}"
            else:
                row["terms"] = list(terms_in(item.answer.raw))
        except NoTerms as error:
            row["problem"] = str(error)
        rows.append(row)
    write_lines(folder / TERMS_FILE, rows)
    return rows


# ---------------------------------------------------------------------------------------------- links


def _links(folder: Path, rows: Iterable[Mapping[str, Any]], settings: Settings, umls: Path | None) -> list[Linked]:
    """Each different term with its concept and relations. The file is read again where it is of the same terms."""
    terms = list({name_key(term): term for row in rows for term in row["terms"]}.values())
    before = read_lines(folder / LINKS_FILE)
    if [row.get("term") for row in before] == terms:
        return [Linked.of_row(row) for row in before]
    if umls is not None:
        linked = link_locally(terms, umls, settings.language, settings.sources, settings.seed, settings.per_term)
    else:
        linked = list(link_remotely(terms, UmlsApi(folder / UMLS_FILE), settings.seed, settings.per_term))
    write_lines(folder / LINKS_FILE, (one.row() for one in linked))
    return linked


# ---------------------------------------------------------------------------------------------- problems


def _problems(
    rows: Iterable[Mapping[str, Any]],
    linked: Iterable[Linked],
    sentences: Iterable[templates.Template],
    entries: Iterable[Entry],
    used: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    """Everything that was left out, and why: a row each."""
    yield from ({"step": "terms", "about": row["question"], "problem": row["problem"]} for row in rows if row["problem"])
    for one in linked:
        if problem := one.row()["problem"]:
            yield {"step": "links", "about": one.term, "problem": problem}
    for template in sentences:
        if template.predicate not in used:
            yield {"step": "templates", "about": template.predicate, "problem": template.problem or templates.UNREAD}
    for entry in entries:
        if entry.fact.relation in used and not is_usable(entry, used):
            about = f"{entry.fact.head} — {entry.fact.relation} → {entry.fact.tail}"
            problem = f"only {len(entry.false)} other objects of its semantic type are safe to call false"
            yield {"step": "statements", "about": about, "problem": problem}
