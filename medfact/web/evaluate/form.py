"""The form: what a visitor has chosen on the page Evaluate, checked, and kept for the next time."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import urlsplit

import orjson
from pydantic import AfterValidator, BaseModel, Field, StringConstraints, ValidationError, model_serializer, model_validator

from medfact.assets import ENGLISH, language_codes
from medfact.datasets import bundled_names
from medfact.errors import MedfactError, Mistake, ModelError, StoreError
from medfact.facts import digest
from medfact.log_setup import suppressed
from medfact.models import BUNDLED_MODEL, ServiceSettings, provider_of, spec_of_service, spec_of_weights, typed_model
from medfact.models.services.named import NamedService, named_services, service_named
from medfact.models.services.policy import OPENAI_URL, address_of
from medfact.models.services.settings import OPENAI_PREFIX
from medfact.results.recall import READ
from medfact.runs.pool import protocol_of
from medfact.setting import checked_value
from medfact.spec import BOUNDS, FIELDS, NO_RETRIEVAL, SETTINGS, RunSpec
from medfact.web.pages import Lenient, Visitor
from medfact.web.pages.looked import ResultsShow
from medfact.web.services import Services, Source
from medfact.web.visitors import NOBODY

_log = logging.getLogger(__package__)

OWN_DATA = "own"
"""The data set that stands for the visitor's own file."""

DEFAULT_PAIRS = 60
MOST_PAIRS = 1_000
MOST_MODELS = 8
WITHOUT = "without passages"
"""A setting beside those of `results.recall`."""

LONGEST_KEPT = 16_000
"""Characters of a set-up that is kept."""

OF_SPEC = {"pairs": "limit", "difficulty": "negative_difficulty"}
"""Field of the set-up → the field of a spec that it is, where they are called otherwise."""

LABELS = {
    "models": "Models",
    "rows": "Models",
    "race": "stop when decided",
    "service": "service",
    "model": "name of the model",
    "address": "address",
    "settings": "Each model is asked",
} | {
    name: SETTINGS[f"spec.{OF_SPEC.get(name, name)}"].label
    for name in ("dataset", "budget", "protocol", "pairs", "shots", "difficulty", "pool", "retrieval", "encoder")
}
"""Field of the set-up → its label on the page."""

FURTHER = [path.removeprefix("spec.") for path, declared in SETTINGS.items() if declared.has_input]
"""The settings that have a place on the page by their declaration alone."""


def further_in(record: Mapping[str, Any]) -> dict[str, Any]:
    """The values of FURTHER in what a browser says, which may have gathered them before; what cannot be is at its default."""
    gathered = record.get("further")
    sent = {**(gathered if isinstance(gathered, Mapping) else {}), **record}
    values: dict[str, Any] = {}
    for name in FURTHER:
        with suppress(KeyError, MedfactError):
            values[name] = _checked(f"spec.{name}", sent[name])
    return values


def _checked(path: str, value: Any) -> Any:
    """The value of a setting; a tuple where it takes several values. Raises Mistake where it is of another kind."""
    if not SETTINGS[path].several:
        return checked_value(FIELDS[path], value if value != "" else None)
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(dict.fromkeys(checked_value(FIELDS[path], text) for text in values if text))


def _known(prefix: str) -> str:
    if prefix not in {service.prefix for service in named_services()}:
        raise ValueError("there is no such service")
    return prefix


KnownPrefix = Annotated[str, AfterValidator(_known)]
Short = Annotated[str, StringConstraints(max_length=300, strip_whitespace=True)]
Sentence = Annotated[str, Field(max_length=1_000)]
OwnFile = Annotated[str, AfterValidator(lambda path: path[:1_000])]
"""One that is too long is not passed over: what is left of it is no file either, and is said to be none."""


People = Literal["", "left out", "none"]
"""What a person says of columns about patients: that they are left out, or are about nobody."""


