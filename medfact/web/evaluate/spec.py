"""From the form to specs: where the facts come from, in whose sentences, and one spec a model."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path

from medfact.datasets import bundled_names
from medfact.errors import Mistake
from medfact.models import check_spec
from medfact.models.services.policy import check_encoder_source
from medfact.prototypes import Pool, parse_pool
from medfact.results.recall import READ, RELATED
from medfact.results.wording import counted
from medfact.retrieval import DENSE, RETRIEVERS
from medfact.reviews.studio import asked_of, edited
from medfact.reviews.studio_pools import editable
from medfact.spec import NO_RETRIEVAL, PROTOCOLS, RunSpec
from medfact.web.evaluate.form import LABELS, MOST_MODELS, OWN_DATA, WITHOUT, Setup, checked_source, kept_setup
from medfact.web.services import Services, Source, collection_of, spec_of
from medfact.writing.runs import accepted_pool


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
