"""A visitor's own files on the page Evaluate: facts, sentence templates and documents, taken, checked, and put away again."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from medfact.assets import ENGLISH, language_titles
from medfact.datasets import bundled_names
from medfact.datasets.columns import CONSTANT, RENAMED, REQUIRED
from medfact.errors import ColumnsMissing, MedfactError, Mistake
from medfact.languages import language_of
from medfact.prototypes import check_relations, load_pool
from medfact.results.wording import counted, in_plain_words
from medfact.spec import NO_RETRIEVAL
from medfact.web.evaluate.facts_step import ONE_RELATION
from medfact.web.evaluate.form import EvaluateShow, Unmapped, changed, checked_source, setup_in
from medfact.web.evaluate.fragments import passages_in
from medfact.web.evaluate.spec import source_of
from medfact.web.pages import Act, Action, Message, Visitor
from medfact.web.services import collection_of

IN_ITS_LANGUAGE = "The table is in {}, and is asked so, unless you choose another language under “Method and sentences”."


def take_file(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes an uploaded file of facts; asks for its columns where their names do not say which they are."""
    file = visitor.services.uploads.of(visitor.owner, action.about)
    show = _at_first(show)
    try:
        return _taken(visitor, show, {"facts": str(file), "columns": []}, file.name)
    except ColumnsMissing as error:
        mapping = Unmapped(path=str(file), columns=error.columns[:200])
        reason = f"{file.name} is not in use yet: say which columns hold the condition, the relation and the finding."
        return changed(visitor, show, mapping=mapping, pending=reason), Message(in_plain_words(error.public), "warn")
    except MedfactError as error:
        said = Message(in_plain_words(error.public), "warn")
        return changed(visitor, show, mapping=None, pending=f"{file.name} is not in use."), said


def use_columns(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes the uploaded file with the columns that the visitor chose."""
    mapping = setup_in(visitor, show).mapping
    file = visitor.services.uploads.of(visitor.owner, mapping and mapping.path)
    chosen = {name: action.fields.get(name, "") for name in ("head", "relation", "tail")}
    if chosen["relation"] in ("", ONE_RELATION):
        chosen["relation"] = f"={action.fields.get('constant', '').strip()}"
    if not chosen["head"] or not chosen["tail"] or chosen["relation"] == "=":
        raise Mistake("A column is missing.", "Choose one for each of the three, or type one relation for all rows.")
    source = {"facts": str(file), "columns": [[ours, theirs] for ours, theirs in chosen.items()]}
    return _taken(visitor, _at_first(show), source, file.name)


def _taken(visitor: Visitor, show: EvaluateShow, source: dict[str, Any], name: str) -> tuple[EvaluateShow, Message]:
    collection = collection_of(source)  # before anything is kept: who has to wait for a turn begins anew
    facts, language = len(collection.known.facts), language_of(collection)
    show = changed(visitor, show, source=source, file_in=language, mapping=None, pending="")
    told = f" {IN_ITS_LANGUAGE.format(language_titles()[language])}" if language != ENGLISH else ""
    return show, Message(f"{name}: {counted(facts, 'true fact')} read.{told}", "good")


def take_rows(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes rows that were pasted and came as a file; three columns without a name are condition, relation and finding."""
    services, owner = visitor.services, visitor.owner
    file = services.uploads.of(owner, action.about)
    try:
        collection_of({"facts": str(file), "columns": []})
    except ColumnsMissing as error:
        if len(error.columns) == len(REQUIRED):
            header = ("\t" if file.suffix == ".tsv" else ",").join(REQUIRED)
            file = services.uploads.put(owner, file.name, io.BytesIO(f"{header}\n".encode() + file.read_bytes()))
    except MedfactError:
        pass  # said below
    return take_file(visitor, show, Action(action.name, str(file)))


def use_set(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Takes a bundled data set, in place of a file."""
    if action.about not in bundled_names():
        raise Mistake("There is no such data set.", "Choose one of the list.")
    return changed(visitor, _unsettled(visitor, show), source=None, dataset=action.about), Message()


def use_relation(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Says which known relation one of the file is; "" takes that back."""
    if not (sent := setup_in(visitor, show).source):
        raise Mistake("There is no file of yours in use.", "Choose one first.")
    source = checked_source(visitor.services, visitor.owner, sent)
    ours, known = f"{RENAMED}{action.about}", action.fields.get("known", "")
    said: Any = source["columns"]
    columns = [pair for pair in said if pair[0] != ours]
    if known:
        columns.append([ours, f"{CONSTANT}{known}"])
    return changed(visitor, _at_first(show), source={**source, "columns": columns}), Message()


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
    "use_columns": use_columns,
    "use_relation": use_relation,
    "drop_file": drop_file,
}
ON_DOCUMENTS: dict[str, Act] = {
    "take_documents": take_documents,
    "use_column": use_column,
    "drop_documents": drop_documents,
}
ACTIONS: dict[str, Act] = {**ON_FACTS, "take_pool": take_pool, **ON_DOCUMENTS}