class Unmapped(BaseModel):
    """An uploaded file that waits for a visitor to say which of its columns is which, or holds the text."""

    path: str
    columns: list[str] = Field(max_length=200)
    people: People = ""


class AsTold(Lenient):
    """Values that are told again as they were told, so that what cannot be is still there, and said, at the next look."""

    @model_serializer(mode="wrap")
    def _with_what_is_unfit(self, handler: Any) -> dict[str, Any]:
        return {**handler(self), **{name: value for name, (value, _) in self.unfit.items()}}

    def check(self) -> None:
        """Raises Mistake where what was chosen cannot be."""
        for name, (_, why) in self.unfit.items():
            raise Mistake(f"“{LABELS.get(name, name)}” does not fit: {why}.", "Change it, or leave it empty.")


class ModelRow(AsTold):
    """A model beside the bundled ones: on this machine, or behind a service. Its key is never among this.

    service: how the specs of the chosen service begin; OpenAI's stands for any other one, too, at an address.
    model: a repository, a folder or a GGUF file; or what the service calls the model.
    address: of the service as it was typed, "" for the usual one.
    budget: US dollars, 0 for any sum.
    is_open: whether its fields are shown.
    had_key: whether a key was typed, which is asked for again where it is not in memory any more.
    """

    id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,16}$")] = "row"
    where: Literal["machine", "service"] = "service"
    service: KnownPrefix = OPENAI_PREFIX
    model: Short = ""
    address: Short = ""
    budget: float = Field(default=0, ge=0, le=BOUNDS["spec.budget"].maximum)
    is_open: bool = True
    had_key: bool = False

    @classmethod
    def of(cls, spec: str, address: str = "", **more: Any) -> Self:
        """The row of a model behind a service. spec: or the name of a model at the address."""
        named = service_named(spec)
        return cls(model=spec, service=named.prefix if named else OPENAI_PREFIX, address=address, **more)

    @classmethod
    def typed(cls, text: str, address: str = "", **more: Any) -> Self:
        """The row of a model as a person types it, which the command line reads in the same way."""
        spec, typed = typed_model(text)
        return cls.of(spec, typed or address, **more)

    @property
    def spec(self) -> str:
        """The spec of its model; "" where none is named yet. A spec in the place of a name is of the service that it names, and
        a name at an address is what that service calls its model.
        """
        if not self.model:
            return ""
        if self.where == "machine":
            return spec_of_weights(self.model)
        is_spec = self.service == OPENAI_PREFIX and not self.address and service_named(self.model) is not None
        return self.model if is_spec else spec_of_service(self.model, self.service)

    @property
    def named(self) -> NamedService | None:
        """The service of its model; None where it is no model of a service."""
        return service_named(self.spec or self.service) if self.where == "service" or self.is_remote else None

    @property
    def asked_address(self) -> str:
        """The address at which its model is asked: the service's own, or the typed one; "" for the usual one."""
        if self.named is None or self.named.prefix == OPENAI_PREFIX or (self.address and not self.named.is_fixed):
            return self.address
        return self.named.filled_address

    @property
    def settings(self) -> ServiceSettings:
        """The settings of its service, without a key."""
        return ServiceSettings(base_url=self.asked_address or None)

    @property
    def is_remote(self) -> bool:
        """True where a service is asked."""
        return bool(self.model) and provider_of(self.spec).is_remote

    @property
    def place(self) -> str:
        """Scheme, host and port of its service, for which a key is kept; what was typed, where that is no address."""
        try:
            parts = urlsplit(address_of(self.settings).base)
            return f"{parts.scheme}://{parts.netloc}"
        except ModelError:
            return self.asked_address

    def check(self) -> None:
        """Raises Mistake where what was chosen cannot be, such as a model at OpenAI that begins like a spec."""
        super().check()
        prefix, colon, _ = self.model.partition(":")  # OpenAI's own names that have one begin with "ft"
        if colon and self.spec == f"{OPENAI_PREFIX}{self.model}" and prefix != "ft" and self.place in OPENAI_URL:
            services = ", ".join(service.prefix for service in named_services())
            raise Mistake(
                f"{prefix[:40]}: begins no name of a model at OpenAI.",
                f"Known services are {services}. If it is OpenAI's own name, write {self.spec[:320]}.",
            )


