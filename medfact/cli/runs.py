"""Commands about runs: start one, go on with one, list them, show what they found, and take them elsewhere."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from medfact.cli.data import collection_of
from medfact.cli.options import again_spec, budget_of, resumed_service, spec_of
from medfact.cli.rows import MISTAKE, OK, SOME_FAILED, answer_row, emit, run_row, say, say_all
from medfact.errors import Mistake, StoreError, UnknownName

if TYPE_CHECKING:
    from medfact.models import ApiSettings
    from medfact.runs.events import Event, Finished
    from medfact.spec import RunSpec
    from medfact.store import Run, Store


def run(options: argparse.Namespace) -> int:
    """Asks one or more models; prints one row a run. With --dry-run: what it would cost, one row a model."""
    return _run_again(options) if options.again else _run_anew(options)


def _run_anew(options: argparse.Namespace) -> int:
    from medfact.models import BUNDLED_MODEL, check_spec
    from medfact.runs.start import start
    from medfact.store import Store

    specs = [spec_of(options, model) for model in options.model or [BUNDLED_MODEL]]
    for spec in specs:
        check_spec(spec.model)
    collection = collection_of(specs[0])
    if options.dry_run:
        from medfact.runs.costs import costs

        return emit((costs(spec, collection) for spec in specs), options.output)
    _ask_leave(specs, options.yes)
    store = Store(options.db)
    return _ask_all([start(spec, store, collection) for spec in specs], store, options.output, _typed_key(options))


def _run_again(options: argparse.Namespace) -> int:
    """What a run asked, from its record alone."""
    from medfact.models import check_spec
    from medfact.runs.run import check_address, is_ones_own
    from medfact.runs.start import recorded_plan, start_again
    from medfact.store import Store

    store = Store(options.db)
    record = store.run(options.again)
    specs = [again_spec(options, model, record) for model in options.model or [record.model]]
    for spec in specs:
        check_spec(spec.model)
    if options.dry_run:
        from medfact.runs.costs import costs

        made = recorded_plan(record, store)
        return emit((costs(spec, planned=made) for spec in specs), options.output)
    _ask_leave(specs, options.yes)
    own = is_ones_own(record, store) or options.yes
    if not own and options.base_url is None:
        for spec in specs:
            check_address(replace(record, model=spec.model, spec=spec), store)
    key = _environment_key() if own else _typed_key(options)
    return _ask_all([start_again(record.run, store, spec) for spec in specs], store, options.output, key)


def _environment_key() -> str | None:
    """The key that goes along to an address which the person at this command line has typed, now or when the run was begun."""
    return os.environ.get("OPENAI_API_KEY") or None


def _typed_key(options: argparse.Namespace) -> str | None:
    return _environment_key() if options.base_url else None


def _ask_all(started: Sequence[str], store: Store, output: str | None, key: str | None) -> int:
    say_all(store.run(started[0]).notes)
    code = _answer_all(started, store, key)
    return max(code, _show_rows(started, store, output, code))


def _show_rows(run_ids: Sequence[str], store: Store, output: str | None, code: int) -> int:
    """Prints the rows of runs that this process has asked. Where the database cannot be used, that was said before."""
    try:
        return emit((run_row(_ended(run_id, store), store) for run_id in run_ids), output)
    except StoreError:
        if code != MISTAKE:
            raise
        return code


def _ended(run_id: str, store: Store) -> Run:
    """A run that this process has asked. Where its end could not be written, it is paused all the same."""
    from medfact.store import PAUSED, RUNNING, WAITING
    from medfact.store.workers import myself

    record = store.run(run_id)
    if record.state in {WAITING, RUNNING} and record.worker == myself():
        return replace(record, state=PAUSED, reason="The database could not be written.")
    return record


def _ask_leave(specs: Sequence[RunSpec], given: bool) -> None:
    """Asks before facts of one's own go to a service on another machine. Raises Mistake where leave is not given."""
    from medfact.models import is_service
    from medfact.models.services.settings import host_of, is_loopback

    hosts = {host_of(spec.service) for spec in specs if is_service(spec.model) and spec.facts is not None}
    away = sorted(host for host in hosts if not is_loopback(host))
    if not away or given:
        return
    asked = f"Your facts go to {', '.join(away)}. They must hold no patient data."
    if not sys.stdin.isatty() or input(f"{asked} Send them? [y/N] ").strip().lower() not in {"y", "yes"}:
        raise Mistake(asked, "If that is meant, add --yes.")


def resume(options: argparse.Namespace) -> int:
    """Goes on with a run, from its record alone; says where its data or its pool have changed since."""
    from medfact.models.services.settings import NO_KEY
    from medfact.runs.plan import changes
    from medfact.runs.run import is_ones_own
    from medfact.store import Store

    store = Store(options.db)
    record = store.run(options.run)
    say_all(f"{change} The run goes on as it was recorded." for change in changes(record))
    key = _environment_key() if options.yes or options.base_url or is_ones_own(record, store) else None
    if options.yes or options.base_url:
        key = key or NO_KEY  # there is none, but the address is known
    code = _answer(record.run, store, key, budget_of(options), resumed_service(options, record))
    return max(code, _show_rows([record.run], store, None, code))


