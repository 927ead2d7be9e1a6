"""The fragments beside the inputs: the facts in use, the method in a sentence, and the button that says what will be
evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
from markupsafe import Markup
from pydantic import BaseModel, Field, ValidationError

from medfact.datasets import Collection
from medfact.datasets.collection import summary
from medfact.errors import ColumnsMissing, MedfactError, Mistake
from medfact.models import provider_of
from medfact.prototypes import check_relations, load_pool
from medfact.results.live import Live
from medfact.results.power import power_in_words
from medfact.results.wording import counted, duration, model_name
from medfact.runs.costs import costs
from medfact.spec import PROTOCOLS
from medfact.views.fragments import render
from medfact.web.inputs.room import pairs_of
from medfact.web.inputs.setup import Setup, planned_runs, source_of
from medfact.web.pages import Action, Message, Visitor
from medfact.web.pages.by_relation import relation_counts
from medfact.web.pages.consent import consent, host_in_words
from medfact.web.pages.sentence_sets import sentence_sets
from medfact.web.services import Choice, collection_of, spec_of

MANY_FACTS = 20_000
"""Above so many facts, false partners are drawn when they are asked, not counted on the page."""
SHOWN_PROBLEMS = 12
ONE_RELATION = "(one relation for all rows)"


class Unmapped(BaseModel):
    """An uploaded file that waits for a visitor to say which of its columns is which."""

    path: str
    columns: list[str] = Field(max_length=200)


def _mapping_in(show: Any) -> Unmapped | None:
    try:
        return Unmapped.model_validate_json(show.mapping) if show.mapping else None
    except ValidationError:
        return None


FROM_SHOW = {"writing", "drafts", "studio", "reviewed"}
"""What of the setup stands in the page's address or its fragments, and not in its inputs."""


def _record_in(show: Any) -> Any:
    with suppress(orjson.JSONDecodeError):
        return orjson.loads(show.setup or "{}")
    return {}


def setup_in(show: Any) -> Setup:
    """What a visitor has chosen; what cannot be is at its default."""
    record = _record_in(show)
    try:
        setup = Setup.model_validate(record)
    except ValidationError as error:
        wrong = {problem["loc"][0] for problem in error.errors() if problem["loc"]}
        setup = Setup.model_validate(
            {name: value for name, value in record.items() if name not in wrong} if isinstance(record, dict) else {}
        )
    return setup.model_copy(update={name: getattr(show, name) for name in FROM_SHOW}).with_consent()


def with_setup(show: Any, setup: Setup, **more: str) -> Any:
    """The view with another setup. What was agreed to before counts for what it was said of."""
    chosen = setup.with_consent().model_dump(exclude=FROM_SHOW)
    return show.model_copy(update={"setup": orjson.dumps(chosen).decode(), **more})


def with_consent(show: Any) -> Any:
    """The view, for a browser to keep: with what is agreed to of the set-up that it shows, and of no other."""
    setup, record = setup_in(show), _record_in(show)
    told = (record.get("agreed", False), record.get("agreed_to", "")) if isinstance(record, dict) else ()
    return show if told == (setup.agreed, setup.agreed_to) else with_setup(show, setup)


# ------------------------------------------------------------------------------------------------ fragments


def fragments(visitor: Visitor, show: Any, lives: Mapping[str, Live]) -> dict[str, Markup]:
    """The parts beside the inputs. lives: the runs that are open, the inputs folded away; {} for none."""
    setup = setup_in(show)
    if lives:
        return {"go": _folded(lives)}
    return {
        "mapping": sentence_sets(visitor, setup) if setup.sets else _mapping(show),
        "facts": _facts(visitor, setup),
        "consent": consent(visitor, setup),
        "method": render("message", message=Message(_method(setup))),
        "go": _go(visitor, show, setup),
    }


def _method(setup: Setup) -> str:
    """What the method is, and how many demonstrations will be shown with it."""
    if (protocol := PROTOCOLS.get(setup.protocol)) is None:
        return ""
    shots = setup.demonstrations
    if shots and not protocol.heads_aside:
        return f"{protocol.explanation} As set here: no demonstrations, since this method keeps no facts for them."
    return f"{protocol.explanation} As set here: {counted(shots, 'demonstration') if shots else 'no demonstrations'}."


def _mapping(show: Any) -> Markup:
    """The question which columns of an uploaded file are which, where that is not clear."""
    mapping = _mapping_in(show)
    if mapping is None:
        return Markup()
    return render("facts_mapping", columns=mapping.columns, name=Path(mapping.path).name, one_relation=ONE_RELATION)


