"""A visitor's own files on the page Evaluate: facts, sentence templates and documents, taken, checked, and put away again."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from medfact.assets import ENGLISH, language_names
from medfact.caching import shared_cache
from medfact.datasets import bundled_names
from medfact.datasets.columns import CONSTANT, PATIENTS, RENAMED, REQUIRED, SPLIT, named_columns
from medfact.datasets.guessing import COMMAS, Guess
from medfact.datasets.isolated import count_passages, fails_again, guess_isolated
from medfact.errors import MedfactError, MissingColumns, Mistake
from medfact.languages import language_of
from medfact.prototypes import check_relations, load_pool
from medfact.results.wording import counted, with_plain_columns
from medfact.spec import NO_RETRIEVAL
from medfact.views.fragments import render
from medfact.web.evaluate import facts_step
from medfact.web.evaluate.form import EvaluateShow, People, Setup, Unmapped, changed, columns_in, setup_in
from medfact.web.evaluate.spec import source_of
from medfact.web.pages import Act, Action, Message, Visitor
from medfact.web.services import collection_of

_log = logging.getLogger(__package__)

ONE_RELATION = "(one relation for all rows)"
ROLES = {"head": "condition", "relation": "relation", "tail": "finding"}
SHOWN_CELL = 60

guess_of = shared_cache(64, is_permanent=fails_again)(guess_isolated)
"""The headers of a visitor's table, and what is guessed of it. Raises FactsError."""


def is_asked(guess: Guess) -> bool:
    """Whether a person has to say or confirm something before the table is read."""
    return bool(guess.personal or guess.open or guess.wide or guess.marks or guess.splits)


def waiting_for(file: Path, headers: Sequence[str], people: People = "", personal: Sequence[str] = ()) -> dict[str, object]:
    """What of the set-up changes where a table waits for a person. personal: columns that may be about patients."""
    asks_people = personal and not people
    reason = f"First say whether {file.name} is about patients." if asks_people else f"First match the columns of {file.name}."
    return {"mapping": Unmapped(path=str(file), columns=list(headers[:200]), people=people), "pending": reason}


def mapping(visitor: Visitor, setup: Setup) -> Markup:
    """The columns of a file that waits for them, or of that in use. Nothing of a table that may be about patients is shown
    before a person has said what to do.
    """
    try:
        file, given, people, headers, guess = _table(visitor, setup)
    except MedfactError:
        return Markup()  # said where the facts stand
    is_plain = not given and named_columns(list(headers)).keys() >= ROLES.keys() and not guess.personal
    if setup.mapping is None and is_plain:
        return Markup()  # nothing was guessed
    if guess.personal and not people:
        return render("facts_personal", name=file.name, personal=guess.personal)
    guessed = {"relation": f"{CONSTANT}{guess.relation}"} if guess.relation else {}
    columns = {**guessed, **guess.columns, **given}
    relation = columns.get("relation", "")
    shown = [name for name in headers if name not in guess.personal]
    places = [at for at, name in enumerate(headers) if name in shown]
    return render(
        "facts_mapping",
        name=file.name,
        waiting=setup.mapping is not None,
        roles=[(role, label, columns.get(role, ""), role in guess.open) for role, label in ROLES.items()],
        headers=shown,
        left_out=guess.personal,
        rows=[[row[at][:SHOWN_CELL] if at < len(row) else "" for at in places] for row in guess.sample],
        one_relation=ONE_RELATION,
        constant=relation.removeprefix(CONSTANT) if relation.startswith(CONSTANT) else "",
        wide=guess.wide,
        marks=guess.marks,
        splits=list(_splits(headers, guess, given)),
    )


def _table(visitor: Visitor, setup: Setup) -> tuple[Path, dict[str, str], str, tuple[str, ...], Guess]:
    """The file that waits for its columns, or that in use: what was said of its columns, and of those about patients, its
    headers, and what is guessed of it. Raises MedfactError.
    """
    waiting = setup.mapping
    given = {} if waiting else columns_in(setup.source)
    people = waiting.people if waiting else given.get(PATIENTS, "").removeprefix(CONSTANT)
    file = visitor.services.uploads.of(visitor.owner, waiting.path if waiting else (setup.source or {}).get("facts"))
    return file, given, people, *guess_of(str(file), people)


