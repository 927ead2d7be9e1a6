"""What a visitor has chosen on the page Evaluate, checked; and the runs that come of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from medfact.bounds import BOUNDS
from medfact.datasets import bundled_names
from medfact.errors import Mistake
from medfact.facts import digest
from medfact.limits import limits
from medfact.models import BUNDLED_FOLDERS, BUNDLED_MODEL, check_spec, is_service, known_models
from medfact.models.services.addresses import parsed_address
from medfact.models.services.policy import check_encoder_source, check_new_run
from medfact.models.words_alone import TAIL
from medfact.results.recall import READ, RELATED
from medfact.retrieval import DENSE, RETRIEVERS
from medfact.runs.checks import check_settings
from medfact.runs.plan import opens_files, too_many_statements
from medfact.runs.pool import protocol_of
from medfact.runs.racing import racing_specs
from medfact.runs.start import start_planned
from medfact.spec import NO_RETRIEVAL, PROTOCOLS, RunSpec
from medfact.store import Plan
from medfact.web.inputs.room import check_room, pairs_of
from medfact.web.services import OWN_DATA, Services, Source, checked_source, plan_again, planned, spec_of
from medfact.writing.runs import writing_of
from medfact.writing.sets import ORIGINALS, PROTOTYPES, asked_set

DEFAULT_PAIRS = 60
MOST_PAIRS = 1_000
MOST_MODELS = 8
WITHOUT = "without passages"
"""A setting beside those of `results.recall.SETTINGS`."""

LONGEST_PATH = 1_000
"""Characters of what names a file of the visitor's."""

Short = Annotated[str, StringConstraints(max_length=300, strip_whitespace=True)]
OwnFile = Annotated[str, AfterValidator(lambda path: path[:LONGEST_PATH])]
"""One that is too long is not passed over: what is left of it is no file either, and is said to be none."""


class Setup(BaseModel):
    """The values of the inputs. source: the visitor's own file in use, None for the bundled data set. other: a repository or
    folder;
    service, address: a model behind a service. agreed: whether own facts may go there; agreed_to: to what that was said
    (`consent_of`), "" where it is said of this very set-up. budget: US dollars, 0 for any sum.
    shots: −1 for the usual number (`shots_of`). difficulty: which false partners come first; "" for the method's own.
    writing: sets of sentences to ask in place of the templates, with commas: ids of writings, PROTOTYPES, ORIGINALS; the facts
    are those of the first. drafts: a writing whose accepted templates are used. studio: "POOL:DATA", a
    pool with what the visitor has edited of it, and the facts that are asked with it. reviewed: whether to ask only facts
    that reviewers have confirmed. retrieval: how passages are retrieved; settings: with which of WITHOUT, READ and RELATED each
    model is asked; corpus: the visitor's own documents, "" for the known facts; encoder: of dense retrieval, "" for the usual.
    race: whether the runs end as soon as it is decided which is better.
    """

    dataset: Short = RunSpec.dataset
    source: dict[str, Any] | None = None
    protocol: Short = RunSpec.protocol
    pool: OwnFile = ""
    models: list[Short] = Field([BUNDLED_MODEL], max_length=MOST_MODELS)
    other: Short = ""
    service: Short = ""
    address: Short = ""
    agreed: bool = False
    agreed_to: Annotated[str, Field(max_length=100)] = ""
    budget: float = Field(0, ge=0, le=BOUNDS["spec.budget"].most)
    pairs: int = Field(DEFAULT_PAIRS, ge=1, le=MOST_PAIRS)
    shots: int = Field(-1, ge=-1, le=int(BOUNDS["spec.shots"].most))
    difficulty: Short = ""
    writing: str = ""
    drafts: str = ""
    studio: str = ""
    reviewed: bool = False
    retrieval: Short = NO_RETRIEVAL
    settings: Annotated[list[Short], Field(max_length=3)] = [WITHOUT, READ]
    corpus: OwnFile = ""
    corpus_column: Annotated[str, Field(max_length=10_000)] = ""
    encoder: Short = ""
    race: bool = False

    @property
    def demonstrations(self) -> int:
        """How many demonstrations are asked for."""
        return shots_of(self.protocol) if self.shots < 0 else self.shots

    @property
    def sets(self) -> list[str]:
        """The sets of sentences to ask, each once."""
        return list(dict.fromkeys(filter(None, self.writing.split(","))))[:MOST_MODELS]

    @property
    def consent_of(self) -> str:
        """A code of what a person agrees to: that these facts and documents go to this address."""
        files = orjson.dumps([self.source, self.corpus], option=orjson.OPT_SORT_KEYS).decode()
        return digest(self.address.rstrip("/"), files, self.dataset, self.writing, self.drafts, self.studio)

    def with_consent(self) -> Setup:
        """The same, with no consent but to what is chosen: what was agreed to of another file or address does not count."""
        agreed = self.agreed and self.agreed_to in ("", self.consent_of)
        return self.model_copy(update={"agreed": agreed, "agreed_to": self.consent_of if agreed else ""})

    @property
    def names(self) -> list[str]:
        """The specs of the models, each once."""
        other = [self.other if _is_spec(self.other) else f"hf:{self.other}"] if self.other else []
        return list(dict.fromkeys([*self.models, *other, *([f"openai:{self.service}"] if self.service else [])]))


