"""The options of a run spec, and the spec that they make.

An option is declared at the field that it sets: of `RunSpec` ("spec.limit"), its `Placement` or `ServiceSettings`
("service.timeout"). A field that nobody typed is absent from the parsed arguments.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medfact.errors import Mistake
from medfact.models import Placement, ServiceSettings, has_own_address, services_in_help, typed_model
from medfact.setting import SERVICE, UMLS, Need, settings_by_name
from medfact.spec import FIELDS, RECORDS, SETTINGS, RunSpec

if TYPE_CHECKING:
    from medfact.store import Run

Container = argparse._ActionsContainer
"""A parser, or a group within one."""

Add = Callable[[Container], object]
"""Adds an option, or several, to a container."""


# ------------------------------------------------------------------------------------------------ building blocks


def argument(flags: str, metavar: str, help_: str, **more: Any) -> Add:
    """An argument that its command reads itself; without a metavar it takes no value. more: in argparse's terms."""
    kind = {"metavar": metavar} if metavar else {"action": "store_true"}
    return lambda container: container.add_argument(*flags.split(), help=help_, **{**kind, **more})


def option(path: str, says_default: bool = True) -> Add:
    """The option of the field at a path, as it is declared there."""
    field, declared = FIELDS[path], SETTINGS[path]
    default = field.default
    settings: dict[str, Any] = {"dest": f"{path} {declared.along}".strip(), "default": argparse.SUPPRESS}
    if isinstance(default, bool):
        return argument(declared.flag, "", declared.help, **settings, action=f"store_{not default}".lower())
    shown = f"{default:g}" if isinstance(default, float) else default
    told = f" (default: {shown})" if says_default and default is not None and default != () else ""
    if default == () or declared.several:
        settings["action"] = "extend" if declared.choices else "append"
        told = "; may repeat" if default == () else told
    parse = declared.parse or {"int": int, "float": float}.get(str(field.type).partition(" ")[0], str)
    if settings.get("action") == "extend":
        parse = _names
    return argument(declared.flag, declared.metavar, f"{declared.help}{told}", **settings, type=parse)


def _names(text: str) -> list[str]:
    """Names that stand with commas between them."""
    return [name for part in text.split(",") if (name := part.strip())]


def options_among(paths: Iterable[str], says_default: bool = True) -> list[Add]:
    """The options of some fields, in their order in the help text; those that exclude each other as one."""
    added: dict[str, list[Add]] = {}
    for path in sorted(paths, key=lambda path: SETTINGS[path].place):
        added.setdefault(SETTINGS[path].excludes or path, []).append(option(path, says_default))
    return [one_of(*members) if len(members) > 1 else members[0] for members in added.values()]


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


def options_of(title: str) -> Add:
    """A group with all options that are declared for it."""
    providers = f" ({services_in_help()}; the key is read from OPENAI_API_KEY)" if title == SERVICE else ""
    paths = [path for path, declared in SETTINGS.items() if declared.group == title and not declared.shares]
    return group(title + providers, *options_among(paths))


# ------------------------------------------------------------------------------------------------ the options

CLUSTER = group(
    "a cluster (Ray)",
    argument("--on", "ADDRESS", "compute local models on `ray` (here), `auto` (one that runs), HOST:PORT or ray://HOST:PORT"),
    argument("--actors", "N", "processes that hold each model (default: all there is room for)", type=int),
    argument("--cpus-per-actor", "N", "processors of each (default: 1)", type=int),
    argument("--gpus-per-actor", "N", "GPUs of each (default: 1 if the cluster has any)", type=float),
)

RESUMED_SERVICE = group(
    f"{SERVICE} (replaces what the run recorded)",
    *options_among((path for path, declared in SETTINGS.items() if declared.resumable), says_default=False),
)


# ------------------------------------------------------------------------------------------------ the run spec


