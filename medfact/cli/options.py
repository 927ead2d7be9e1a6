"""The options of a run spec, and the spec that they make.

An option names the field that it sets: of `RunSpec` ("spec.limit"), its `Placement` or `ServiceSettings` ("service.timeout").
Its type and its default come from that field. A field that nobody typed is absent from the parsed arguments.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from medfact.cli.unused import check_used
from medfact.errors import Mistake
from medfact.models import encoders_in_help, services_in_help
from medfact.models.local.placement import DEVICES, DTYPES, Placement, bytes_of
from medfact.models.services.settings import ServiceSettings
from medfact.negatives import PREFERENCES
from medfact.spec import PROTOCOLS, RunSpec

if TYPE_CHECKING:
    from medfact.store import Run

Container = argparse._ActionsContainer
"""A parser, or a group within one."""

Add = Callable[[Container], object]
"""Adds an option, or several, to a container."""

_RECORDS = {"spec": RunSpec, "placement": Placement, "service": ServiceSettings}
FIELDS = {
    f"{name}.{field.name}": field
    for name, record in _RECORDS.items()
    for field in dataclasses.fields(record)
    if field.name != "imported"
}
"""Every field that an option may set, by its path."""


# ------------------------------------------------------------------------------------------------ building blocks


def argument(*flags: str, **settings: Any) -> Add:
    """An argument that its command reads itself, in argparse's terms."""
    return lambda container: container.add_argument(*flags, **settings)


def replacement(flag: str, paths: str, metavar: str, help_: str, parse: Callable[[str], Any] | None = None) -> Add:
    """An option that sets the field at a path, or the same field of several records (paths separated by spaces)."""
    field = FIELDS[paths.split()[0]]
    settings: dict[str, Any] = {"dest": paths, "default": argparse.SUPPRESS, "help": help_}
    if field.default is False:
        return argument(flag, **settings, action="store_true")
    if field.default == ():
        settings |= {"action": "append", "help": f"{help_}; may repeat"}
    parse = parse or {"int": int, "float": float}.get(str(field.type).partition(" ")[0], str)
    return argument(flag, **settings, metavar=metavar, type=parse)


def setting(flag: str, paths: str, metavar: str, help_: str, parse: Callable[[str], Any] | None = None) -> Add:
    """The same, with the default of that field in the help text."""
    default = FIELDS[paths.split()[0]].default
    if default is None or default is False or default == ():
        return replacement(flag, paths, metavar, help_, parse)
    shown = f"{default:g}" if isinstance(default, float) else default
    return replacement(flag, paths, metavar, f"{help_} (default: {shown})", parse)


def group(title: str, *members: Add) -> Add:
    """Options under a title of their own in the help text."""

    def add(container: Container) -> None:
        within = container.add_argument_group(title)
        for member in members:
            member(within)

    return add


def one_of(*members: Add) -> Add:
    """Options that exclude each other."""

    def add(container: Container) -> None:
        within = container.add_mutually_exclusive_group()
        for member in members:
            member(within)

    return add


def _column(text: str) -> tuple[str, str]:
    ours, separator, theirs = text.partition("=")
    if not separator or not theirs:
        raise Mistake(f"--column {text!r} names no column.", "Write it as --column head=YOUR_COLUMN.")
    return ours.strip().lower(), theirs


