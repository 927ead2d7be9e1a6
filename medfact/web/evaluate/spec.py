"""From the form to specs, one a model, and from specs to plans, each made once and cached."""

from __future__ import annotations

import io
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import NamedTuple

from medfact.caching import shared_cache
from medfact.datasets import bundled_names
from medfact.datasets.pairing import PartnerDecisions
from medfact.datasets.selection import Held
from medfact.errors import Mistake
from medfact.limits import limits
from medfact.models import check_spec
from medfact.models.services.policy import check_encoder_source
from medfact.models.services.settings import DEFAULTS
from medfact.prototypes import Pool, parse_pool
from medfact.results.recall import READ, RELATED
from medfact.results.wording import counted
from medfact.retrieval import DENSE, RETRIEVERS
from medfact.reviews.studio import asked_of, editable, edited
from medfact.runs.plan import NOTHING_HELD, plan, too_many_statements
from medfact.runs.pool import decoded_as_published
from medfact.runs.start import as_decided
from medfact.spec import NO_RETRIEVAL, PROTOCOLS, RunSpec, check_numbers
from medfact.store import Plan
from medfact.web.evaluate.form import LABELS, MOST_MODELS, OWN_DATA, WITHOUT, Setup, checked_source, kept_setup
from medfact.web.services import Services, Source, collection_of, collection_of_spec, source_in, spec_of
from medfact.writing.runs import ORIGINALS, PROTOTYPES, accepted_pool, asked_set


def source_of(services: Services, owner: str, setup: Setup) -> Source:
    """The source of the facts. Raises Mistake where a file is not the visitor's."""
    if setup.drafts:
        spec = services.run(setup.drafts).spec
        own = {"facts": spec.facts, "columns": [[*pair] for pair in spec.columns]}
        return checked_source(services, owner, own) if spec.facts else {"dataset": spec.dataset}
    if setup.studio and not setup.source:
        return studio_source(services, owner, setup.studio.partition(":")[2], setup.dataset)
    return checked_source(services, owner, setup.source) if setup.source else {"dataset": setup.dataset}


def studio_source(services: Services, owner: str, data: str, otherwise: str = RunSpec.dataset) -> Source:
    """The facts that the page Sentences calls so. otherwise: the data set where there are none.

    Raises Mistake where a file is not kept.
    """
    if data == OWN_DATA and (own := kept_setup(services, owner).source):
        return checked_source(services, owner, own)
    return {"dataset": data if data in bundled_names() else otherwise}


# ------------------------------------------------------------------------------------------------ edited pools


@dataclass(frozen=True)
class EditedPool:
    """A pool that a visitor has made here, as the text of a pool file. It is planned with as it is, and becomes a file of the
    visitor's when a run begins.
    """

    path: Path
    text: str = field(repr=False, compare=False)

    def pool(self) -> Pool:
        """The pool that a plan is made with."""
        return parse_pool(self.path, self.text)

    def keep(self, services: Services, owner: str) -> None:
        """Writes the file that a run's record names."""
        services.uploads.put(owner, self.path.name, io.BytesIO(self.text.encode()))


def edited_of(services: Services, owner: str, setup: Setup) -> EditedPool | None:
    """The drafts that this visitor has accepted, or the pool that the visitor has edited, where chosen. Raises MedfactError."""
    if setup.drafts:
        name, text = "drafted.yaml", accepted_pool(services.run(setup.drafts).run, services.store.of(owner))
    elif setup.studio:
        pool = setup.studio.partition(":")[0]
        if not editable(pool).is_asked:
            raise Mistake(
                "A run cannot ask with what is edited of another language.",
                "Choose the language under “Method and sentences”: its own sentences are asked.",
            )
        name, text = "studio.yaml", studio_text(services, owner, pool, source_of(services, owner, setup))
    else:
        return None
    return EditedPool(services.uploads.path_of(name, text.encode()), text)


def studio_text(services: Services, owner: str, pool: str, source: Source | None = None) -> str:
    """The pool file, as YAML, of what this visitor has edited of a pool; of a source of facts, what can state them.

    Raises MedfactError.
    """
    base = editable(pool)
    relations = edited(base.pool, services.store.of(owner).prototype_edits.log(pool))
    if source is not None and base.is_asked:
        relations = asked_of(relations, {fact.relation for fact in collection_of(source).facts})
    return base.exported(relations)


# ------------------------------------------------------------------------------------------------ specs


