"""Commands of the gate: does a model know less than it did? `baseline` writes what `check` compares with."""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from medfact.cli import MISTAKE, OK, latest, print_data, say
from medfact.cli.evaluate import are_named, check_address_of, check_models, confirm_upload, key_of, loader
from medfact.cli.options import repeated_spec
from medfact.cli.progress import show_progress
from medfact.cli.rows import kept
from medfact.datasets.table_writer import being_written, json_line
from medfact.errors import Mistake, UnknownName
from medfact.exchange import export_run, import_run
from medfact.metrics.race import CANNOT_TELL, GateResult
from medfact.results.gate import CODES, Gate, describe_gate, gate_of, junit, markdown, risky_facts
from medfact.results.report import Side, board_of
from medfact.results.withdrawn import still_held
from medfact.reviews.verdicts import held, opinions
from medfact.runs.gating import AgainstBaseline, in_order_of_check
from medfact.runs.run import answer
from medfact.runs.start import recorded_plan, start_planned
from medfact.store import COMPLETE, Plan, Run, Store


def baseline(options: argparse.Namespace) -> int:
    """Writes a run as a baseline: its statements and answers, without the model's replies."""
    store = kept(options.db)
    record = store.run(options.run)
    if record.spec.writes or record.state != COMPLETE:
        problem = "wrote sentences" if record.spec.writes else f"is not complete ({record.state})"
        raise Mistake(f"Run {record.run} {problem}.", "A baseline is a complete run that judged statements.")
    path = Path(options.output or "baseline.medfact.jsonl.gz")
    with being_written(path), path.open("wb") as file:
        export_run(store, record.run, file, without=("raw",))
    say(f"baseline {record.run} ({record.model}) written to {path}")
    return OK


def check(options: argparse.Namespace) -> int:
    """Asks a model what its baseline was asked, and says whether it knows less: pass 0, fail 1, cannot tell 3."""
    if not 0 < options.margin < 100 or options.dangerous < 0 or (options.part is not None and options.part < 1):
        raise Mistake("--margin is above 0 and below 100 points; --dangerous is 0 or more, --part 1 or more.", "Check them.")
    with _opened(options.against, options.db) as (old, record):
        store = Store(options.db)
        options.model = [options.model]
        spec = repeated_spec(options, options.model[0], record).override(pressure=())
        check_models([spec])
        confirm_upload([spec], options.yes)
        check_address_of(record, [spec])
        base, known = Side(record, board_of(old, record.run)), held(opinions(store.verdicts.log()))
        held_still, left_out = still_held(recorded_plan(record, old), record, old)
        part = _part(held_still, options.part, options.part_seed)
        planned, first = in_order_of_check(part, risky_facts((old, base), known))
        with loader(options, [spec.model]) as load:
            run = start_planned(spec, planned, store)
            asked = AgainstBaseline(store.run(run), store, base.board, options.margin / 100, first, _tell)
            events = answer(run, store, key=key_of(spec, are_named([record], options)), load=load, race=lambda: asked)
            code = show_progress(events, spec.model)
        differences = asked.differences()
        if code == MISTAKE or differences is None:
            return MISTAKE
        side = Side(store.run(run), board_of(store, run))
        return _print(
            gate_of((store, side), (old, base), differences, options.margin / 100, options.dangerous, known, left_out), options
        )


def _tell(now: GateResult) -> None:
    if now.verdict == CANNOT_TELL and now.asked < now.of:
        say(f"check: not decided after {now.asked:,} of {now.of:,} facts")


def _print(gate: Gate, options: argparse.Namespace) -> int:
    if options.junit:
        with being_written(options.junit):
            Path(options.junit).write_text(junit(gate), encoding="utf-8")
    if options.json or options.markdown:
        print_data(json_line(gate.record()) if options.json else markdown(gate))
    else:
        print(describe_gate(gate))
    return CODES[gate.verdict]


@contextmanager
def _opened(against: str, db: str | None) -> Iterator[tuple[Store, Run]]:
    """The baseline with the store that holds it: a run of the database, or a file, read into a database of its own. Raises
    Mistake where there is neither.
    """
    path = Path(against)
    if not path.is_file():
        store = kept(db)
        try:
            record = store.run(against)
        except UnknownName:
            raise Mistake(
                f"There is no file {against!r}, and no run {against!r}.",
                f"Name what `baseline` wrote. {latest('run', store.url)}",
            ) from None
        yield store, _judged(record)
        return
    with tempfile.TemporaryDirectory(prefix="medfact-baseline-") as folder:
        store = Store(f"sqlite:///{folder}/baseline.db")
        with path.open("rb") as file:
            run = import_run(store, file, path.name)
        yield store, _judged(store.run(run))


def _judged(record: Run) -> Run:
    if record.spec.writes:
        raise Mistake(f"Run {record.run} wrote sentences.", "A baseline is a run that judged statements.")
    return record


def _part(plan: Plan, facts: int | None, seed: int) -> Plan:
    """A plan with some of its true facts, drawn at random, and with the false partners of these."""
    if facts is None:
        return plan
    of = {asked.statement.fact.negative_of or asked.statement.fact.fact_id for asked in plan.statements}
    if facts >= len(of):
        return plan
    chosen = set(random.Random(seed).sample(sorted(of), facts))
    statements = (one for one in plan.statements if (one.statement.fact.negative_of or one.statement.fact.fact_id) in chosen)
    note = f"It asks a part, {facts:,} of {len(of):,} facts with their partners."
    return replace(plan, statements=tuple(statements), notes=(*plan.notes, note))
