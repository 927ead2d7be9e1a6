"""Commands that ask models: start, repeat or resume a run, or check a service."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any

from medfact.cli import MISTAKE, resumable
from medfact.cli.options import repeated_spec, spec_of, specs_of, typed_settings
from medfact.cli.progress import race_teller, show_progress
from medfact.cli.rows import check_output, emit, kept, print_notes, run_row
from medfact.cli.show_data import held_in, in_language, load_collection
from medfact.errors import Mistake, StoreError
from medfact.models import (
    BUNDLED_MODEL,
    Model,
    check_spec,
    check_typed_address,
    is_local,
    key_of_named,
    load_model,
    provider_of,
)
from medfact.results.wording import names_of_runs
from medfact.runs.checks import check_settings, hosts_of_own_data
from medfact.runs.costs import costs
from medfact.runs.plan import changes, plan
from medfact.runs.pool import decoded_as_published
from medfact.runs.racing import RacingRuns, of_one_race, racing_specs, still_racing
from medfact.runs.run import answer, check_address, is_ones_own
from medfact.runs.service_check import check_service, cost_of_check, prompts_of_check
from medfact.runs.start import as_decided, recorded_plan, start, start_again, start_planned
from medfact.spec import RunSpec
from medfact.store import PAUSED, RUNNING, WAITING, Plan, Run, Store
from medfact.store.workers import myself


def check_models(specs: Collection[RunSpec]) -> None:
    """Raises an error where a model cannot be named, an address is none or not asked, or a budget cannot be kept."""
    for spec in specs:
        check_spec(spec.model)
        check_settings(spec)
    check_addressed(specs)


def check_addressed(specs: Collection[RunSpec]) -> None:
    """Raises Mistake where an address was typed, and every model is asked at one of its own."""
    for spec in specs:
        try:
            return check_typed_address(spec.model, spec.service.base_url)
        except Mistake as mistake:
            passed_over = mistake
    if specs:
        raise passed_over


def confirm_upload(specs: Sequence[RunSpec], agreed: bool) -> None:
    """Asks before a person's own facts go to a service on another machine. Raises Mistake where the person does not agree."""
    remote = sorted(set[str]().union(*map(hosts_of_own_data, specs)))
    if not remote or agreed:
        return
    documents = " and documents" if any(spec.corpus for spec in specs) else ""
    warning = f"Your facts{documents} go to {', '.join(remote)}. They must hold no patient data."
    if not sys.stdin.isatty() or input(f"{warning} Send them? [y/N] ").strip().lower() not in {"y", "yes"}:
        raise Mistake(warning, "If you agree, add --yes.")


def typed_address(options: argparse.Namespace) -> str | None:
    address: str | None = typed_settings(options)["service"].get("base_url")
    return address


def check_services(options: argparse.Namespace) -> int:
    """Checks the service of each model and prints a row each; with --dry-run, what the check would cost. Records no run."""
    if options.again or options.writing or options.race or not options.model:
        raise Mistake(
            "The check asks models behind a service, and no run.", "Give --model, without --again, --writing or --race."
        )
    specs = [spec_of(options, model) for model in options.model]
    check_models(specs)
    prompts = [prompts_of_check(spec) for spec in specs]
    both = zip(specs, prompts, strict=True)
    if options.dry_run:
        return emit((cost_of_check(spec, asked) for spec, asked in both), options.output)
    return emit([check_service(spec, asked, key_of_named(spec.model, spec.service)) for spec, asked in both], options.output)


def run(options: argparse.Namespace) -> int:
    """Asks one or more models and prints one row per run; with --dry-run, prints the costs instead, one row per model."""
    check_output(options.output)
    if options.check_service:
        return check_services(options)
    return _repeat(options) if options.again else _ask_written(options) if options.writing else _start(options)


def _ask_written(options: argparse.Namespace) -> int:
    """Asks what language models wrote, from the records of these writings, and the sets beside them."""
    from medfact.writing.runs import (
        ORIGINALS,
        PROTOTYPES,
        asked_set,
        writing_of,  # a fifth of a second that other runs need not wait for
    )

    store = Store(options.db)
    first = writing_of(options.writing[0], store)
    asked: list[tuple[RunSpec, Plan]] = []
    if options.race:
        raise Mistake("Sets of written sentences cannot race.", "Leave out --race, and compare the runs afterwards.")
    for model, name in product(options.model or [BUNDLED_MODEL], options.writing):
        spec, planned = asked_set(name, first, model, store)
        planned = as_decided(planned, store.decisions.of_partners())
        asked.append((_decoded(options, repeated_spec(options, model, replace(first, spec=spec))), planned))
    specs = [spec for spec, _ in asked]
    check_models(specs)
    if options.dry_run:
        return emit((costs(spec, planned=planned) for spec, planned in asked), options.output)
    confirm_upload(specs, options.yes)
    check_address_of(first, specs)
    with loader(options, [spec.model for spec in specs]) as load:
        runs = [start_planned(spec, planned, store) for spec, planned in asked]
        writings = [writing_of(name, store) for name in options.writing if name not in (PROTOTYPES, ORIGINALS)]
        return _ask_all(runs, store, options, are_named(writings, options), load)