def export(options: argparse.Namespace) -> int:
    """Writes a run into a file; says where."""
    from medfact.exchange import export_run
    from medfact.store import Store

    store = Store(options.db)
    run_id = store.run(options.run).run
    path = Path(options.output or f"medfact-run-{run_id[:8]}.jsonl.gz")
    part = Path(f"{path}.part")
    try:
        try:
            with part.open("wb") as file:
                export_run(store, run_id, file)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise Mistake(f"{path} cannot be written: {error.strerror}.", "Choose another place.") from None
    say(f"run {run_id} written to {path}")
    return OK


def import_(options: argparse.Namespace) -> int:
    """Takes a run out of a file; prints its row."""
    from medfact.exchange import import_run
    from medfact.store import Store

    path = Path(options.file)
    try:
        with path.open("rb") as file:
            store = Store(options.db)
            run_id = import_run(store, file, path.name)
    except OSError as error:
        raise Mistake(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    return emit([run_row(store.run(run_id), store)], None)


def _answer_all(runs: Sequence[str], store: Store, key: str | None) -> int:
    """Models behind services all at once, those on this machine one after the other beside them."""
    from medfact.models import is_service

    away = [run_id for run_id in runs if is_service(store.run(run_id).model)]
    with ThreadPoolExecutor(max(len(away), 1)) as threads:
        waiting = [threads.submit(_answer, run_id, store, key) for run_id in away]
        codes = [_answer(run_id, store, key) for run_id in runs if run_id not in away]
        return max([*codes, *(one.result() for one in waiting)])


def _answer(run_id: str, store: Store, key: str | None, budget: float | None = None, service: ApiSettings | None = None) -> int:
    from medfact.runs.run import answer

    code = OK
    for event in _shown(answer(run_id, store, key=key, budget=budget, service=service), store.run(run_id).model):
        code = max(code, _code(event))
    return code


def _code(event: Event) -> int:
    from medfact.runs.events import Failed, Finished

    if isinstance(event, Failed):
        say(f"medfact: {event.error}")
        return MISTAKE
    return SOME_FAILED if isinstance(event, Finished) and event.failed else OK


def _shown(events: Iterator[Event], model: str) -> Iterator[Event]:
    """Passes events on and tells progress on stderr: a moving line on a terminal, else one at the beginning and the end."""
    from medfact.runs.events import AnswersSaved, Finished, Loading, Started

    total = done = 0
    stage = ""
    for event in events:
        if isinstance(event, Started):
            total, done = event.statements, event.answered
            say(f"run {event.run}: {model}, {total} statements, {done} answered before")
        elif isinstance(event, Loading):
            if sys.stderr.isatty():
                print(f"\r\033[K{model}: {event.step}", end="", file=sys.stderr)
            elif event.step.partition(":")[0] != stage:
                say(f"{model}: {event.step}")
            stage = event.step.partition(":")[0]
        elif isinstance(event, AnswersSaved):
            done += len(event.answers)
            if sys.stderr.isatty():
                print(f"\r\033[K{model}: {done} of {total}", end="", file=sys.stderr)
        elif isinstance(event, Finished):
            say("\n".join(_end(event, model)))
        yield event


def _end(event: Finished, model: str) -> Iterator[str]:
    """How a run ended, in lines; on a terminal, below the line that moved."""
    failed = f", {event.failed} failed (see `answers`, then `resume`)" if event.failed else ""
    yield f"{chr(10) if sys.stderr.isatty() else ''}{model}: {event.state} in {event.seconds:.1f} s{failed}"
    if event.commonest:
        why, count = event.commonest
        yield f"{model}: {count} of the {event.failed} failed calls: {why}"
    if event.reason:
        yield f"{model}: {event.reason}"


def runs(options: argparse.Namespace) -> int:
    """Lists the runs."""
    from medfact.store import Store

    store = Store(options.db)
    return emit((run_row(record, store) for record in store.runs()), options.output)


def report(options: argparse.Namespace) -> int:
    """Shows the figures of a run."""
    from medfact.datasets.tables import json_line
    from medfact.results.report import as_text, report_of
    from medfact.store import Store

    made = report_of(Store(options.db), options.run)
    print(json_line(made) if options.json else as_text(made))
    return OK


def answers(options: argparse.Namespace) -> int:
    """Lists the answers of a run."""
    from medfact.store import Store

    store = Store(options.db)
    record = store.run(options.run)
    rows = (answer_row(item, record) for item in store.asked(record.run) if item.answer is not None)
    return emit(rows, options.output)


def tables(options: argparse.Namespace) -> int:
    """Shows the papers' tables for one or more runs: one row per figure."""
    from medfact.results.papers import PAPERS
    from medfact.results.papers import tables as make
    from medfact.results.report import report_of
    from medfact.store import Store

    if options.paper is not None and options.paper not in PAPERS:
        raise UnknownName("paper", options.paper, PAPERS)
    store = Store(options.db)
    reports = [report_of(store, run_id) for run_id in options.run]
    return emit((row for table in make(reports, options.paper) for row in table.as_rows()), options.output)


def compare(options: argparse.Namespace) -> int:
    """Compares two to eight runs."""
    from medfact.datasets.tables import json_line
    from medfact.results.compare import as_text, comparison, sides_of
    from medfact.results.report import figures_of
    from medfact.store import Store

    store = Store(options.db)
    sides = sides_of(store, options.run)
    made = comparison(sides)
    print(json_line(made) if options.json else as_text(made, [figures_of(store, side.run) for side in sides]))
    return OK