def _facts(visitor: Visitor, setup: Setup) -> Markup:
    if setup.sets:
        return Markup()
    try:
        source = source_of(visitor.services, visitor.owner, setup)
        collection = collection_of(source)
    except MedfactError as error:
        return render("message", message=Message(error.public, "warn"))
    positive = sum(fact.positive for fact in collection.facts)
    problems = summary(collection.problems)
    counted_here = 0 < positive <= MANY_FACTS and setup.protocol in PROTOCOLS
    spec = spec_of(source, protocol=setup.protocol, shots=setup.demonstrations, limit=positive)
    counts, notes, alone = relation_counts(spec) if counted_here else ((), (), ())
    return render(
        "facts_in_use",
        drafts=setup.drafts,
        studio=urlencode(dict(zip(("pool", "data"), setup.studio.split(":", 1), strict=False))) if setup.studio else "",
        own="facts" in source,
        may_drop=setup.source is not None,
        name=collection.name,
        facts=positive,
        reviewed=setup.reviewed,
        confirmed=_confirmed(visitor, collection),
        relations=counts,
        one_tail=counted_here and PROTOCOLS[setup.protocol].one_tail,
        notes=[*collection.notes, *notes],
        alone=alone,
        problems=problems[:SHOWN_PROBLEMS],
        more_problems=max(0, len(problems) - SHOWN_PROBLEMS),
        rows_with_problems=len(collection.problems),
    )


def _confirmed(visitor: Visitor, collection: Collection) -> int:
    """How many true facts reviewers hold true."""
    held = visitor.services.held(visitor.reviewers)
    return sum(fact.positive and held.get(fact.fact_id, False) for fact in collection.facts) if held else 0


def _go(visitor: Visitor, show: Any, setup: Setup) -> Markup:
    """The button, what it will do and how long that takes; disabled with the reason where it cannot."""
    name = _name_of(visitor, setup)
    problem = (show.uploading and f"{show.uploading} is being uploaded.") or show.pending
    estimate = precision = ""
    if not problem:
        try:
            estimate, precision = _estimate(visitor, setup)
        except MedfactError as error:
            problem = error.public
    return render(
        "go",
        name=name,
        problem=problem,
        pending=bool(show.pending),
        estimate=estimate,
        precision=precision,
        host=host_in_words(setup),
        models=len(setup.names),
    )


def _name_of(visitor: Visitor, setup: Setup) -> str:
    """What the button evaluates."""
    if setup.sets:
        return "the written sentences"
    with suppress(MedfactError):
        source = source_of(visitor.services, visitor.owner, setup)
        return Path(str(source["facts"])).name if "facts" in source else str(source["dataset"])
    return setup.dataset


def _folded(lives: Mapping[str, Live]) -> Markup:
    """What was evaluated, in a line, and a button to do so again."""
    runs = [live.run for live in lives.values()]
    pairs = {pairs_of(live.run.spec, live.run.facts) for live in lives.values()}
    facts = " and ".join(dict.fromkeys(run.dataset for run in runs))
    models = counted(len({run.model for run in runs}), "model")
    asked = models if len({run.model for run in runs}) == len(runs) else f"{models}, {counted(len(runs), 'run')}"
    line = f"{counted(pairs.pop(), 'pair') if len(pairs) == 1 else 'Pairs'} of {facts}, {asked}"
    going = any(live.going for live in lives.values())
    return render("go_folded", line=line, going=going, again=not any(provider_of(run.model).is_remote for run in runs))