def _start(options: argparse.Namespace) -> int:
    typed = [spec for model in options.model or [BUNDLED_MODEL] for spec in specs_of(options, model)]
    specs = _racing(options, [_decoded(options, spec) for spec in typed])
    check_models(specs)
    collection = load_collection(specs[0])
    specs = [in_language(spec, collection, options) for spec in specs]
    held = held_in(options)
    if options.dry_run:
        return emit((costs(spec, planned=plan(spec, collection, held=held)) for spec in specs), options.output)
    confirm_upload(specs, options.yes)
    store = Store(options.db)
    with loader(options, [spec.model for spec in specs], [spec.model for spec in specs if spec.race]) as load:
        runs = [start(spec, store, collection, held) for spec in specs]
        return _ask_all(runs, store, options, True, load)


def _decoded(options: argparse.Namespace, spec: RunSpec) -> RunSpec:
    """The spec with the decoding of its paper, where no temperature was typed."""
    return spec if "service.temperature" in vars(options) else decoded_as_published(spec)


def _racing(options: argparse.Namespace, specs: list[RunSpec]) -> list[RunSpec]:
    if options.race and len({spec.asked_in for spec in specs}) > 1:
        raise Mistake("Models race in one language.", "Leave out --race, or name one --language.")
    return racing_specs(specs) if options.race else specs


def _repeat(options: argparse.Namespace) -> int:
    """Repeats a run from its record: the files that it was made from are not needed."""
    store = kept(options.db)
    record = store.run(options.again)
    specs = _racing(options, [repeated_spec(options, model, record) for model in options.model or [record.model]])
    check_models(specs)
    if options.dry_run:
        planned = recorded_plan(record, store)
        return emit((costs(spec, planned=planned) for spec in specs), options.output)
    confirm_upload(specs, options.yes)
    check_address_of(record, specs)
    with loader(options, [spec.model for spec in specs], [spec.model for spec in specs if spec.race]) as load:
        again = [start_again(record.run, store, spec) for spec in specs]
        return _ask_all(again, store, options, are_named([record], options), load)


def check_address_of(record: Run, specs: Sequence[RunSpec]) -> None:
    """Raises Mistake where a service would be asked that only a run's file names."""
    for spec in specs:
        check_address(replace(record, model=spec.model, spec=spec))


def are_named(records: Sequence[Run], options: argparse.Namespace) -> bool:
    """Whether a person has named the addresses of what recorded runs ask, or agrees to them."""
    return options.yes or bool(typed_address(options)) or all(map(is_ones_own, records))


def key_of(spec: RunSpec, are_named: bool) -> str | None:
    """The key of the environment for a model at an address that a person has named."""
    return key_of_named(spec.model, spec.service) if are_named else None


def resume(options: argparse.Namespace) -> int:
    """Continues runs from their records; notes where their data or their pool have changed since."""
    store = kept(options.db)
    if options.yes:
        for run in options.run:
            store.trust(store.run(run).run, "model", "service")
    records = list({record.run: record for record in map(store.run, options.run)}.values())
    for record in records:
        print_notes(f"{change} The run goes on as it was recorded." for change in changes(record))
    settings = typed_settings(options)
    asking: dict[str, dict[str, Any]] = {}
    for record in records:
        service = replace(record.spec.service, **settings["service"]) if settings["service"] else None
        if service and typed_address(options):
            check_addressed([replace(record.spec, service=service)])
            confirm_upload([replace(record.spec, service=service)], options.yes)
        asked = replace(record.spec, service=service or record.spec.service)
        key = key_of(asked, are_named([record], options))
        asking[record.run] = {"key": key, "budget": settings["spec"].get("budget"), "service": service}
    racing = still_racing(records)
    code = 0
    with loader(options, [record.model for record in records], [record.model for record in racing]) as load:
        asking = {run: {**chosen, "load": load} for run, chosen in asking.items()}
        if racing:
            code = _ask_in_race(racing, store, asking)
            code = max(code, _print_rows([record.run for record in racing], store, None, code))
        return max([code, *(_resume_alone(record, store, asking[record.run]) for record in records if record not in racing)])