def _template_argument(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name.strip().isidentifier():
        hint = "Write it as NAME=VALUE, such as reasoning_effort=low."
        raise Mistake(f"--template-argument {text!r} names no argument.", hint)
    return name.strip(), value


def _temperature(text: str) -> float | None:
    try:
        return None if text == "default" else float(text)
    except ValueError:
        raise Mistake(f"--temperature {text!r} is not a number.", "Write a number from 0 to 2, or `default`.") from None


def _usd(text: str) -> float:
    usd = float(text)
    if not 0 < usd < 1e9:
        raise Mistake(f"--budget {usd:g} is not an amount to spend.", "Write it in US dollars, such as --budget 5.00.")
    return usd


# ------------------------------------------------------------------------------------------------ the options

FACTS = group(
    "facts",
    one_of(
        setting("--dataset", "spec.dataset", "NAME", "a bundled data set"),
        setting("--facts", "spec.facts", "FILE", "your own facts: a table, hf:NAME, or a MedLAMA, MKJ, DiseK or UMLS folder"),
    ),
    setting(
        "--column", "spec.columns", "OURS=YOURS", "column of FILE, such as head=disease; OURS==TEXT fills in TEXT", _column
    ),
    setting("--reviewed", "spec.reviewed", "", "test only facts that reviewers have confirmed, with their false partners"),
    setting("--limit", "spec.limit", "N", "test N true facts and their false partners"),
    setting("--per-relation", "spec.per_relation", "N", "test N true facts of each relation"),
    setting("--negatives", "spec.negatives", "K", "false partners per true fact (default: the protocol's)"),
    setting(
        "--negative-difficulty",
        "spec.negative_difficulty",
        "NAME",
        f"which false partners come first: {', '.join(PREFERENCES)} (default: the protocol's)",
    ),
    setting("--seed", "spec.seed", "S", "seed of all random draws"),
)

UMLS = group(
    "a UMLS folder (RRF)",
    setting("--rela", "spec.rela", "NAME", "a relation to read"),
    setting("--sab", "spec.sab", "NAME", "a source to read (default: all)"),
    setting("--language", "spec.language", "LAT", "language of the names"),
)

METHOD = group(
    "method",
    setting("--protocol", "spec.protocol", "NAME", f"one of: {', '.join(PROTOCOLS)}"),
    setting("--pool", "spec.pool", "NAME-OR-FILE", "prototype pool (default: the protocol's)"),
    setting("--accept-drafts", "spec.accept_drafts", "", "ask sentences that a language model drafted and nobody has accepted"),
    setting("--templates", "spec.templates", "FILE", "a benchmark's own sentences (prompts.csv) for --pool origin"),
    setting("--question", "spec.question", "FORMAT", "paper, code or mkj (default: the protocol's)"),
    setting("--shots", "spec.shots", "N", "demonstrations before each statement (default: the protocol's)"),
    setting("--shot-seed", "spec.shot_seed", "S", "seed of the demonstrations (default: --seed)"),
    setting("--shot-draws", "spec.shot_draws", "N", "ask each statement with N different draws of demonstrations"),
    setting("--demonstrations", "spec.demonstrations", "FILE", "your own: a table of relation, variant, statement, label"),
)

RETRIEVAL = group(
    "retrieval (passages that stand beside each statement; MKJ, Section 4.6)",
    setting("--retrieval", "spec.retrieval", "NAME", "none, sparse (shared words, BM25) or dense (meaning, sentence vectors)"),
    setting("--corpus", "spec.corpus", "FILE", "your documents: text, a table, or a folder (default: the known facts)"),
    setting("--corpus-column", "spec.corpus_column", "NAME", "column of a table with the text (default: text)"),
    setting("--passages", "spec.passages", "K", "passages shown with a statement"),
    setting("--leave-out-fact", "spec.leave_out", "", "leave out passages that state the fact or name both its ends"),
    setting("--encoder", "spec.encoder", "SPEC", f"for dense: {encoders_in_help()}"),
    setting("--encoder-url", "spec.encoder_url", "URL", "address of that service (default: that of --base-url)"),
)

LOCAL = group(
    "local models",
    setting("--memory", "placement.memory", "SIZE", "memory limit, such as 8GB (default: free memory)", bytes_of),
    setting("--dtype", "placement.dtype", "TYPE", f"one of: {', '.join(DTYPES)}"),
    setting("--device", "placement.device", "NAME", f"one of: {', '.join(DEVICES)}"),
    setting("--trust-code", "placement.remote_code", "", "run the Python code that a repository contains"),
    setting("--any-weights", "placement.any_weights", "", "load weights that are not safetensors; they can run code"),
    setting("--thinking", "placement.thinking", "", "let a model think before it answers"),
    setting("--template-argument", "placement.template", "NAME=VALUE", "argument of the chat template", _template_argument),
    setting("--max-tokens", "placement.max_tokens service.max_tokens", "N", "tokens per reply, behind a service too"),
)

CLUSTER = group(
    "a cluster (Ray)",
    argument(
        "--on",
        metavar="ADDRESS",
        help="compute local models on `ray` (here), `auto` (one that runs), HOST:PORT or ray://HOST:PORT",
    ),
    argument("--actors", metavar="N", type=int, help="processes that hold each model (default: all there is room for)"),
    argument("--cpus-per-actor", metavar="N", type=int, help="processors of each (default: 1)"),
    argument("--gpus-per-actor", metavar="N", type=float, help="GPUs of each (default: 1 if the cluster has any)"),
)

_CONNECTION = (
    ("--in-flight", "service.in_flight", "N", "most calls at once, at each address"),
    ("--tries", "service.tries", "N", "most calls per prompt"),
    ("--timeout", "service.timeout", "SECONDS", "time limit of one call"),
    ("--budget", "spec.budget", "USD", "stop a run once it has cost this much; `resume` continues it", _usd),
)

_ADDRESSES = argument(
    "--base-url",
    dest="service.base_url",
    metavar="URL",
    action="append",
    default=argparse.SUPPRESS,
    help="address of the service, such as http://127.0.0.1:8000/v1; may repeat, for replicas that serve the same model",
)

SERVICE = group(
    f"models behind a service ({services_in_help()}; the key is read from OPENAI_API_KEY)",
    _ADDRESSES,
    *(setting(*row) for row in _CONNECTION),
    setting("--completions", "service.completions", "", "send plain text to /completions, for base models"),
    setting("--temperature", "service.temperature", "T", "0 to 2, or `default` for the service's own", _temperature),
    setting("--alternatives", "service.top_logprobs", "N", "log-probabilities per token, 0 to 20"),
    setting("--repeats", "service.repeats", "K", "measure P(True) by K answers, not by log-probabilities"),
    setting("--service-seed", "service.seed", "S", "seed to send with each call"),
    setting("--shots-as-turns", "service.shots_as_turns", "", "send demonstrations as chat turns"),
    one_of(
        setting("--reuse", "spec.reuse", "", "reuse answers of earlier runs to identical prompts"),
        setting("--fresh", "service.fresh", "", "ask identical prompts again, also within a run"),
    ),
)

RESUMED_SERVICE = group(
    "models behind a service (replaces what the run recorded)", _ADDRESSES, *(replacement(*row) for row in _CONNECTION)
)


# ------------------------------------------------------------------------------------------------ the run spec


def typed_settings(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The settings that were typed: field → value, for each of "spec", "placement" and "service"."""
    settings: dict[str, dict[str, Any]] = {record: {} for record in _RECORDS}
    for paths, value in vars(options).items():
        for path in paths.split() if "." in paths else ():
            record, _, field = path.partition(".")
            settings[record][field] = tuple(value) if isinstance(value, list) else value
    if addresses := settings["service"].get("base_url"):  # both, so that none remains of those that a run recorded
        settings["service"] |= {"base_url": addresses[0], "replicas": addresses[1:]}  # service.replicas
    return settings


def spec_of(options: argparse.Namespace, model: str) -> RunSpec:
    """The spec of the typed settings and a model. Raises Mistake for an option that would change nothing."""
    settings = typed_settings(options)
    placement, service = Placement(**settings["placement"]), ServiceSettings(**settings["service"])
    spec = RunSpec(model, **settings["spec"], placement=placement, service=service)
    check_used(settings["spec"], spec)
    return spec


def repeated_spec(options: argparse.Namespace, model: str, record: Run) -> RunSpec:
    """The spec of a recorded run for a model. Typed settings replace the record's.

    Only a typed setting permits code, unsafe weights or reused answers: a record may come from a stranger. What such a record
    names is no more than a name, unless it is typed here, or agreed to.

    Raises Mistake where a setting chooses what to ask, which the record does.
    """
    settings = typed_settings(options)
    if settings["spec"].keys() - {"budget", "reuse"}:
        raise Mistake(
            f"Run {record.run} fixes what is asked.",
            "Leave out the options that choose facts, statements or demonstrations.",
        )
    placement = replace(record.spec.placement, remote_code=False, any_weights=False)
    spec = record.spec.chosen(**{"reuse": False, "race": None, "racers": 0, **settings["spec"]})
    asked: dict[str, Any] = {"model": model, "service": replace(spec.service, **settings["service"])}
    named = {"model": bool(options.model) or options.yes, "service": "base_url" in settings["service"] or options.yes}
    spec = replace(spec, **asked, placement=replace(placement, **settings["placement"]))
    return spec.chosen(**{name: value for name, value in asked.items() if named[name]})