def _estimate(visitor: Visitor, setup: Setup) -> tuple[str, str]:
    """How many pairs and statements will be asked and about how long that takes; and how precise it is."""
    runs = planned_runs(visitor.services, visitor.owner, setup, visitor.reviewers)
    _, plan = runs[0]
    pairs = sum(fact.positive for fact in plan.facts)
    seconds = [visitor.services.speeds.seconds(spec.model, len(plan.statements)) for spec, plan in runs]
    known = [one for one in seconds if one is not None]
    time = "" if len(known) < len(seconds) else f" ≈ {duration(sum(known))}" if sum(known) >= 1 else ", less than 1 s"
    models = f" × {counted(len(setup.names), 'model')}" if len(setup.names) > 1 else ""
    sets = f" × {counted(len(setup.sets), 'set')} of sentences" if len(setup.sets) > 1 else ""
    if not setup.sets and (settings := len(runs) // len(setup.names)) > 1:
        sets = f" × {counted(settings, 'setting')}"
    ways = len(plan.statements) // max(pairs, 1)
    asked = f"{counted(pairs, 'pair')} × {ways} statements{sets}{models}{time}."
    return asked, power_in_words(plan.facts, len(plan.statements)) if pairs else ""


# ------------------------------------------------------------------------------------------------ actions


def take_file(visitor: Visitor, show: Any, action: Action) -> tuple[Any, Message]:
    """Takes an uploaded file of facts; asks for its columns where their names do not say which they are."""
    file = visitor.services.uploads.of(visitor.owner, action.about)
    show = show.model_copy(update={"uploading": "", "mapping": "", "pending": ""})
    try:
        return _taken(visitor, show, {"facts": str(file), "columns": []}, file.name)
    except ColumnsMissing as error:
        mapping = Unmapped(path=str(file), columns=error.columns[:200]).model_dump_json()
        reason = f"{file.name} is not in use yet: say which columns hold the condition, the relation and the finding."
        return show.model_copy(update={"mapping": mapping, "pending": reason}), Message(error.public, "warn")
    except MedfactError as error:
        return show.model_copy(update={"pending": f"{file.name} is not in use."}), Message(error.public, "warn")


def use_columns(visitor: Visitor, show: Any, action: Action) -> tuple[Any, Message]:
    """Takes the uploaded file with the columns that the visitor chose."""
    mapping = _mapping_in(show)
    file = visitor.services.uploads.of(visitor.owner, mapping and mapping.path)
    chosen = {name: action.fields.get(name, "") for name in ("head", "relation", "tail")}
    if chosen["relation"] in ("", ONE_RELATION):
        chosen["relation"] = f"={action.fields.get('constant', '').strip()}"
    if not chosen["head"] or not chosen["tail"] or chosen["relation"] == "=":
        raise Mistake("A column is missing.", "Choose one for each of the three, or type one relation for all rows.")
    source = {"facts": str(file), "columns": [[ours, theirs] for ours, theirs in chosen.items()]}
    return _taken(visitor, show.model_copy(update={"mapping": "", "pending": ""}), source, file.name)


def _taken(visitor: Visitor, show: Any, source: dict[str, Any], name: str) -> tuple[Any, Message]:
    facts = len(collection_of(source).known.facts)
    show = with_setup(show, setup_in(show).model_copy(update={"source": source}))
    note_choice(visitor, show)
    return show, Message(f"{name}: {counted(facts, 'true fact')} read.", "good")


def drop_file(visitor: Visitor, show: Any, _: Action) -> tuple[Any, Message]:
    """Goes back to the bundled data set."""
    show = with_setup(show, setup_in(show).model_copy(update={"source": None}), mapping="", pending="", uploading="")
    note_choice(visitor, show)
    return show, Message("")


def take_pool(visitor: Visitor, show: Any, action: Action) -> tuple[Any, Message]:
    """Takes sentence templates of the visitor's own, checked against the facts."""
    file = visitor.services.uploads.of(visitor.owner, action.about)
    setup = setup_in(show)
    try:
        pool = load_pool(str(file))
        check_relations(
            pool, (fact.relation for fact in collection_of(source_of(visitor.services, visitor.owner, setup)).facts)
        )
    except MedfactError as error:
        return show, Message(f"{error.public} The sentences chosen before stay in use.", "warn")
    show = with_setup(show, setup.model_copy(update={"pool": str(file)}))
    note_choice(visitor, show)
    problems = f" {' '.join(pool.problems[:3])}" if pool.problems else ""
    ways = f"{counted(len(pool.relations), 'relation')}, {counted(len(pool.forms), 'way')} of asking"
    return show, Message(f"{file.name} is in use: {ways}.{problems}", "good")


def price(visitor: Visitor, show: Any, _: Action) -> tuple[Any, Message]:
    """Says what the chosen models would cost; asks none of them."""
    setup = setup_in(show)
    runs = planned_runs(visitor.services, visitor.owner, setup, visitor.reviewers)
    return show, Message(" ".join(f"{model_name(spec.model)}: {costs(spec, planned=plan)['said']}" for spec, plan in runs))


def note_choice(visitor: Visitor, show: Any) -> None:
    """Remembers what the visitor has chosen, for the page Facts."""
    setup = setup_in(show)
    with suppress(MedfactError):
        choice = Choice(source_of(visitor.services, visitor.owner, setup), setup.protocol, setup.pool)
        visitor.services.choices.note(visitor.owner, choice)