def _is_spec(name: str) -> bool:
    return name.startswith(("hf:", "baseline:", "openai:")) or name in BUNDLED_FOLDERS


def source_of(services: Services, owner: str, setup: Setup) -> Source:
    """Where the facts come from. Raises Mistake where a file is not the visitor's."""
    if setup.drafts:
        spec = services.run(setup.drafts).spec
        own = {"facts": spec.facts, "columns": [[*pair] for pair in spec.columns]}
        return checked_source(services, owner, own) if spec.facts else {"dataset": spec.dataset}
    if setup.studio and not setup.source:
        return studio_source(services, owner, setup.studio.partition(":")[2], setup.dataset)
    return checked_source(services, owner, setup.source) if setup.source else {"dataset": setup.dataset}


def studio_source(services: Services, owner: str, data: str, otherwise: str = RunSpec.dataset) -> Source:
    """The facts that the page Studio calls so. otherwise: the data set where there are none. Raises Mistake where a file is not
    kept."""
    choice = services.choices.of(owner)
    if data == OWN_DATA and choice and "facts" in choice.source:
        return checked_source(services, owner, choice.source)
    return {"dataset": data if data in bundled_names() else otherwise}


def _pool_of(services: Services, owner: str, setup: Setup) -> str | None:
    """The pool: what was drafted or edited, a file of the visitor's, a name, or None for the method's own. Raises Mistake."""
    if setup.drafts:
        return str(services.drafted_pool(owner, setup.drafts))
    if setup.studio:
        return str(services.studio_pool(owner, setup.studio.partition(":")[0], source_of(services, owner, setup)))
    return services.pool(owner, setup.pool) or None


def specs_of(services: Services, owner: str, setup: Setup) -> list[RunSpec]:
    """One spec a model. Raises MedfactError on a mistake."""
    source, names = source_of(services, owner, setup), setup.names
    if not 1 <= len(names) <= MOST_MODELS:
        raise Mistake(f"{len(names)} models are chosen.", f"Choose 1 to {MOST_MODELS}.")
    if setup.retrieval != NO_RETRIEVAL and (runs := len(names) * len(set(setup.settings))) > MOST_MODELS:
        raise Mistake(f"{len(names)} models in each setting are {runs} runs.", f"Choose fewer: {MOST_MODELS} runs at once.")
    for name in names:
        check_spec(name)
    if setup.protocol not in PROTOCOLS:
        raise Mistake("There is no such method.", "Choose one of the list.")
    return [
        spec_of(
            source,
            **evidence,
            model=name,
            service={"base_url": setup.address or None},
            protocol=setup.protocol,
            pool=_pool_of(services, owner, setup),
            limit=setup.pairs,
            shots=setup.demonstrations,
            budget=setup.budget or None,
            negative_difficulty=setup.difficulty or None,
            reviewed=setup.reviewed,
        )
        for name in names
        for evidence in _evidence(services, owner, setup)
    ]


def _evidence(services: Services, owner: str, setup: Setup) -> list[dict[str, object]]:
    """The fields of a spec that say what is retrieved, once for each setting. Raises Mistake."""
    if setup.retrieval == NO_RETRIEVAL:
        return [{}]
    wanted = [name for name in (WITHOUT, READ, RELATED) if name in setup.settings]
    if setup.retrieval not in RETRIEVERS or not wanted:
        raise Mistake("No setting of the retrieved passages is chosen.", "Tick one, or retrieve none.")
    encoder = setup.encoder.removeprefix("hf:")
    if setup.retrieval == DENSE and encoder:
        check_encoder_source(encoder)
    fields: dict[str, object] = {
        "retrieval": setup.retrieval,
        "corpus": str(services.uploads.of(owner, setup.corpus)) if setup.corpus else None,
        "corpus_column": setup.corpus_column or None,
        **({"encoder": f"hf:{encoder}"} if encoder else {}),
    }
    return [{} if name == WITHOUT else {**fields, "leave_out": name == RELATED} for name in wanted]


Planned = tuple[RunSpec, Plan]
"""A run that could be recorded: its spec, and what it would ask."""