class ChosenModel(NamedTuple):
    """A model that is chosen, and where it is asked."""

    spec: str
    address: str = ""
    budget: float = 0.0


class Setup(AsTold):
    """The values of the inputs.

    source: the visitor's own file in use, and its columns; None for the bundled data set.
    file_in: the language of that file.
    mapping: a file of facts that waits for its columns.
    pending: why nothing can be evaluated yet.
    rows: models beside these: on this machine or behind services, each at an address of its own.
    agreed: to which services own facts and documents may go (`consent_of`).
    shots: −1 for the usual number (`shot_count`).
    difficulty: which false partners come first; "" for the method's own.
    writing: sets of sentences to ask in place of the templates, with commas: ids of writings, PROTOTYPES, ORIGINALS; the
    facts are those of the first.
    drafts: a writing whose accepted templates are used.
    studio: "POOL:DATA", a pool with what the visitor has edited of it, and the facts that are asked with it.
    worded: a relation for which the visitor writes the four sentences that follow.
    reviewed: whether to ask only facts that reviewers have confirmed.
    sourced: whether to ask only facts that a source states.
    settings: with which of WITHOUT, READ and RELATED each model is asked.
    corpus: the visitor's own documents, "" for the known facts.
    untold: documents that wait for their column.
    encoder: of dense retrieval, "" for the usual.
    race: whether the runs end as soon as it is decided which is better.
    further: settings whose inputs are drawn as they are declared.
    """

    dataset: Short = RunSpec.dataset
    source: dict[str, Any] | None = None
    file_in: Short = ENGLISH
    mapping: Unmapped | None = None
    pending: Annotated[str, Field(max_length=1_000)] = ""
    protocol: Short = RunSpec.protocol
    pool: OwnFile = ""
    models: list[Short] = Field(default_factory=lambda: [BUNDLED_MODEL], max_length=MOST_MODELS)
    rows: list[ModelRow] = Field(default_factory=list, max_length=MOST_MODELS)
    agreed: list[Short] = Field(default_factory=list, max_length=MOST_MODELS)
    pairs: int = Field(default=DEFAULT_PAIRS, ge=1, le=MOST_PAIRS)
    shots: int = Field(default=-1, ge=-1, le=int(BOUNDS["spec.shots"].maximum))
    difficulty: Short = ""
    writing: str = ""
    drafts: str = ""
    studio: str = ""
    worded: Short = ""
    plain: Sentence = ""
    backwards: Sentence = ""
    in_patient: Sentence = ""
    in_patient_backwards: Sentence = ""
    reviewed: bool = False
    sourced: bool = False
    retrieval: Short = NO_RETRIEVAL
    settings: list[Short] = Field(default_factory=lambda: [WITHOUT, READ], max_length=3)
    corpus: OwnFile = ""
    corpus_column: Annotated[str, Field(max_length=10_000)] = ""
    untold: Unmapped | None = None
    encoder: Short = ""
    race: bool = False
    further: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, record: Any) -> Any:
        if not isinstance(record, dict):
            return record
        return {**record, "further": further_in(record)}

    @property
    def demonstrations(self) -> int:
        """The number of demonstrations."""
        return shots_of(self.protocol) if self.shots < 0 else self.shots

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages in which each model is asked, English first: those that are chosen, or else that of the
        visitor's own file, where the method has sentences in it. Written sentences are in English alone.
        """
        if self.sets:
            return (ENGLISH,)
        if chosen := self.further.get("asked_in"):
            return tuple(sorted(chosen, key=lambda code: [*language_codes(), code].index(code)))
        settings = {name: self.further[name] for name in ("stated", "pressure") if name in self.further}
        pool = self.pool or self.drafts or self.studio or None
        spec = RunSpec("", protocol=self.protocol, pool=pool, retrieval=self.retrieval, **settings)
        can_be_own = self.source and (needs := SETTINGS["spec.asked_in"].needs) and needs.is_met(spec)
        return (language_of(self.protocol, self.file_in if can_be_own else ENGLISH),)

    @property
    def language(self) -> str:
        """The language in which facts are previewed: the first of `languages` in which the method has sentences."""
        return language_of(self.protocol, self.languages[0])

    @property
    def sets(self) -> list[str]:
        """The sets of sentences to ask, each once."""
        return list(dict.fromkeys(filter(None, self.writing.split(","))))[:MOST_MODELS]

    @property
    def chosen(self) -> list[ChosenModel]:
        """The models, each once; a row without a name is none yet."""
        rows = (ChosenModel(row.spec, row.asked_address if row.is_remote else "", row.budget) for row in self.rows if row.spec)
        return list(dict.fromkeys([*map(ChosenModel, self.models), *rows]))

    @property
    def names(self) -> list[str]:
        """The specs of the models."""
        return [one.spec for one in self.chosen]

    def row_of(self, model: str, address: str | None) -> ModelRow | None:
        """The row of a service's model at an address."""
        same = (row for row in self.rows if row.is_remote and (row.spec, row.asked_address) == (model, address or ""))
        return next(same, None)

    def consent_of(self, address: str | None) -> str:
        """A code of what a person agrees to: that these facts and documents go to this address."""
        files = orjson.dumps([self.source, self.corpus], option=orjson.OPT_SORT_KEYS).decode()
        return digest((address or "").rstrip("/"), files, self.dataset, self.writing, self.drafts, self.studio)

    def agrees_to(self, address: str | None) -> bool:
        """True where a person has agreed that these facts and documents go to this address."""
        return self.consent_of(address) in self.agreed

    def with_consent(self) -> Setup:
        """The same, with no consent but to what is chosen: what was agreed to of another file or address does not count."""
        possible = {self.consent_of(row.asked_address) for row in self.rows}
        return self.model_copy(update={"agreed": [code for code in self.agreed if code in possible]})

    def changed(self, **values: object) -> Setup:
        """The same with other values. What was agreed to before counts for what it was said of."""
        return self.model_copy(update=values).with_consent()

    def check(self) -> None:
        """Raises Mistake where what was chosen cannot be."""
        super().check()
        for row in self.rows:
            row.check()
            if row.address and not row.model:
                raise Mistake(f"The model at {row.address} has no name yet.", "Name it, or remove its row.")


