"""A visitor's own documents, among which passages are retrieved: taken, checked, and put away again."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from markupsafe import Markup
from pydantic import BaseModel, Field, ValidationError

from medfact.datasets.isolated import count_passages, fails_again
from medfact.errors import ColumnsMissing, MedfactError, Mistake
from medfact.kept import keep
from medfact.results.wording import counted
from medfact.views.fragments import render
from medfact.web.inputs.setup import Setup
from medfact.web.pages import Action, Message, Visitor
from medfact.web.pages.setup import setup_in, with_setup


class Untold(BaseModel):
    """Uploaded documents that wait for a visitor to say which column holds the text."""

    path: str
    columns: list[str] = Field(max_length=200)


def documents(visitor: Visitor, show: Any, setup: Setup) -> Markup:
    """Which corpus is in use, and the question for a column; nothing where no passages are retrieved."""
    waiting = _untold(show)
    if setup.retrieval == "none" and waiting is None:
        return Markup()
    name = number = ""
    if setup.corpus:
        with suppress(MedfactError):
            file = visitor.services.uploads.of(visitor.owner, setup.corpus)
            name, number = file.name, counted(_count(str(file), setup.corpus_column or None), "passage")
    return render(
        "documents",
        name=name,
        number=number,
        waiting=Path(waiting.path).name if waiting else "",
        columns=waiting.columns if waiting else [],
    )


def _untold(show: Any) -> Untold | None:
    try:
        return Untold.model_validate_json(show.untold) if show.untold else None
    except ValidationError:
        return None


_count = keep(64, fails=fails_again)(count_passages)


def take_documents(visitor: Visitor, show: Any, action: Action) -> tuple[Any, Message]:
    """Takes uploaded documents; asks for the column with the text where it is not clear."""
    file = visitor.services.uploads.of(visitor.owner, action.about)
    try:
        return _taken(show, file, "")
    except ColumnsMissing as error:
        waiting = Untold(path=str(file), columns=error.columns[:200]).model_dump_json()
        return show.model_copy(update={"untold": waiting}), Message(error.public, "warn")
    except MedfactError as error:
        return show, Message(f"{error.public} The documents chosen before stay in use.", "warn")


def use_column(visitor: Visitor, show: Any, action: Action) -> tuple[Any, Message]:
    """Takes the documents with the column that the visitor chose."""
    waiting = _untold(show)
    file = visitor.services.uploads.of(visitor.owner, waiting and waiting.path)
    column = action.fields.get("column", "")
    if not column:
        raise Mistake("No column is chosen.", "Choose the one that holds the text.")
    return _taken(show, file, column)


def _taken(show: Any, file: Path, column: str) -> tuple[Any, Message]:
    number = _count(str(file), column or None)
    setup = setup_in(show)
    retrieval = "sparse" if setup.retrieval == "none" else setup.retrieval
    chosen = setup.model_copy(update={"corpus": str(file), "corpus_column": column, "retrieval": retrieval})
    return with_setup(show, chosen, untold=""), Message(f"{file.name}: {counted(number, 'passage')} read.", "good")


def drop_documents(visitor: Visitor, show: Any, _: Action) -> tuple[Any, Message]:
    """Goes back to the known facts."""
    return with_setup(show, setup_in(show).model_copy(update={"corpus": "", "corpus_column": ""}), untold=""), Message("")


ACTIONS = {"take_documents": take_documents, "use_column": use_column, "drop_documents": drop_documents}
