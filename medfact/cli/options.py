"""Options that several commands share, and the spec that they make."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from medfact.errors import Mistake
from medfact.models.local.placement import DEVICES, DTYPES, HERE, Placement, bytes_of
from medfact.models.services.settings import DEFAULTS, ServiceSettings
from medfact.spec import PROTOCOLS, RETRIEVALS, RunSpec

if TYPE_CHECKING:
    from medfact.store import Run

_Settings = TypeVar("_Settings", Placement, ServiceSettings)


def data_options(parser: argparse.ArgumentParser) -> None:
    """Which facts, how they are stated, and how they are asked."""
    _source_options(parser)
    _protocol_options(parser)


def _source_options(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--dataset", metavar="NAME", default="clinical-core", help="a bundled data set")
    source.add_argument("--facts", metavar="FILE", help="a file of facts, or a folder: tables, MedLAMA, MKJ, DiseK, UMLS")
    parser.add_argument(
        "--column",
        metavar="OURS=YOURS",
        action="append",
        default=[],
        help="which column of FILE is the head, relation, tail, …; OURS==TEXT gives all rows that text",
    )
    umls = parser.add_argument_group("a UMLS folder (RRF)")
    umls.add_argument("--rela", metavar="NAME", action="append", default=[], help="a relation to take; may repeat")
    umls.add_argument("--sab", metavar="NAME", action="append", default=[], help="a source to take; all by default")
    umls.add_argument("--language", metavar="LAT", default="ENG", help="the language of the names")


def _protocol_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--protocol", default="medfact", help=f"one of: {', '.join(PROTOCOLS)}")
    parser.add_argument("--pool", metavar="NAME-OR-FILE", help="a prototype pool; the protocol's by default")
    parser.add_argument("--templates", metavar="FILE", help="the benchmark's own sentences for the pool origin (prompts.csv)")
    parser.add_argument("--question", metavar="FORMAT", help="paper, code or mkj; the protocol's by default")
    parser.add_argument("--limit", type=int, metavar="N", help="so many positive facts, with their negatives")
    parser.add_argument("--per-relation", type=int, metavar="N", help="so many positive facts of each relation")
    parser.add_argument("--negatives", type=int, metavar="K", help="negative facts per positive one")
    parser.add_argument("--shots", type=int, metavar="N", help="demonstrations before each statement")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of all draws")
    parser.add_argument("--shot-seed", type=int, metavar="S", help="seed of the demonstrations; the seed by default")
    parser.add_argument("--shot-draws", type=int, default=1, metavar="N", help="ask each statement after N draws of them")
    parser.add_argument("--demonstrations", metavar="FILE", help="a table of them: relation, variant, statement, label")
    parser.add_argument("--retrieval", default="none", help=f"one of: {', '.join(RETRIEVALS)}")


def placement_options(parser: argparse.ArgumentParser) -> None:
    """How local models are loaded."""
    local = parser.add_argument_group("local models")
    local.add_argument("--memory", metavar="SIZE", help="what a model may take, such as 8GB; what is free by default")
    local.add_argument("--dtype", default="auto", help=f"one of: {', '.join(DTYPES)}")
    local.add_argument("--device", default="auto", help=f"one of: {', '.join(DEVICES)}")
    local.add_argument("--trust-code", action="store_true", help="run the code that a repository brings along")
    local.add_argument("--any-weights", action="store_true", help="load weights that are no safetensors; they can run code")
    local.add_argument("--thinking", action="store_true", help="let a model think before it answers; off by default")
    local.add_argument(
        "--template-argument",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="something that the chat template is given; may repeat",
    )
    local.add_argument("--max-tokens", type=int, metavar="N", help="tokens that a reply may take, also of a service")


def service_options(parser: argparse.ArgumentParser) -> None:
    """How models behind a service are asked. The key comes from OPENAI_API_KEY alone: commands are kept in histories."""
    service = parser.add_argument_group("models behind a service (openai:MODEL; the key is read from OPENAI_API_KEY)")
    service.add_argument("--base-url", metavar="URL", help="where it is, such as http://127.0.0.1:8000/v1; OpenAI's by default")
    service.add_argument("--in-flight", type=int, default=DEFAULTS.in_flight, metavar="N", help="calls at once, at most")
    service.add_argument("--tries", type=int, default=DEFAULTS.tries, metavar="N", help="calls for one prompt, at most")
    service.add_argument("--timeout", type=float, default=DEFAULTS.timeout, metavar="SECONDS", help="for one call")
    service.add_argument("--completions", action="store_true", help="send plain text to /completions: for a base model")
    service.add_argument("--temperature", default="0", metavar="T", help="0 by default; `default` leaves it to the service")
    service.add_argument("--alternatives", type=int, default=DEFAULTS.top_logprobs, metavar="N", help="of each token, 0 to 20")
    service.add_argument(
        "--repeats", type=int, default=0, metavar="K", help="P(True) from K answers, not from log-probabilities"
    )
    service.add_argument("--service-seed", type=int, metavar="S", help="a seed that is sent along")
    service.add_argument("--shots-as-turns", action="store_true", help="demonstrations as turns, not in one text")
    service.add_argument("--budget", type=float, metavar="USD", help="stop once each model has cost so much; resume goes on")
    reuse = service.add_mutually_exclusive_group()
    reuse.add_argument("--reuse", action="store_true", help="take answers of earlier runs to identical prompts")
    reuse.add_argument("--fresh", action="store_true", help="ask identical prompts anew, also within a run")


def resume_options(parser: argparse.ArgumentParser) -> None:
    """How a service is asked from now on."""
    service = parser.add_argument_group("models behind a service (in place of what the run recorded)")
    service.add_argument("--base-url", metavar="URL", help="where it is now")
    service.add_argument("--in-flight", type=int, metavar="N", help="calls at once, at most")
    service.add_argument("--tries", type=int, metavar="N", help="calls for one prompt, at most")
    service.add_argument("--timeout", type=float, metavar="SECONDS", help="for one call")
    service.add_argument("--budget", type=float, metavar="USD", help="what the run may cost in all")
    service.add_argument("--yes", action="store_true", help="send your key to a service that an imported run names")


def resumed_service(options: argparse.Namespace, record: Run) -> ServiceSettings | None:
    """How the service of a run is asked from now on; None where that is as it was recorded."""
    names = ("base_url", "in_flight", "tries", "timeout")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return replace(record.spec.service, **given) if given else None


def output_option(parser: argparse.ArgumentParser) -> None:
    """Where rows go."""
    parser.add_argument("-o", "--output", metavar="FILE", help="a .csv, .tsv, .jsonl or .parquet file; JSON lines else")


def database_option(parser: argparse.ArgumentParser) -> None:
    """Which database."""
    parser.add_argument("--db", metavar="URL", help="sqlite:///file.db or postgresql+psycopg://user@host/name")


def spec_of(options: argparse.Namespace, model: str) -> RunSpec:
    """The spec that the data options and a model make. Raises Mistake where a column map cannot be read."""
    columns = []
    for pair in options.column:
        ours, separator, theirs = pair.partition("=")
        if not separator or not theirs:
            raise Mistake(f"--column {pair!r} names no column.", "Write it as --column head=YOUR_COLUMN.")
        columns.append((ours.strip().lower(), theirs))
    return RunSpec(
        model=model,
        dataset=options.dataset,
        facts=options.facts,
        columns=tuple(columns),
        rela=tuple(options.rela),
        sab=tuple(options.sab),
        language=options.language,
        protocol=options.protocol,
        pool=options.pool,
        limit=options.limit,
        per_relation=options.per_relation,
        negatives=options.negatives,
        shots=options.shots,
        seed=options.seed,
        shot_seed=options.shot_seed,
        shot_draws=options.shot_draws,
        demonstrations=options.demonstrations,
        templates=options.templates,
        question=options.question,
        retrieval=options.retrieval,
        placement=_placement_of(options),
        service=_service_of(options),
        budget=budget_of(options),
        reuse=getattr(options, "reuse", False),
    )


def again_spec(options: argparse.Namespace, model: str, record: Run) -> RunSpec:
    """The spec of a recorded run for a model: how it is asked is as it was, but for the options that are given. Code and unsafe
    weights of others are let in by these options alone, never by a record.

    Raises Mistake where options say what is to be asked: the record does.
    """
    given = spec_of(options, model)
    how: dict[str, Any] = {"placement": given.placement, "service": given.service, "budget": given.budget, "reuse": given.reuse}
    if given != RunSpec(model, **how):
        raise Mistake(
            f"--again asks what run {record.run} asked, from its record.",
            "Leave out the options that choose facts, statements or demonstrations.",
        )
    return replace(
        record.spec,
        model=model,
        placement=replace(
            _changed(record.spec.placement, given.placement, HERE),
            remote_code=given.placement.remote_code,
            any_weights=given.placement.any_weights,
        ),
        service=_changed(record.spec.service, given.service, DEFAULTS),
        budget=record.spec.budget if given.budget is None else given.budget,
        reuse=given.reuse,
    )


def _changed(before: _Settings, given: _Settings, default: _Settings) -> _Settings:
    """The settings from before, but for those that are given and are not the default ones."""
    values = {field.name: getattr(given, field.name) for field in fields(given)}
    return replace(before, **{name: value for name, value in values.items() if value != getattr(default, name)})


def _service_of(options: argparse.Namespace) -> ServiceSettings:
    if "base_url" not in options:  # a command that asks no model
        return DEFAULTS
    try:
        temperature = None if options.temperature == "default" else float(options.temperature)
    except ValueError:
        raise Mistake(f"--temperature {options.temperature!r} is no number.", "Write 0, or `default`.") from None
    return ServiceSettings(
        base_url=options.base_url,
        in_flight=options.in_flight,
        tries=options.tries,
        timeout=options.timeout,
        temperature=temperature,
        top_logprobs=options.alternatives,
        max_tokens=options.max_tokens,
        repeats=options.repeats,
        shots_as_turns=options.shots_as_turns,
        completions=options.completions,
        seed=options.service_seed,
        fresh=options.fresh,
    )


def budget_of(options: argparse.Namespace) -> float | None:
    """USD that a run may cost, or None. Raises Mistake where it is no sum."""
    budget: float | None = getattr(options, "budget", None)
    if budget is not None and not 0 < budget < 1e9:
        raise Mistake(f"--budget {budget:g} is no sum to spend.", "Write it in USD, such as --budget 5.00.")
    return budget


def _placement_of(options: argparse.Namespace) -> Placement:
    if "memory" not in options:  # a command that loads no model
        return HERE
    return Placement(
        dtype=options.dtype,
        device=options.device,
        memory=bytes_of(options.memory) if options.memory else None,
        remote_code=options.trust_code,
        any_weights=options.any_weights,
        thinking=options.thinking,
        template=tuple(_template_argument(text) for text in options.template_argument),
        max_tokens=options.max_tokens,
    )


def _template_argument(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name.strip().isidentifier():
        raise Mistake(f"--template-argument {text!r} names nothing.", "Write it as NAME=VALUE, such as reasoning_effort=low.")
    return name.strip(), value
