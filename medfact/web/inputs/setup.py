"""What a visitor has chosen on the page Evaluate, checked; and the runs that come of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from medfact.errors import Mistake
from medfact.models import BUNDLED_FOLDERS, BUNDLED_MODEL, check_spec, is_service, known_models
from medfact.models.services.policy import check_new_run
from medfact.models.words_alone import TAIL
from medfact.runs.plan import protocol_of
from medfact.runs.start import start_planned
from medfact.spec import PROTOCOLS, RunSpec
from medfact.store import Plan
from medfact.web.services import Services, Source, checked_source, planned, spec_of

DEFAULT_PAIRS = 60
MOST_PAIRS = 1_000
MOST_MODELS = 8
MOST_GOING = 24
"""Runs of one visitor that may be asked, or wait, at the same time."""

Short = Annotated[str, StringConstraints(max_length=300, strip_whitespace=True)]


class Setup(BaseModel):
    """The values of the inputs. source: the visitor's own file in use, None for the bundled data set. other: a repository or
    folder;
    service, address: a model behind a service. agreed: whether own facts may go there. budget: US dollars, 0 for any sum.
    shots: −1 for what the method proposes. difficulty: which false partners come first; "" for what the method proposes.
    """

    dataset: Short = RunSpec.dataset
    source: dict[str, Any] | None = None
    protocol: Short = RunSpec.protocol
    pool: str = Field("", max_length=1_000)
    models: list[Short] = Field([BUNDLED_MODEL], max_length=MOST_MODELS)
    other: Short = ""
    service: Short = ""
    address: Short = ""
    agreed: bool = False
    budget: float = Field(0, ge=0, le=1e9)
    pairs: int = Field(DEFAULT_PAIRS, ge=1, le=MOST_PAIRS)
    shots: int = Field(-1, ge=-1, le=50)
    difficulty: Short = ""

    @property
    def names(self) -> list[str]:
        """The specs of the models, each once."""
        other = [self.other if _is_spec(self.other) else f"hf:{self.other}"] if self.other else []
        return list(dict.fromkeys([*self.models, *other, *([f"openai:{self.service}"] if self.service else [])]))


def _is_spec(name: str) -> bool:
    return name.startswith(("hf:", "baseline:", "openai:")) or name in BUNDLED_FOLDERS


def source_of(services: Services, owner: str, setup: Setup) -> Source:
    """Where the facts come from. Raises Mistake where a file is not the visitor's."""
    return checked_source(services, owner, setup.source) if setup.source else {"dataset": setup.dataset}


def specs_of(services: Services, owner: str, setup: Setup) -> list[RunSpec]:
    """One spec a model. Raises MedfactError on a mistake."""
    source, names = source_of(services, owner, setup), setup.names
    if not 1 <= len(names) <= MOST_MODELS:
        raise Mistake(f"{len(names)} models are chosen.", f"Choose 1 to {MOST_MODELS}.")
    for name in names:
        check_spec(name)
    if setup.protocol not in PROTOCOLS:
        raise Mistake("There is no such method.", "Choose one of the list.")
    return [
        spec_of(
            source,
            model=name,
            service={"base_url": setup.address or None},
            protocol=setup.protocol,
            pool=services.pool(owner, setup.pool) or None,
            limit=setup.pairs,
            shots=shots_of(setup.protocol) if setup.shots < 0 else setup.shots,
            budget=setup.budget or None,
            negative_difficulty=setup.difficulty or None,
        )
        for name in names
    ]


def plan_of(services: Services, owner: str, setup: Setup) -> Plan:
    """What each of the models would be asked. Raises MedfactError."""
    spec = specs_of(services, owner, setup)[0]
    return planned(spec, source_of(services, owner, setup), services.store.of(owner).rejections())


def evaluate(services: Services, owner: str, setup: Setup, key: str | None) -> list[str]:
    """Records one run per model for a visitor and queues them; returns their ids. Raises MedfactError on a mistake."""
    source, specs = source_of(services, owner, setup), specs_of(services, owner, setup)
    check_room(services, owner, len(specs))
    for spec in specs:
        if is_service(spec.model):
            check_new_run(replace(spec.service, key=key), own_facts=spec.facts is not None, agreed=setup.agreed)
    store = services.store.of(owner)
    runs = [start_planned(spec, planned(spec, source, store.rejections()), store) for spec in specs]
    for run, spec in zip(runs, specs, strict=True):
        services.jobs.submit(run, key if is_service(spec.model) else None)
    return runs


def check_room(services: Services, owner: str, more: int) -> None:
    """Raises Mistake where a visitor has no room for so many more runs that are asked or wait."""
    going = services.jobs.going(owner)
    if going + more > MOST_GOING:
        raise Mistake(f"{going} of your runs are going on already.", "Wait for some to end, or stop some.")


def model_choices() -> Sequence[str]:
    """The models that come with the app, but for those that show nothing new: what a reader of words alone scores stands
    beside every run, and who always says false mirrors who always says true.
    """
    return [name for name in known_models() if name not in (f"baseline:{TAIL}", "baseline:always-false")]


def shots_of(protocol: str) -> int:
    """Demonstrations that a method proposes: none for the project's own, so that a first look is quick."""
    return 0 if protocol == RunSpec.protocol else protocol_of(RunSpec("", protocol=protocol)).shots