def specs_of(services: Services, owner: str, setup: Setup, own_pool: EditedPool | None = None) -> list[RunSpec]:
    """One spec for each model, language and setting of the passages. own_pool: in place of the chosen pool. Raises
    MedfactError on a mistake.
    """
    setup.check()
    source, chosen, languages = source_of(services, owner, setup), setup.chosen, setup.languages
    if not 1 <= len(chosen) <= MOST_MODELS:
        raise Mistake(f"{len(chosen)} models are chosen.", f"Choose 1 to {MOST_MODELS}.")
    settings = len(set(setup.settings)) if setup.retrieval != NO_RETRIEVAL else 1
    if (runs := len(chosen) * len(languages) * settings) > MOST_MODELS:
        ways = f"{len(languages)} languages" if len(languages) > 1 else "each setting"
        raise Mistake(
            f"{counted(len(chosen), 'model')} in {ways} are {runs} runs.", f"Choose fewer: {MOST_MODELS} runs at once."
        )
    if setup.race and len(chosen) > 1 < len(languages):
        raise Mistake("Models race in one language.", f"Choose one language, or untick “{LABELS['race']}”.")
    for model in chosen:
        check_spec(model.spec)
    if setup.protocol not in PROTOCOLS:
        raise Mistake("There is no such method.", "Choose one of the list.")
    return [
        spec_of(
            source,
            **evidence,
            **{**setup.further, "asked_in": language},
            model=model.spec,
            service={"base_url": model.address or None},
            protocol=setup.protocol,
            pool=str(own_pool.path) if own_pool else services.pool(owner, setup.pool) or None,
            limit=setup.pairs,
            shots=setup.demonstrations,
            budget=model.budget or None,
            negative_difficulty=setup.difficulty or None,
            reviewed=setup.reviewed,
            sourced=setup.sourced,
        )
        for model in chosen
        for language in languages
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


class PlannedRun(NamedTuple):
    """A run that could be recorded: its spec, what it would ask, and the visitor's own pool that this is made with."""

    spec: RunSpec
    plan: Plan
    own_pool: EditedPool | None = None


def planned_runs(services: Services, owner: str, setup: Setup, reviewers: tuple[str, ...]) -> list[PlannedRun]:
    """What would be evaluated: a run for each model and language, or for each model and set of written sentences. Raises
    MedfactError.

    reviewers: whose verdicts confirm facts, () for everybody's.
    """
    own_pool = edited_of(services, owner, setup)
    specs, most = specs_of(services, owner, setup, own_pool), limits().quota_for(owner).statements_a_run
    if not setup.sets:
        source, decided = source_of(services, owner, setup), services.store.of(owner).decisions.of_partners()
        held = services.held(reviewers) if setup.reviewed else {}
        plans = [planned(spec, source, decided, held, most, own_pool) for spec in specs]
        return [PlannedRun(decoded_as_published(spec), plan, own_pool) for spec, plan in zip(specs, plans, strict=True)]
    if len(specs) * len(setup.sets) > MOST_MODELS:
        raise Mistake(
            f"{len(specs)} models and {len(setup.sets)} sets of sentences are {len(specs) * len(setup.sets)} runs.",
            f"Choose fewer: {MOST_MODELS} runs are the most at once.",
        )
    return [_asking(services, owner, name, spec, setup) for spec in specs for name in setup.sets]


def _asking(services: Services, owner: str, name: str, spec: RunSpec, setup: Setup) -> PlannedRun:
    """A model asked a set of sentences."""
    first = services.writing(setup.sets[0])
    if name in (PROTOTYPES, ORIGINALS) and first.spec.facts and first.owner != owner:
        raise Mistake("These facts are a file of somebody else's.", "Ask what was written alone, or upload the file.")
    name = name if name in (PROTOTYPES, ORIGINALS) else services.writing(name).run
    most = limits().quota_for(owner).statements_a_run
    asked, plan = asked_set(name, first, spec.model, services.store, lambda other: plan_again(services, owner, other, most))
    plan = as_decided(plan, services.store.of(owner).decisions.of_partners())
    if len(plan.statements) > most:
        raise too_many_statements(most)
    if setup.shots == 0:
        asked, plan = asked.override(shots=0), replace(plan, shots=0, demonstrations={})
    return PlannedRun(decoded_as_published(asked.override(model=spec.model, service=spec.service, budget=spec.budget)), plan)


def planned(
    spec: RunSpec,
    source: Source,
    decided: PartnerDecisions,
    held: Held = NOTHING_HELD,
    most: float = inf,
    own_pool: EditedPool | None = None,
) -> Plan:
    """What a run of this spec asks of the facts of a source, and of whatever model: several models at once ask the same, and
    many visitors do. most: statements that it may ask. own_pool: what the spec's pool is. Raises MedfactError.
    """
    check_numbers(spec)
    of_any_model = replace(spec, model="", service=DEFAULTS, budget=None)
    return _planned(of_any_model, spec_of(source), decided, most, tuple(sorted(held.items())), own_pool)


def plan_again(services: Services, owner: str, spec: RunSpec, most: float) -> Plan:
    """The plan of a recorded spec for a visitor, whose own files are all that it may name. most: statements that it may ask.
    Raises MedfactError.
    """
    services.check_files(owner, spec)
    decided = services.store.of(owner).decisions.of_partners()
    return _planned(replace(spec, model="", service=DEFAULTS, budget=None), source_in(spec), decided, most)


@shared_cache(100_000, lambda made: len(made.statements))
def _planned(
    spec: RunSpec,
    source: RunSpec,
    decided: PartnerDecisions,
    most: float,
    held: tuple[tuple[str, bool], ...] = (),
    own_pool: EditedPool | None = None,
) -> Plan:
    return plan(spec, collection_of_spec(source), decided, dict(held), most, own_pool.pool() if own_pool else None)
