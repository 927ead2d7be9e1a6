"""Commands that ask models: start a run, repeat one, resume one."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from typing import Any

from medfact.cli import MISTAKE, write
from medfact.cli.cluster import loader
from medfact.cli.consent import check_models, confirm_upload, service_key, typed_address
from medfact.cli.options import repeated_spec, spec_of, typed_settings
from medfact.cli.progress import show_progress
from medfact.cli.rows import emit, print_notes, run_row
from medfact.cli.show_data import held_in, load_collection
from medfact.errors import StoreError
from medfact.models import BUNDLED_MODEL, Model, is_local, is_service
from medfact.models.services.policy import named_address_key
from medfact.runs.costs import costs
from medfact.runs.plan import changes, plan
from medfact.runs.run import answer, check_address, is_ones_own
from medfact.runs.start import recorded_plan, start, start_again, start_planned
from medfact.spec import RunSpec
from medfact.store import PAUSED, RUNNING, WAITING, Plan, Run, Store
from medfact.store.workers import myself
from medfact.writing.runs import writing_of
from medfact.writing.sets import asked_set


def run(options: argparse.Namespace) -> int:
    """Asks one or more models and prints one row per run; with --dry-run, prints the costs instead, one row per model."""
    return _repeat(options) if options.again else _ask_written(options) if options.writing else _start(options)


def _ask_written(options: argparse.Namespace) -> int:
    """Asks what language models wrote, from the records of these writings, and the sets beside them."""
    store = Store(options.db)
    first = writing_of(options.writing[0], store)
    asked: list[tuple[RunSpec, Plan]] = []
    for model, name in product(options.model or [BUNDLED_MODEL], options.writing):
        spec, planned = asked_set(name, first, model, store)
        asked.append((repeated_spec(options, model, replace(first, spec=spec)), planned))
    specs = [spec for spec, _ in asked]
    check_models(specs)
    if options.dry_run:
        return emit((costs(spec, planned=planned) for spec, planned in asked), options.output)
    confirm_upload(specs, options.yes)
    with loader(options, [spec.model for spec in specs]) as load:
        runs = [start_planned(spec, planned, store) for spec, planned in asked]
        return _ask_all(runs, store, options, service_key(options), load)


def _start(options: argparse.Namespace) -> int:
    specs = [spec_of(options, model) for model in options.model or [BUNDLED_MODEL]]
    check_models(specs)
    collection = load_collection(specs[0])
    held = held_in(options)
    if options.dry_run:
        return emit((costs(spec, planned=plan(spec, collection, held=held)) for spec in specs), options.output)
    confirm_upload(specs, options.yes)
    store = Store(options.db)
    with loader(options, [spec.model for spec in specs]) as load:
        runs = [start(spec, store, collection, held) for spec in specs]
        return _ask_all(runs, store, options, service_key(options), load)


def _repeat(options: argparse.Namespace) -> int:
    """Repeats a run from its record: the files that it was made from are not needed."""
    store = Store(options.db)
    record = store.run(options.again)
    specs = [repeated_spec(options, model, record) for model in options.model or [record.model]]
    check_models(specs)
    if options.dry_run:
        planned = recorded_plan(record, store)
        return emit((costs(spec, planned=planned) for spec in specs), options.output)
    confirm_upload(specs, options.yes)
    trusted = options.yes or bool(typed_address(options)) or is_ones_own(record, store)
    if not trusted:
        for spec in specs:
            check_address(replace(record, model=spec.model, spec=spec), store)
    with loader(options, [spec.model for spec in specs]) as load:
        again = [start_again(record.run, store, spec) for spec in specs]
        return _ask_all(again, store, options, named_address_key(trusted), load)


def resume(options: argparse.Namespace) -> int:
    """Continues a run from its record; notes where its data or its pool have changed since."""
    store = Store(options.db)
    record = store.run(options.run)
    print_notes(f"{change} The run goes on as it was recorded." for change in changes(record))
    settings = typed_settings(options)
    service = replace(record.spec.service, **settings["service"]) if settings["service"] else None
    key = named_address_key(options.yes or bool(typed_address(options)) or is_ones_own(record, store))
    asking: dict[str, Any] = {"key": key, "budget": settings["spec"].get("budget"), "service": service}
    with loader(options, [record.model]) as load:
        if record.spec.task is not None:
            return write.go_on(record.run, store, None, load=load, **asking)
        code = show_progress(answer(record.run, store, load=load, **asking), record.model)
    return max(code, _print_rows([record.run], store, None, code))


def _ask_all(
    run_ids: Sequence[str], store: Store, options: argparse.Namespace, key: str | None, load: Callable[..., Model]
) -> int:
    """Asks models behind services and on a cluster all at once, and models on this machine one after the other meanwhile."""
    print_notes(dict.fromkeys(note for run_id in run_ids for note in store.run(run_id).notes))

    def ask(run_id: str) -> int:
        return show_progress(answer(run_id, store, key=key, load=load), store.run(run_id).model)

    elsewhere = {run_id: store.run(run_id).model for run_id in run_ids}
    remote = [run for run, model in elsewhere.items() if is_service(model) or (options.on and is_local(model))]
    with ThreadPoolExecutor(max(len(remote), 1)) as threads:
        pending = [threads.submit(ask, run_id) for run_id in remote]
        codes = [ask(run_id) for run_id in run_ids if run_id not in remote]
        code = max([*codes, *(future.result() for future in pending)])
    return max(code, _print_rows(run_ids, store, options.output, code))


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