def _resume_alone(record: Run, store: Store, asking: dict[str, Any]) -> int:
    if record.spec.writes:
        from medfact.cli.write import go_on  # with what writing needs, which other runs need not wait for

        return go_on(record.run, store, None, **asking)
    with resumable(record.run):
        code = show_progress(answer(record.run, store, **asking), record.model)
    return max(code, _print_rows([record.run], store, None, code))


def _ask_all(
    run_ids: Sequence[str], store: Store, options: argparse.Namespace, are_named: bool, load: Callable[..., Model]
) -> int:
    """Asks models behind services and on a cluster all at once, and models on this machine one after the other meanwhile; a
    race in step. Each service gets its own key. are_named: whether a person has named their addresses.
    """
    print_notes(dict.fromkeys(note for run_id in run_ids for note in store.run(run_id).notes))
    records = [store.run(run_id) for run_id in run_ids]
    keys = {record.run: key_of(record.spec, are_named) for record in records}
    stop = threading.Event()
    if of_one_race(records):
        code = _ask_in_race(records, store, {run_id: {"key": keys[run_id], "load": load} for run_id in run_ids})
        return max(code, _print_rows(run_ids, store, options.output, code))

    def ask(run_id: str) -> int:
        events = answer(run_id, store, stopped=stop.is_set, key=keys[run_id], load=load)
        return show_progress(events, store.run(run_id).model)

    remote = [one.run for one in records if provider_of(one.model).is_remote or (options.on and is_local(one.model))]
    with resumable(*run_ids), ThreadPoolExecutor(max(len(remote), 1)) as threads:
        try:
            pending = [threads.submit(ask, run_id) for run_id in remote]
            codes = [ask(run_id) for run_id in run_ids if run_id not in remote]
            code = max([*codes, *(future.result() for future in pending)])
        except KeyboardInterrupt:
            stop.set()  # those in threads end by themselves
            raise
    return max(code, _print_rows(run_ids, store, options.output, code))


@resumable()
def _ask_in_race(records: Sequence[Run], store: Store, asking: Mapping[str, dict[str, Any]]) -> int:
    """Asks the runs of a race side by side, and says where it stands. asking: options of `answer`, by run."""
    names = dict(zip([record.run for record in records], names_of_runs(records), strict=True))
    race, stop = RacingRuns(records, store, race_teller(names)), threading.Event()

    def ask(record: Run) -> int:
        events = answer(record.run, store, stopped=stop.is_set, race=lambda: race, **asking[record.run])
        return show_progress(events, names[record.run])

    with ThreadPoolExecutor(len(records)) as threads:
        pending = [threads.submit(ask, record) for record in records]
        try:
            return max(future.result() for future in pending)
        except KeyboardInterrupt:
            stop.set()  # each of them ends by itself, and records that a person stopped it
            raise


def _print_rows(run_ids: Sequence[str], store: Store, output: str | None, code: int) -> int:
    """Prints the rows of runs that this process has asked. An unusable database that was reported before is not an error."""
    try:
        return emit((run_row(_ended(store.run(run_id)), store) for run_id in run_ids), output)
    except StoreError:
        if code != MISTAKE:
            raise
        return code


def _ended(record: Run) -> Run:
    """A run that this process has asked. It is paused if its end could not be written."""
    if record.state in {WAITING, RUNNING} and record.worker == myself():
        return replace(record, state=PAUSED, reason="The database could not be written.")
    return record


# ------------------------------------------------------------------------------------------------ a cluster


@contextmanager
def loader(options: argparse.Namespace, models: Sequence[str], racing: Sequence[str] = ()) -> Iterator[Callable[..., Model]]:
    """What loads the models of a command. The address of a cluster comes from the command line alone, never from a record.
    racing: those of the models that race with each other.

    Raises Mistake where the options do not go together, and ModelError where the cluster cannot be used.
    """
    if options.on is None:
        if any(value is not None for value in (options.actors, options.cpus_per_actor, options.gpus_per_actor)):
            raise Mistake("--actors, --cpus-per-actor and --gpus-per-actor say how to use a cluster.", "Add --on ray.")
        yield load_model
        return
    local = [model for model in models if is_local(model)]
    if not local:
        raise Mistake(
            "--on is for models with weights, such as hf:NAME, which a cluster computes.",
            "Leave it out.",
        )
    from medfact.models.cluster.model import ClusterSettings, connected

    settings = ClusterSettings(options.on, options.actors, options.cpus_per_actor, options.gpus_per_actor)
    with connected(settings, len(local), sum(map(is_local, racing))) as load:
        yield load