def shots_of(protocol: str) -> int:
    """Demonstrations unless a number is chosen: the method's, but none for the project's own, so that a first look is quick."""
    return 0 if protocol == RunSpec.protocol else protocol_of(RunSpec("", protocol=protocol)).shots


# ------------------------------------------------------------------------------------------------ what is looked at


class EvaluateShow(ResultsShow):
    """The view of the page Evaluate, and the set-up there.

    setup: what is chosen; None where the page has not told it yet: then it is what this visitor chose last.
    settled: whether the page had told that before.
    is_kept: whether the set-up is kept for the next time; on another page it is not.
    uploading: the file that is on its way.
    writing: with `drafts`, `studio`, `reviewed` and `sourced` of the set-up, too: these stand in the page's address or its
    fragments.
    first: which of the facts is shown in its sentences beside the inputs.
    """

    setup: Setup | None = Field(None, exclude=True)
    settled: bool = Field(False, exclude=True)
    is_kept: bool = Field(True, exclude=True)
    uploading: str = Field("", max_length=300)
    writing: str = Field("", max_length=400)
    drafts: str = Field("", max_length=40)
    studio: str = Field("", max_length=200)
    reviewed: bool = False
    sourced: bool = False
    first: int = Field(0, ge=0, le=10**9)

    def with_setup(self, setup: Setup) -> EvaluateShow:
        """The same with another set-up."""
        return self.model_copy(update={"setup": setup})