def typed_settings(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The settings that were typed: field → value, for each of "spec", "placement" and "service"."""
    settings: dict[str, dict[str, Any]] = {record: {} for record in RECORDS}
    for paths, value in vars(options).items():
        for path in paths.split() if "." in paths else ():
            record, _, field = path.partition(".")
            settings[record][field] = tuple(value) if isinstance(value, list) else value
    # what was typed of an option that two fields share goes to the second one, where it is meant (`Setting.shares`)
    for path, declared in SETTINGS.items():
        record, _, field = declared.shares.partition(".")
        typed: tuple[str, ...] = settings[record].get(field, ()) if record else ()
        if len(typed) == 1 and typed[0].isupper() and typed[0] not in SETTINGS[declared.shares].choices:
            own, _, name = path.partition(".")
            (settings[own][name],) = settings[record].pop(field)
    return settings


def spec_of(options: argparse.Namespace, model: str) -> RunSpec:
    """The spec of the typed settings and a model. Raises Mistake for an option that would change nothing, and where several
    runs are meant.
    """
    specs = specs_of(options, model)
    if len(specs) > 1:
        flags = ", ".join(declared.flag for declared in SETTINGS.values() if declared.several)
        raise Mistake(f"{flags} has several values, and this command takes one.", "Name one of them.")
    return specs[0]


def specs_of(options: argparse.Namespace, model: str) -> list[RunSpec]:
    """The specs of the typed settings and a model: one for each value of an option that takes several."""
    settings = typed_settings(options)
    typed = settings["spec"]
    several = [name for name, declared in settings_by_name(RunSpec).items() if declared.several and name in typed]
    if empty := next((name for name in several if not typed[name]), None):
        flag = settings_by_name(RunSpec)[empty].flag
        raise Mistake(f"{flag} names nothing.", f"Write a name after {flag}, or leave it out.")
    return [
        _spec_of({**settings, "spec": {**typed, **dict(zip(several, values, strict=True))}}, model)
        for values in product(*(dict.fromkeys(typed[name]) for name in several))
    ]


def _spec_of(settings: dict[str, dict[str, Any]], model: str) -> RunSpec:
    settings = dict(settings)
    model, settings["service"] = _asked_where(model, settings["service"])
    placement, service = Placement(**settings["placement"]), ServiceSettings(**settings["service"])
    spec = RunSpec(model, **settings["spec"], placement=placement, service=service)
    check_used(settings["spec"], spec)
    return spec


def _asked_where(typed: str, service: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The spec of a model as it is typed, and the typed settings of its service: an address in its name goes before."""
    model, address = typed_model(typed)
    return model, {**service, "base_url": address} if address else service


def _reads_umls(spec: RunSpec) -> bool:
    """Whether the facts come from a UMLS folder; of what is not there, whoever reads it says so."""
    from medfact.datasets.umls import is_umls  # only a command that reads facts needs it

    return spec.facts is not None and (not Path(spec.facts).exists() or is_umls(Path(spec.facts)))


_OF_GROUP = {UMLS: Need(_reads_umls, "{flag} is for a UMLS folder, and none is given.", "Leave it out, or add --facts FOLDER.")}
"""What all options of a group need."""


def check_used(typed: Collection[str], spec: RunSpec) -> None:
    """Raises Mistake for an option that would change nothing beside the others: whoever typed it believes that it counts.
    typed: names of the spec's fields that were typed.
    """
    for name, told in settings_by_name(spec).items():
        need = told.needs or _OF_GROUP.get(told.group)
        if name in typed and need and not need.everywhere and not need.is_met(spec):
            raise Mistake(need.problem.format(flag=told.flag), need.hint)


def repeated_spec(options: argparse.Namespace, model: str, record: Run) -> RunSpec:
    """The spec of a recorded run for a model. Typed settings replace the record's.

    Only a typed setting permits code, unsafe weights or reused answers: a record may come from a stranger. What such a record
    names is no more than a name, unless it is typed here, or agreed to.

    Raises Mistake where a setting chooses what to ask, which the record does.
    """
    settings = typed_settings(options)
    if any(SETTINGS[f"spec.{name}"].affects_answers for name in settings["spec"]):
        raise Mistake(
            f"Run {record.run} fixes what is asked.",
            "Leave out the options that choose facts, statements or demonstrations.",
        )
    model, settings["service"] = _asked_where(model, settings["service"])
    if model != record.model and (has_own_address(record.model) or has_own_address(model)):  # an address is no other service's
        settings["service"] = {"base_url": None, **settings["service"]}
    placement = replace(record.spec.placement, remote_code=False, any_weights=False)
    spec = record.spec.override(**{"reuse": False, "batch": False, "race": None, "racers": 0, **settings["spec"]})
    asked: dict[str, Any] = {"model": model, "service": replace(spec.service, **settings["service"])}
    named = {"model": bool(options.model) or options.yes, "service": bool(settings["service"].get("base_url")) or options.yes}
    spec = replace(spec, **asked, placement=replace(placement, **settings["placement"]))
    return spec.override(**{name: value for name, value in asked.items() if named[name]})
