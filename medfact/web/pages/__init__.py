"""The pages, each a function from what a visitor looks at to fragments: the browser sends its view with each question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Self, TypeVar
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator
from pydantic.dataclasses import dataclass as validated

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


class Lenient(BaseModel):
    """Values as a browser tells them: one that cannot be is at its default, and is not passed over (`unfit`)."""

    _unfit: dict[str, tuple[Any, str]] = PrivateAttr(default_factory=dict)

    @property
    def unfit(self) -> Mapping[str, tuple[Any, str]]:
        """Name of a field that cannot be what it was told to be → what that was, and why."""
        return self._unfit

    @model_validator(mode="wrap")
    @classmethod
    def _as_far_as_it_can_be(cls, told: Any, validated: Any) -> Any:
        try:
            return validated(told)
        except ValidationError as error:
            given = told if isinstance(told, dict) else {}
            why = {str(one["loc"][0]): one["msg"] for one in error.errors() if one["loc"] and one["loc"][0] in given}
            made = validated({name: value for name, value in given.items() if name not in why})
            made._unfit = {name: (given[name], f"{reason[:1].lower()}{reason[1:]}") for name, reason in why.items()}
            return made

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, in which what is updated is as it should be."""
        made = super().model_copy(update=update, deep=deep)
        made._unfit = {name: told for name, told in self._unfit.items() if name not in (update or {})}
        return made


class Show(Lenient):
    """What a visitor looks at: the fields of a page's address and of its controls. Each page has its own. Most are told by the
    page's script alone; anybody can write a link, so only a page's `address` fields come from one.

    setup: what is chosen in the inputs of a page that has any.
    """

    model_config = ConfigDict(extra="ignore", str_max_length=20_000)

    setup: Any = Field(None, exclude=True)


MOST_SECONDS = 3_600.0
"""A longer time before an answer says only that somebody went away."""

MOST_VALUES = 64
"""Fields of a view, fragments of a page, and fields beside a button."""


@validated(frozen=True)
class Action:
    """A button that was pressed: its name, what it is about, and the fields beside it, as the browser sends them."""

    name: Annotated[str, Field(max_length=40)]
    about: Annotated[str, Field(max_length=2_000)] = ""
    fields: Annotated[dict[str, str], Field(max_length=MOST_VALUES)] = field(default_factory=dict)

    @property
    def key(self) -> str | None:
        """The key of a service that was typed."""
        return self.fields.get("key", "").strip() or None

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
class Versioned:
    """A fragment that is drawn only for a page that has another version of it. version: all that it follows from."""

    version: tuple[object, ...]
    draw: Callable[[], str]


Fragment = str | Versioned


@dataclass(frozen=True)
class View:
    """What a page shows now.

    fragments: HTML by the names of the page's parts. show: the view as it was possible (a page number kept in range). query: of
    the page's address; None for the fields of its address that differ from their defaults. again: seconds until the page should
    ask again; None: when something is clicked. title: of the tab; "" for the page's own.
    """

    fragments: Mapping[str, Fragment]
    show: Show
    query: str | None = None
    again: float | None = None
    title: str = ""


Found = TypeVar("Found")


@dataclass(frozen=True)
class Paged(Generic[Found]):
    """One page of what was found. numbers: what its template says of it."""

    part: Sequence[Found]
    page: int
    numbers: Mapping[str, int]


def paged(found: Sequence[Found], page: int, size: int) -> Paged[Found]:
    """The page of this number, or else the last one."""
    pages = -(-len(found) // size)
    page = min(page, max(0, pages - 1))
    numbers = {"page": page, "pages": pages, "size": size, "found": len(found)}
    return Paged(found[page * size : (page + 1) * size], page, numbers)


Act = Callable[[Visitor, Any, Action], tuple[Any, Message]]
"""Does something for a visitor: what is shown afterwards, and what to say. Raises MedfactError where it cannot."""


FIRST = "home"
"""The name of the page at the server's own address."""


@dataclass(frozen=True)
class Bring:
    """A button with which a visitor brings a file, and the action that takes it. kinds: the endings of such files. closed: the
    sentence that stands in its place where the server takes none; "" where it does.
    """

    label: str
    action: str
    kinds: Sequence[str]
    button: str
    closed: Callable[[], str] = str


@dataclass(frozen=True)
class Page:
    """A page, told once: its addresses, its place in the navigation and what the server lets through follow from it. A module
    of this folder that declares one as `PAGE` is on the site (`every.py`).

    name: the last part of its address, and what its script calls it.
    title: in the navigation, and on the browser's tab.
    parts: the places of its fragments from top to bottom, and buttons for files between them.
    show: what a visitor looks at.
    view: what is shown then.
    actions: its buttons, by name.
    says: button → the part that says what it did; "said" for most.
    address: the fields of its view that it takes from its address: what is looked at, never what is to be done.
    stops: the fields whose change is a step that the browser's back button takes back.
    introduction: what stands above its parts, as Markdown.
    place: in the navigation, from the left.
    is_listed: whether the navigation names it; other pages lead to it where not.
    under: the name of the page among whose tabs it stands; "" for none.
    tab: its name there, where that is not its title; the page that the others stand under has a tab, too.
    has_work: shows that tab only to a visitor for whom it holds; None shows it to all.
    build: lays out what follows its parts, with inputs of the page library, given the library's site.
    """

    name: str
    title: str
    parts: tuple[str | Bring, ...]
    show: type[Show]
    view: Callable[[Visitor, Any], View]
    actions: Mapping[str, Act] = field(default_factory=dict)
    says: Mapping[str, str] = field(default_factory=dict)
    address: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    introduction: str = ""
    place: int = 100
    is_listed: bool = True
    under: str = ""
    tab: str = ""
    has_work: Callable[[Visitor], bool] | None = None
    build: Callable[[Any], None] | None = None

    @property
    def path(self) -> str:
        """Its address on the server."""
        return "/" if self.name == FIRST else f"/{self.name}"

    @property
    def link(self) -> str:
        """Its address as other pages write it, wherever the server itself is."""
        return f".{self.path}" if self.name == FIRST else self.name

    def query(self, show: Show) -> str:
        """The fields of its address that differ from their defaults."""
        fields = self.show.model_fields
        told = {name: getattr(show, name) for name in self.address if getattr(show, name) != fields[name].default}
        return f"?{urlencode(told, safe=',')}" if told else ""
