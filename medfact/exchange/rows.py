"""Facts, statements, answers and scores as rows for files and other tools, and the part of a spec that leaves a machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from medfact.errors import ModelError
from medfact.facts import ALWAYS, COLUMNS, IF_KNOWN, Fact
from medfact.metrics.coherence import SelfAgreement
from medfact.metrics.diagnosis import Diagnosis
from medfact.metrics.dropped import Dropped
from medfact.metrics.measures import Harm, Measures, TypeAccuracy, figures_of
from medfact.metrics.pressure import Pressure
from medfact.metrics.probability import Probabilities
from medfact.metrics.uncertainty import Estimate
from medfact.models import Placement, ServiceSettings, provider_of, service_of
from medfact.models.services.policy import address_of
from medfact.setting import ADDRESS, ALL, LAST_PART, NOTHING, OF_MODEL, setting_metadata
from medfact.spec import NO_RETRIEVAL, RunSpec
from medfact.statements import Statement
from medfact.store import Asked, Run

Record = TypeVar("Record", RunSpec, Placement, ServiceSettings)

_HUB_PREFIX = "hf:"

_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?(:[\w.-]*(/[\w.\[\]:%+-]+)?)?(@[\w./-]+)?")


def portable(spec: RunSpec) -> RunSpec:
    """A spec without folders, the placement of its model, and the permission to run its code, which belong to one machine.

    The address of a service keeps its host and path, but no user name, password or key.
    """
    return replace(_carried(spec), placement=_carried(spec.placement), service=_carried(spec.service))


def _carried(record: Record) -> Record:
    """A record with what each of its fields says that goes elsewhere."""
    values: dict[str, Any] = {}
    for one in fields(record):
        if (how := setting_metadata(one).export_policy) != ALL:
            values[one.name] = one.default if how == NOTHING else _CUT[how](getattr(record, one.name))
    return replace(record, **values)


def shown_model(model: str) -> str:
    """A model as others may read it: of one in a folder, the folder's last part."""
    return model if provider_of(model).is_remote else str(_name(model))


def addressed(spec: RunSpec) -> RunSpec:
    """A spec with the address of its service, even if it came from the environment of this machine."""
    service = service_of(spec.model, spec.service)
    if service is None:
        return spec
    try:
        return replace(spec, service=replace(service, base_url=address_of(service).whole))
    except ModelError:  # its address is not one
        return spec


def _name(path: str | None) -> str | None:
    """The last part of a path. Names of pools and of data sets on the hub stay as they are."""
    if path is None:
        return None
    prefix, rest = (_HUB_PREFIX, path.removeprefix(_HUB_PREFIX)) if path.startswith(_HUB_PREFIX) else ("", path)
    if prefix and _HUB_NAME.fullmatch(rest):
        return path
    name = re.split(r"[\\/]", rest.rstrip("\\/"))[-1]
    return prefix + ("" if name in {".", ".."} else name)


def _bare(address: str | None) -> str | None:
    """An address without user name, password, query and fragment."""
    if not address:
        return address
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


_CUT: Mapping[str, Callable[[Any], Any]] = {
    LAST_PART: _name,
    OF_MODEL: shown_model,
    ADDRESS: _bare,
}
"""How what travels of a field → what is left of its value."""


_TRIPLET = ("fact_id", "negative_of", "head", "relation", "tail", "positive")
_ANSWER = ("answer", "p_true", "p_mass", "raw", "failure")
_CALL = ("p_low", "p_high", "cut", "served_model", "fingerprint", "prompt_tokens", "completion_tokens", "seconds", "attempts")
_THINKING = ("reasoning_tokens", "stated", "upstream")
_AFTER_PUSH = ("held", "yields_to_truth", "mastered_and_held", "gain", "newly_affirmed")


def fact_rows(facts: Sequence[Fact]) -> Iterator[dict[str, Any]]:
    """The rows of `facts`, without the role: the columns that are exported."""
    further = [
        name
        for name, about in COLUMNS.items()
        if name not in _TRIPLET
        and (about.exported == ALWAYS or (about.exported == IF_KNOWN and any(getattr(fact, name) for fact in facts)))
    ]
    return (_fields(fact, (*_TRIPLET, *further)) for fact in facts)