FROM_SHOW = {"writing", "drafts", "studio", "reviewed", "sourced"}
"""What of the set-up stands in the page's address or its fragments, and not in its inputs."""


def setup_in(visitor: Visitor, show: EvaluateShow) -> Setup:
    """The set-up that the page tells, or else that of the last time."""
    setup = show.setup or kept_setup(visitor.services, visitor.owner)
    return setup.changed(**{name: getattr(show, name) for name in FROM_SHOW})


def changed(visitor: Visitor, show: EvaluateShow, **values: object) -> EvaluateShow:
    """The view with another set-up, which is kept."""
    setup = setup_in(visitor, show).changed(**values)
    if show.is_kept:
        keep_setup(visitor, setup)
    return show.with_setup(setup)


# ------------------------------------------------------------------------------------------------ what is kept


def kept_setup(services: Services, owner: str) -> Setup:
    """The latest set-up of a visitor, without consent, which counts on its own page alone."""
    text = "" if owner == NOBODY else services.set_ups.last(owner)
    with suppress(ValidationError):
        return Setup.model_validate_json(text or "{}")
    return Setup()


def keep_setup(visitor: Visitor, setup: Setup) -> None:
    """Keeps what a visitor has chosen, with no file that is not the visitor's. There is no key among it."""
    with suppressed(_log, StoreError):  # a page is shown all the same
        source = None
        with suppress(MedfactError):
            source = checked_source(visitor.services, visitor.owner, setup.source) if setup.source else None
        told = setup.model_copy(update={"source": source}).model_dump(exclude={*FROM_SHOW, "agreed"}, exclude_defaults=True)
        text = orjson.dumps(told).decode()
        kept = visitor.services.set_ups
        if visitor.owner != NOBODY and len(text) <= LONGEST_KEPT and text != (kept.last(visitor.owner) or "{}"):
            kept.keep(visitor.owner, text)


def checked_source(services: Services, owner: str, record: Source) -> Source:
    """A source as a browser sends it back. Raises Mistake where its file is not this visitor's."""
    return {
        "facts": str(services.uploads.of(owner, record.get("facts"))),
        "columns": [[*pair] for pair in columns_in(record).items()],
    }


def columns_in(source: Source | None) -> dict[str, str]:
    """The mapping of a file's columns; {} of anything that a browser would not send."""
    columns = (source or {}).get("columns")
    pairs = [pair for pair in columns if isinstance(pair, list) and len(pair) == 2] if isinstance(columns, list) else []
    return {str(ours): str(theirs) for ours, theirs in pairs}


def own_source(visitor: Visitor) -> Source | None:
    """The visitor's own file, if it is what Evaluate was last given."""
    return kept_setup(visitor.services, visitor.owner).source


def data_sets(own: Source | None) -> list[tuple[str, str]]:
    """The data sets to choose from, with what to call them: the bundled ones, and the visitor's own file."""
    name = f"your file {str(own['facts']).replace(chr(92), '/').rpartition('/')[2]}" if own else ""
    return [*((name, name) for name in bundled_names()), *([(OWN_DATA, name)] if own else [])]


def data_called(data: str, kept: Setup) -> str:
    """The data set of that name, where there is one; "" for what a visitor chose last."""
    data = data or (OWN_DATA if kept.source else kept.dataset)
    return data if data in dict(data_sets(kept.source)) else RunSpec.dataset


def language_of(protocol: str, chosen: str) -> str:
    """The language that is chosen; English where the method has sentences in no other."""
    return chosen if protocol == RunSpec.protocol and chosen in language_codes() else ENGLISH


def source_called(data: str, own: Source | None) -> Source:
    """The source of a data set of that name."""
    return own if own and data == OWN_DATA else {"dataset": data}