def planned_runs(services: Services, owner: str, setup: Setup, reviewers: tuple[str, ...]) -> list[Planned]:
    """What would be evaluated: a run a model, or, with sets of written sentences, one a model and set. Raises MedfactError.

    reviewers: whose verdicts confirm facts, () for everybody's.
    """
    specs, most = specs_of(services, owner, setup), limits().of(owner).statements_a_run
    if not setup.sets:
        source, rejected = source_of(services, owner, setup), services.store.of(owner).decisions.rejections()
        held = services.held(reviewers) if setup.reviewed else {}
        return [(spec, planned(spec, source, rejected, held, most)) for spec in specs]
    if len(specs) * len(setup.sets) > MOST_MODELS:
        raise Mistake(
            f"{len(specs)} models and {len(setup.sets)} sets of sentences are {len(specs) * len(setup.sets)} runs.",
            f"Choose fewer: {MOST_MODELS} runs are the most at once.",
        )
    return [_asking(services, owner, name, spec, setup) for spec in specs for name in setup.sets]


def _asking(services: Services, owner: str, name: str, spec: RunSpec, setup: Setup) -> Planned:
    """A model asked a set of sentences."""
    first = writing_of(services.run(setup.sets[0]).run, services.store)
    if name in (PROTOTYPES, ORIGINALS) and first.spec.facts and first.owner != owner:
        raise Mistake("These facts are a file of somebody else's.", "Ask what was written alone, or upload the file.")
    name = name if name in (PROTOTYPES, ORIGINALS) else services.run(name).run
    most = limits().of(owner).statements_a_run
    asked, plan = asked_set(name, first, spec.model, services.store, lambda other: plan_again(services, owner, other, most))
    if len(plan.statements) > most:
        raise too_many_statements(most)
    if setup.shots == 0:
        asked, plan = asked.chosen(shots=0), replace(plan, shots=0, demonstrations={})
    return asked.chosen(model=spec.model, service=spec.service, budget=spec.budget), plan


def evaluate(services: Services, owner: str, setup: Setup, key: str | None, reviewers: tuple[str, ...] = ()) -> list[str]:
    """Records the runs for a visitor and queues them; returns their ids. Raises MedfactError on a mistake.

    What is slow comes first, while others may begin runs too: reading files, planning, looking up the names of hosts.
    """
    check_room(services, owner, 1)
    if setup.address:
        parsed_address(setup.address)  # as it was typed: a spec keeps no user name
    asked = planned_runs(services, owner, setup, reviewers)
    for spec, plan in asked:
        check_settings(spec)
        if opens_files(spec, plan):
            services.check_files(owner, spec)
        if is_service(spec.model):
            check_new_run(replace(spec.service, key=key), own_facts=bool(spec.facts or spec.corpus), agreed=setup.agreed)
    with services.planning:
        pairs = max(pairs_of(spec, len(plan.facts)) for spec, plan in asked)
        check_room(services, owner, len(asked), [spec.model for spec, _ in asked], max(setup.pairs, pairs))
        return _begun(services, owner, asked, key, setup.race)


def _begun(services: Services, owner: str, asked: Sequence[Planned], key: str | None, race: bool) -> list[str]:
    """Records planned runs and queues them; returns their ids. race: whether they end as soon as the better one is known."""
    racing = race and len(asked) > 1
    specs = [spec for spec, _ in asked]
    specs = racing_specs(specs) if racing else specs
    store = services.store.of(owner)
    runs = [start_planned(spec, plan, store) for spec, (_, plan) in zip(specs, asked, strict=True)]
    asking = {run: (key if is_service(spec.model) else None, None) for run, spec in zip(runs, specs, strict=True)}
    if racing:
        services.jobs.submit_race(asking)
        return runs
    for run, (of_service, _) in asking.items():
        services.jobs.submit(run, of_service)
    return runs


def model_choices() -> Sequence[str]:
    """The models that come with the app, but for those that show nothing new: what a reader of words alone scores stands
    beside every run, and who always says false mirrors who always says true.
    """
    return [name for name in known_models() if name not in (f"baseline:{TAIL}", "baseline:always-false")]


def shots_of(protocol: str) -> int:
    """Demonstrations unless a number is chosen: the method's, but none for the project's own, so that a first look is quick."""
    return 0 if protocol == RunSpec.protocol else protocol_of(RunSpec("", protocol=protocol)).shots


def by_method(value: Callable[[str], object]) -> str:
    """A setting in words, for each method what it is there: “0 with medfact and MKJ, 5 with PretextTrans and TPEval”."""
    titles: defaultdict[str, list[str]] = defaultdict(list)
    for name, protocol in PROTOCOLS.items():
        titles[str(value(name))].append(protocol.title)
    joined = {one: " and ".join(filter(None, [", ".join(of[:-1]), of[-1]])) for one, of in titles.items()}
    return ", ".join(f"{one} with {of}" for one, of in joined.items())