def _splits(headers: tuple[str, ...], guess: Guess, given: Mapping[str, str]) -> Iterator[tuple[str, list[str], bool]]:
    """A cell with several names of each column that has such, the names, and whether it is likely a list."""
    for name, sign in guess.splits.items():
        at = headers.index(name)
        cells = [row[at] for row in guess.sample if at < len(row) and sign in row[at]]
        cell = cells[0] if cells else f"…{sign}…"
        whole = f"{CONSTANT}none"
        is_likely = given.get(f"{SPLIT}:{name}", whole) != whole if given else sign not in COMMAS
        yield " ".join(cell.split()), [part.strip() for part in cell.split(sign) if part.strip()], is_likely


def chosen_columns(guess: Guess, people: str, fields: Mapping[str, str]) -> dict[str, str]:
    """The column map of what a person chose. Raises Mistake, which names what is missing."""
    chosen = {role: fields.get(role, "") for role in ROLES}
    spread = guess.column_map() if (guess.wide or guess.marks) and not chosen["tail"] else {}
    if spread and chosen["relation"] not in ("", ONE_RELATION):
        spread["relation"] = chosen["relation"]
    constant = fields.get("constant", "").strip()
    if chosen["relation"] in ("", ONE_RELATION):
        chosen["relation"] = f"{CONSTANT}{constant}" if constant and not guess.wide else ""
    said = {role: name for role, name in chosen.items() if name}
    in_spread = {"tail"} | ({"relation"} if guess.wide else set()) if spread else set()
    if missing := [label for role, label in ROLES.items() if role not in said.keys() | in_spread]:
        raise Mistake(
            f"Which column holds the {missing[0]}?",
            "Choose it, or type one relation for all rows." if missing[0] == ROLES["relation"] else "Choose one.",
        )
    splits = {f"{SPLIT}:{name}": f"{CONSTANT}{sign if 'split' in fields else 'none'}" for name, sign in guess.splits.items()}
    return {**spread, **said, **splits, **({PATIENTS: f"{CONSTANT}{people}"} if people else {})}


# ------------------------------------------------------------------------------------------------ facts