def statement_rows(statements: Sequence[Statement]) -> Iterator[dict[str, Any]]:
    """The rows of `statements`, which say whose facts are presumed false where some are."""
    further = ("presumed",) if any(one.fact.presumed for one in statements) else ()
    return (statement_row(one) | _fields(one.fact, further) for one in statements)


def statement_row(statement: Statement) -> dict[str, Any]:
    """A row of `statements`."""
    return {
        "statement_id": statement.statement_id,
        **_fields(statement.fact, _TRIPLET),
        "pool": statement.pool,
        "variant": statement.variant,
        "statement": statement.text,
        "label": statement.label,
    }


def answer_row(asked: Asked, run: Run) -> dict[str, Any]:
    """A row of `answers`: a statement with the model's answer, or why its call failed."""
    return {
        **statement_row(asked.statement),
        "model": shown_model(run.model),
        **_fields(asked.answer, _ANSWER),
        "p_true_source": run.p_true_source if asked.answer and asked.answer.p_true is not None else None,
        "shot_draw": asked.draw,
        **_fields(asked.answer, _CALL),
        **_fields(asked.answer, _THINKING),
        **({"passages": [one._asdict() for one in asked.passages or ()]} if run.spec.retrieval != NO_RETRIEVAL else {}),
        **(
            {"pushes": [{"kind": one.kind, "round": one.round, **_fields(one.answer, _ANSWER)} for one in asked.pushed]}
            if run.spec.pressure
            else {}
        ),
    }


def _fields(record: object, names: Iterable[str]) -> dict[str, Any]:
    """Some fields of a record by their names; all None where there is no record."""
    return {name: record and getattr(record, name) for name in names}


def score_rows(run: str, model: str, measures: Measures, imported: bool = False) -> Iterator[dict[str, Any]]:
    """The figures of a run that have an interval, one a row; `group` and `name` say over which statements. imported: the run
    came from a file.

    Left out are the curves over ways of asking and over the surest answers, and how far P(True) is off in parts.
    """
    for group, value in figures_of(measures).items():
        for name, figure, estimate in _after_pushes(value) if isinstance(value, Pressure) else _figures(group, value):
            bounds = {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}
            yield {
                "run": run,
                "model": shown_model(model),
                "imported": imported,
                "figure": figure,
                "group": group,
                "name": name,
                **bounds,
            }


def _after_pushes(value: Pressure) -> Iterator[tuple[str, str, Estimate]]:
    """(kind and round, figure, its value)."""
    return ((f"{one.kind} {one.round}", name, getattr(one, name)) for one in value.after for name in _AFTER_PUSH)


def _figures(group: str, value: Any) -> Iterator[tuple[str, str, Estimate | TypeAccuracy | Harm]]:
    """(name within the group, figure, its value)."""
    if isinstance(value, Estimate | Harm):
        yield "", group, value
    if isinstance(value, Harm):
        yield from ((relation, group, one) for relation, one in value.by_relation.items())
    elif isinstance(value, Dropped):
        yield from (("", name, part) for name, part in vars(value).items() if isinstance(part, Estimate))
    elif isinstance(value, Diagnosis):
        yield from ((name, "share", one.share) for name, one in value.by_name.items())
    elif isinstance(value, SelfAgreement):
        yield from ((name, "share", one.share) for name, one in value.by_implication.items())
        yield from (("", name, getattr(value, name)) for name in ("affirms_both", "denies_both"))
    elif isinstance(value, Probabilities):
        for name, good, off in (("", value.overall, value.off), ("affirmed", value.affirmed, value.off_affirmed)):
            yield from ((name, figure, getattr(good, figure)) for figure in ("auroc", "brier") if good)
            yield from ((name, figure, getattr(off, figure)) for figure in ("ece", "shift", "overconfidence") if off)
    for name, of_name in value.items() if group.startswith("by_") else ():
        if isinstance(of_name, Mapping):
            yield from ((name, figure, part) for figure, part in of_name.items() if isinstance(part, Estimate))
        else:
            yield name, "average_accuracy", of_name
