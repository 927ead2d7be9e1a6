"""The pages, each a function from what a visitor looks at to fragments. Stateless: the browser sends its view with each
question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from medfact.spec import LOCAL_OWNER
from medfact.web.services import Services


@dataclass(frozen=True)
class Visitor:
    """Who asks. owners: whose runs they may list, change and stop. demonstration: the run that a first visitor sees.

    user: the name of one who has signed in, or "". reviewers: whose verdicts are added up; () for everybody's. person: the name
    of one who has signed in with Hugging Face, who is no reviewer for that; None where signing in is not offered.
    """

    services: Services
    owner: str
    owners: tuple[str, ...]
    demonstration: str
    user: str = ""
    reviewers: tuple[str, ...] = ()
    person: str | None = None

    @property
    def selves(self) -> tuple[str, ...]:
        """All owners that this person is: the browser too, before one signed in; not the command line of this machine, which
        takes others' verdicts over.
        """
        return tuple(owner for owner in self.owners if owner == self.owner or owner != LOCAL_OWNER)


class Show(BaseModel):
    """What a visitor looks at: the fields of a page's address and of its controls. Each page has its own. Most are told by the
    page's script alone; anybody can write a link, so only a page's `address` fields come from one.
    """

    model_config = ConfigDict(extra="ignore", str_max_length=20_000)


MOST_SECONDS = 3_600.0
"""A longer time before an answer says only that somebody went away."""


@dataclass(frozen=True)
class Action:
    """A button that was pressed: its name, what it is about, and the fields beside it."""

    name: str
    about: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> float | None:
        """How long what it is about had been shown, as the page tells; None where it does not, or somebody went away."""
        try:
            seconds = float(self.fields.get("seconds", ""))
        except ValueError:
            return None
        return seconds if 0 <= seconds <= MOST_SECONDS else None


@dataclass(frozen=True)
class Message:
    """A sentence about what was just done. kind: "", "good" or "warn". undo: an action that takes it back."""

    text: str = ""
    kind: str = ""
    undo: Action | None = None


SILENCE = Message()


@dataclass(frozen=True)
class View:
    """What a page shows now.

    fragments: HTML by the names of the page's parts. show: the view as it was possible (a page number kept in range). query:
    of the
    page's address. again: seconds until the page should ask again; None: when something is clicked. title: of the tab. runs:
    for the browser to remember. stop: a place that the browser's back button returns to, "" where it is none.
    """

    fragments: Mapping[str, str]
    show: Show
    query: str = ""
    again: float | None = None
    title: str = "medfact"
    runs: str | None = None
    stop: str = ""


Act = Callable[[Visitor, Any, Action], tuple[Any, Message]]
"""Does something for a visitor: what is shown afterwards, and what to say. Raises MedfactError where it cannot."""


@dataclass(frozen=True)
class Page:
    """A page: the model of its view, how it is shown, its buttons by name, and the part that says what a button did ("said"
    for most). address: the fields of its view that it takes from its address: what is looked at, never what is to be done.
    """

    show: type[Show]
    view: Callable[[Visitor, Any], View]
    actions: Mapping[str, Act]
    says: Mapping[str, str] = field(default_factory=dict)
    address: tuple[str, ...] = ()