def take_file(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes an uploaded file of facts; asks first where its columns are not clear, or may be about patients."""
    file = visitor.services.uploads.of(visitor.owner, action.about)
    show = _at_first(show)
    try:
        headers, guess = guess_of(str(file), "")
        if is_asked(guess):
            return changed(visitor, show, **waiting_for(file, headers, personal=guess.personal)), Message()
        return _taken(visitor, show, {"facts": str(file), "columns": []}, file.name)
    except MissingColumns as error:
        return changed(visitor, show, **waiting_for(file, error.columns)), Message(with_plain_columns(error.public), "warn")
    except MedfactError as error:
        _log.debug("A facts file was refused.", exc_info=True)
        said = Message(with_plain_columns(error.public), "warn")
        return changed(visitor, show, mapping=None, pending=f"{file.name} is not in use."), said


def say_people(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Goes on with a table of which a person has said that columns about patients are left out, or are about nobody."""
    waiting = setup_in(visitor, show).mapping
    file = visitor.services.uploads.of(visitor.owner, waiting and waiting.path)
    people: People = "none" if action.about == "none" else "left out"
    headers, guess = guess_of(str(file), people)
    if is_asked(replace(guess, personal=())):
        return changed(visitor, show, **waiting_for(file, headers, people)), Message()
    return _taken(visitor, _at_first(show), {"facts": str(file), "columns": [[PATIENTS, f"{CONSTANT}{people}"]]}, file.name)


def use_columns(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes the uploaded file with the columns that the visitor chose."""
    file, said, people, _, guess = _table(visitor, setup_in(visitor, show))
    if guess.personal and not people:
        raise Mistake("Say first whether the table is about patients.", "Leave such columns out, or say that they are not.")
    columns = chosen_columns(guess, people, action.fields)
    columns |= {ours: theirs for ours, theirs in said.items() if ours.startswith(RENAMED)}
    return _taken(visitor, _at_first(show), {"facts": str(file), "columns": [*map(list, columns.items())]}, file.name)


def _taken(visitor: Visitor, show: EvaluateShow, source: dict[str, Any], name: str) -> tuple[EvaluateShow, Message]:
    collection = collection_of(source)  # before anything is kept: who has to wait for a turn begins anew
    facts, language = len(collection.known.facts), language_of(collection)
    show = changed(visitor, show, source=source, file_in=language, mapping=None, pending="")
    said = f"{name}: {counted(facts, 'true fact')} read."
    if language != ENGLISH:
        title = language_names()[language]
        said += f" The table is in {title}, and is asked so, unless you choose another language under “Method and sentences”."
    return show, Message(said, "good")


def take_rows(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes rows that were pasted and came as a file; three columns without a name are condition, relation and finding."""
    services, owner = visitor.services, visitor.owner
    file = services.uploads.of(owner, action.about)
    with suppress(MedfactError):  # said below
        names, guess = guess_of(str(file), "")
        has_no_header = bool(guess.open) or any(row[1:2] == names[1:2] for row in guess.sample)
        if len(names) == len(REQUIRED) and has_no_header:
            header = ("\t" if file.suffix == ".tsv" else ",").join(REQUIRED)
            file = services.uploads.put(owner, file.name, io.BytesIO(f"{header}\n".encode() + file.read_bytes()))
    return take_file(visitor, show, Action(action.name, str(file)))


def use_set(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes a bundled data set, in place of a file."""
    if action.about not in bundled_names():
        raise Mistake("There is no such data set.", "Choose one of the list.")
    return changed(visitor, _at_first(show), mapping=None, pending="", source=None, dataset=action.about), Message()


def drop_file(visitor: Visitor, show: EvaluateShow, _: Action) -> tuple[EvaluateShow, Message]:
    """Goes back to the bundled data set."""
    return changed(visitor, _at_first(show), mapping=None, pending="", source=None), Message("")


def _at_first(show: EvaluateShow) -> EvaluateShow:
    """The view with the first fact, of whatever is chosen now."""
    return show.model_copy(update={"uploading": "", "first": 0})


def take_pool(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes sentence templates of the visitor's own, checked against the facts."""
    file = visitor.services.uploads.of(visitor.owner, action.about)
    setup = setup_in(visitor, show)
    try:
        pool = load_pool(str(file))
        check_relations(
            pool, (fact.relation for fact in collection_of(source_of(visitor.services, visitor.owner, setup)).facts)
        )
    except MedfactError as error:
        _log.debug("A pool was refused.", exc_info=True)
        return show, Message(f"{error.public} The sentences chosen before stay in use.", "warn")
    show = changed(visitor, show, pool=str(file))
    problems = f" {' '.join(pool.problems[:3])}" if pool.problems else ""
    ways = f"{counted(len(pool.relations), 'relation')}, {counted(len(pool.forms), 'way')} of asking"
    return show, Message(f"{file.name} is in use: {ways}.{problems}", "good")


# ------------------------------------------------------------------------------------------------ documents

passages_in = shared_cache(64, is_permanent=fails_again)(count_passages)
"""How many passages a file of documents holds."""


def take_documents(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes uploaded documents; asks for the column with the text where it is not clear."""
    file = visitor.services.uploads.of(visitor.owner, action.about)
    try:
        return _documents_taken(visitor, show, file, "")
    except MissingColumns as error:
        waiting = Unmapped(path=str(file), columns=error.columns[:200])
        return changed(visitor, show, untold=waiting), Message(error.public, "warn")
    except MedfactError as error:
        _log.debug("Documents were refused.", exc_info=True)
        return show, Message(f"{error.public} The documents chosen before stay in use.", "warn")


def use_column(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes the documents with the column that the visitor chose."""
    waiting = setup_in(visitor, show).untold
    file = visitor.services.uploads.of(visitor.owner, waiting and waiting.path)
    column = action.fields.get("column", "")
    if not column:
        raise Mistake("No column is chosen.", "Choose the one that holds the text.")
    return _documents_taken(visitor, show, file, column)


def _documents_taken(visitor: Visitor, show: EvaluateShow, file: Path, column: str) -> tuple[EvaluateShow, Message]:
    number = passages_in(str(file), column or None)
    chosen = setup_in(visitor, show).retrieval
    retrieval = "sparse" if chosen == NO_RETRIEVAL else chosen
    show = changed(visitor, show, corpus=str(file), corpus_column=column, retrieval=retrieval, untold=None)
    return show, Message(f"{file.name}: {counted(number, 'passage')} read.", "good")


def drop_documents(visitor: Visitor, show: EvaluateShow, _: Action) -> tuple[EvaluateShow, Message]:
    """Goes back to the known facts."""
    return changed(visitor, show, corpus="", corpus_column="", untold=None), Message("")


ON_FACTS: dict[str, Act] = {
    "take_file": take_file,
    "take_rows": take_rows,
    "use_set": use_set,
    "say_people": say_people,
    "use_columns": use_columns,
    **facts_step.ACTIONS,
    "drop_file": drop_file,
}
ON_DOCUMENTS: dict[str, Act] = {
    "take_documents": take_documents,
    "use_column": use_column,
    "drop_documents": drop_documents,
}
ACTIONS: dict[str, Act] = {**ON_FACTS, "take_pool": take_pool, **ON_DOCUMENTS}
