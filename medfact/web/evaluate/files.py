"""A visitor's own files on the page Evaluate: facts, sentence templates and documents, taken, checked, and put away again."""

from __future__ import annotations

import io
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from medfact.assets import ENGLISH, language_titles
from medfact.datasets import bundled_names
from medfact.datasets.columns import CONSTANT, PATIENTS, RENAMED, REQUIRED
from medfact.errors import ColumnsMissing, MedfactError, Mistake
from medfact.languages import language_of
from medfact.prototypes import check_relations, load_pool
from medfact.results.wording import counted, in_plain_words
from medfact.spec import NO_RETRIEVAL
from medfact.web.evaluate import relations_step
from medfact.web.evaluate.columns_step import chosen_columns, guess_of, is_asked, waiting_for
from medfact.web.evaluate.form import EvaluateShow, People, Unmapped, changed, setup_in
from medfact.web.evaluate.fragments import passages_in
from medfact.web.evaluate.spec import source_of
from medfact.web.pages import Act, Action, Message, Visitor
from medfact.web.services import collection_of

CHOOSE = "you can choose another language under “Method and sentences”."


def take_file(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes an uploaded file of facts; asks first where its columns are not clear, or may be about patients."""
    file = visitor.services.uploads.of(visitor.owner, action.about)
    show = _at_first(show)
    try:
        headers, guess = guess_of(str(file), "")
        if is_asked(guess):
            return changed(visitor, show, **waiting_for(file, headers, personal=guess.personal)), Message()
        return _taken(visitor, show, {"facts": str(file), "columns": []}, file.name)
    except ColumnsMissing as error:
        return changed(visitor, show, **waiting_for(file, error.columns)), Message(in_plain_words(error.public), "warn")
    except MedfactError as error:
        said = Message(in_plain_words(error.public), "warn")
        return changed(visitor, show, mapping=None, pending=f"{file.name} is not in use."), said


def say_people(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Goes on with a table of which a person has said that columns about patients are left out, or are about nobody."""
    waiting = setup_in(visitor, show).mapping
    file = visitor.services.uploads.of(visitor.owner, waiting and waiting.path)
    people: People = "none" if action.about == "none" else "left out"
    headers, guess = guess_of(str(file), people)
    if is_asked(replace(guess, personal=())):
        return changed(visitor, show, **waiting_for(file, headers, people)), Message()
    source = {"facts": str(file), "columns": [[PATIENTS, f"{CONSTANT}{people}"]]}
    return _taken(visitor, _at_first(show), source, file.name)


def use_columns(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes the uploaded file with the columns that the visitor chose."""
    setup = setup_in(visitor, show)
    waiting, source = setup.mapping, setup.source or {}
    file = visitor.services.uploads.of(visitor.owner, waiting.path if waiting else source.get("facts"))
    said: dict[str, str] = {} if waiting else dict(source.get("columns", []))
    people = waiting.people if waiting else said.get(PATIENTS, "").removeprefix(CONSTANT)
    _, guess = guess_of(str(file), people)
    if guess.personal and not people:
        raise Mistake("Say first whether the table is about patients.", "Leave such columns out, or say that they are not.")
    columns = chosen_columns(guess, people, action.fields)
    columns |= {ours: theirs for ours, theirs in said.items() if ours.startswith(RENAMED)}
    return _taken(visitor, _at_first(show), {"facts": str(file), "columns": [*map(list, columns.items())]}, file.name)


def _taken(visitor: Visitor, show: EvaluateShow, source: dict[str, Any], name: str) -> tuple[EvaluateShow, Message]:
    collection = collection_of(source)  # before anything is kept: who has to wait for a turn begins anew
    facts, language = len(collection.known.facts), language_of(collection)
    show = changed(visitor, show, source=source, file_in=language, mapping=None, pending="")
    asked, title = setup_in(visitor, show).language, language_titles()[language]
    told = f" The table is in {title}, and is asked in {language_titles()[asked]}: {CHOOSE}" if language != ENGLISH else ""
    return show, Message(f"{name}: {counted(facts, 'true fact')} read.{told}", "good")


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
    return changed(visitor, _unsettled(visitor, show), source=None, dataset=action.about), Message()


def drop_file(visitor: Visitor, show: EvaluateShow, _: Action) -> tuple[EvaluateShow, Message]:
    """Goes back to the bundled data set."""
    return changed(visitor, _unsettled(visitor, show), source=None), Message("")


def _unsettled(visitor: Visitor, show: EvaluateShow) -> EvaluateShow:
    """The view without a file that waits for anything."""
    return changed(visitor, _at_first(show), mapping=None, pending="")


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
        return show, Message(f"{error.public} The sentences chosen before stay in use.", "warn")
    show = changed(visitor, show, pool=str(file))
    problems = f" {' '.join(pool.problems[:3])}" if pool.problems else ""
    ways = f"{counted(len(pool.relations), 'relation')}, {counted(len(pool.forms), 'way')} of asking"
    return show, Message(f"{file.name} is in use: {ways}.{problems}", "good")


# ------------------------------------------------------------------------------------------------ documents


def take_documents(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes uploaded documents; asks for the column with the text where it is not clear."""
    file = visitor.services.uploads.of(visitor.owner, action.about)
    try:
        return _documents_taken(visitor, show, file, "")
    except ColumnsMissing as error:
        waiting = Unmapped(path=str(file), columns=error.columns[:200])
        return changed(visitor, show, untold=waiting), Message(error.public, "warn")
    except MedfactError as error:
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
    retrieval = setup_in(visitor, show).retrieval
    retrieval = "sparse" if retrieval == NO_RETRIEVAL else retrieval
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
    **relations_step.ACTIONS,
    "drop_file": drop_file,
}
ON_DOCUMENTS: dict[str, Act] = {
    "take_documents": take_documents,
    "use_column": use_column,
    "drop_documents": drop_documents,
}
ACTIONS: dict[str, Act] = {**ON_FACTS, "take_pool": take_pool, **ON_DOCUMENTS}
