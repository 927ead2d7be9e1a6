"""The command line: `python -m medfact COMMAND`. Data goes to stdout or a file, progress to stderr.

Exit codes: 0 complete, 2 a user's mistake, 3 complete but some calls failed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from medfact import __version__
from medfact.errors import MedfactError, Mistake
from medfact.spec import PROTOCOLS, RETRIEVALS, RunSpec

if TYPE_CHECKING:
    from medfact.facts import Fact, KnowledgeBase
    from medfact.runner import Event
    from medfact.statements import Statement
    from medfact.store import Asked, Run, Store

OK, MISTAKE, SOME_FAILED = 0, 2, 3

Rows = Iterable[dict[str, Any]]

DISCLAIMER = "Not for clinical use. About half of the statements are false on purpose; each row's label says which."


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return OK
    try:
        return int(options.act(options))
    except MedfactError as error:
        print(f"medfact: {error}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        print("medfact: stopped; what was answered is kept, and `resume` goes on.", file=sys.stderr)
        return MISTAKE
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - stdout must stay open until the interpreter ends
        return OK


# ------------------------------------------------------------------------------------------------ options


class _Parser(argparse.ArgumentParser):
    """Tells a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(MISTAKE, f"medfact: {message}. See `{self.prog} --help`.\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m medfact",
        description="Does a language model know a medical fact, or only one way of saying it?",
        epilog=DISCLAIMER,
    )
    parser.add_argument("--version", action="version", version=f"medfact {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def command(name: str, act: Any, help_: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help_, description=f"{help_[0].upper()}{help_[1:]}.")
        added.set_defaults(act=act)
        return added

    _output(command("datasets", datasets, "list the bundled data sets"))
    _output(command("pools", pools, "list the prototypes, one row per pool, relation and form"))
    for name, act, help_ in (
        ("facts", facts, "list facts with their negatives and roles"),
        ("statements", statements, "make the statements of the facts under test"),
        ("prompts", prompts, "make the prompts, exactly as a model gets them"),
    ):
        added = command(name, act, help_)
        _data_options(added)
        _database(added)
        _output(added)
        if name == "facts":
            added.add_argument("--explain", action="store_true", help="say how each negative fact was drawn")
        if name == "prompts":
            added.add_argument("--model", metavar="SPEC", help="shape the prompts for this model; plain text without it")

    added = command("run", run, "ask one or more models; one run each")
    _data_options(added)
    _database(added)
    _output(added)
    added.add_argument(
        "--model",
        metavar="SPEC",
        action="append",
        help="medfact-tiny (the default), baseline:NAME or hf:REPOSITORY-OR-FOLDER; may repeat",
    )
    added = command("resume", resume, "go on with a run that was stopped or interrupted, or had failures")
    added.add_argument("run", metavar="RUN")
    _database(added)
    for name, act, help_ in (("runs", runs, "list the runs, oldest first"),):
        added = command(name, act, help_)
        _database(added)
        _output(added)
    added = command("report", report, "show the figures of a run")
    added.add_argument("run", metavar="RUN", help="a run's id or the beginning of it")
    added.add_argument("--json", action="store_true", help="print the report as JSON")
    _database(added)
    added = command("answers", answers, "list the answers of a run")
    added.add_argument("run", metavar="RUN", help="a run's id or the beginning of it")
    _database(added)
    _output(added)
    return parser


def _data_options(parser: argparse.ArgumentParser) -> None:
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
    parser.add_argument("--protocol", default="medfact", help=f"one of: {', '.join(PROTOCOLS)}")
    parser.add_argument("--pool", metavar="NAME-OR-FILE", help="a prototype pool; the protocol's by default")
    parser.add_argument("--limit", type=int, metavar="N", help="so many positive facts, with their negatives")
    parser.add_argument("--per-relation", type=int, metavar="N", help="so many positive facts of each relation")
    parser.add_argument("--negatives", type=int, metavar="K", help="negative facts per positive one")
    parser.add_argument("--shots", type=int, metavar="N", help="demonstrations before each statement")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of all draws")
    parser.add_argument("--shot-seed", type=int, metavar="S", help="seed of the demonstrations; the seed by default")
    parser.add_argument("--retrieval", default="none", help=f"one of: {', '.join(RETRIEVALS)}")


def _output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help="a .csv, .tsv, .jsonl or .parquet file; JSON lines else")


def _database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--db", metavar="URL", help="sqlite:///file.db or postgresql+psycopg://user@host/name")


def _spec(options: argparse.Namespace, model: str) -> RunSpec:
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
        retrieval=options.retrieval,
    )


def _emit(rows: Rows, output: str | None) -> int:
    from medfact.datasets.tables import json_line, write_table

    if output:
        count = write_table(rows, Path(output))
        _say(f"{count} rows written to {output}")
    else:
        for row in rows:
            print(json_line(row))
    return OK


def _say(text: str) -> None:
    print(text, file=sys.stderr)


# ----------------------------------------------------------------------------------------------- commands


def datasets(options: argparse.Namespace) -> int:
    from medfact.datasets import bundled_names, load_bundled

    def rows() -> Iterator[dict[str, Any]]:
        for name in bundled_names():
            collection = load_bundled(name)
            yield {
                "dataset": name,
                "positive_facts": len(collection.known.facts),
                "heads": len({fact.head for fact in collection.facts}),
                "relations": sorted({fact.relation for fact in collection.facts}),
                "fingerprint": collection.fingerprint(),
            }

    return _emit(rows(), options.output)


def pools(options: argparse.Namespace) -> int:
    from medfact.prototypes import load_pool, pool_names

    rows = (
        {"pool": pool.name, "source": pool.source, "relation": relation.name, "strength": strength, "variant": form}
        | {"prototype": sentences[form]}
        for pool in map(load_pool, pool_names())
        for relation in pool.relations.values()
        for strength, sentences in ((None, relation.sentences), *relation.strengths.items())
        for form in pool.forms
    )
    return _emit(rows, options.output)


def facts(options: argparse.Namespace) -> int:
    from medfact.runner import pool_of, select_facts

    spec = _spec(options, "")
    collection, pool = _collection(spec), pool_of(spec)
    rejected = _rejections(options)
    selection = select_facts(spec, collection, lambda relation: pool.canonical(relation) or relation, rejected)
    _say_all(selection.notes)
    missing = {fact.relation for fact in collection.facts if pool.canonical(fact.relation) is None}
    _say_all(f"the pool {pool.name!r} has no prototypes for {relation!r}" for relation in sorted(missing))
    positive = {fact.fact_id: fact for fact in (*selection.test, *selection.shots) if fact.positive}
    rows = (
        fact_row(fact) | {"role": role} | (_explained(fact, positive, collection.known, rejected) if options.explain else {})
        for role, chosen in (("test", selection.test), ("shots", selection.shots))
        for fact in chosen
    )
    return _emit(rows, options.output)


def _explained(
    fact: Fact, positive: Mapping[str, Fact], known: KnowledgeBase, rejected: Mapping[str, frozenset[str]]
) -> dict[str, Any]:
    """How a negative fact was drawn: from how many candidates, and how many each rule removed; None for positive ones."""
    from medfact.negatives import RULES, explain

    partner = positive.get(fact.negative_of or "")
    if partner is None:
        return {"candidates": None, "safe": None, "removed": None, "explanation": None}
    made = explain(partner, known, rejected.get(partner.fact_id, frozenset()))
    removed = "; ".join(f"{number}: {RULES[rule]}" for rule, number in made.removed.items())
    return {
        "candidates": made.candidates,
        "safe": made.left,
        "removed": made.removed,
        "explanation": f"{made.candidates} tails of the same type, {made.left} of them safe. Left out: {removed or 'none'}.",
    }


def statements(options: argparse.Namespace) -> int:
    from medfact.runner import plan

    spec = _spec(options, "")
    made = plan(spec, _collection(spec), _rejections(options))
    _say_all(made.notes)
    return _emit((statement_row(statement) for statement, _ in made.statements), options.output)


def prompts(options: argparse.Namespace) -> int:
    from medfact.answers import make_prompt
    from medfact.models import takes_messages
    from medfact.runner import plan

    spec = _spec(options, options.model or "")
    made = plan(spec, _collection(spec), _rejections(options))
    _say_all(made.notes)
    chat = bool(options.model) and takes_messages(options.model)
    rows = (
        statement_row(statement) | {"prompt": _prompt_content(make_prompt(statement, shots, chat=chat))}
        for statement, shots in ((s, made.demonstrations.get(group, ())) for s, group in made.statements)
    )
    return _emit(rows, options.output)


def _prompt_content(prompt: Any) -> str | list[dict[str, str]]:
    return prompt.content if isinstance(prompt.content, str) else [dict(message) for message in prompt.content]


def run(options: argparse.Namespace) -> int:
    from medfact.models import BUNDLED_MODEL, check_spec
    from medfact.runner import start
    from medfact.store import Store

    specs = [_spec(options, model) for model in options.model or [BUNDLED_MODEL]]
    for spec in specs:
        check_spec(spec.model)
    collection = _collection(specs[0])
    store = Store(options.db)
    started = [start(spec, store, collection) for spec in specs]
    _say_all(store.run(started[0]).notes)
    codes = [_answer(run_id, store) for run_id in started]
    _emit((_run_row(store.run(run_id), store) for run_id in started), options.output)
    return max(codes)


def resume(options: argparse.Namespace) -> int:
    from medfact.store import Store

    store = Store(options.db)
    record = store.run(options.run)
    code = _answer(record.run, store)
    _emit([_run_row(store.run(record.run), store)], None)
    return code


def _answer(run_id: str, store: Store) -> int:
    from medfact.runner import answer

    code = OK
    for event in _shown(answer(run_id, store), store.run(run_id).model):
        code = max(code, _code(event))
    return code


def _code(event: Event) -> int:
    from medfact.runner import Failed, Finished

    if isinstance(event, Failed):
        _say(f"medfact: {event.error}")
        return MISTAKE
    return SOME_FAILED if isinstance(event, Finished) and event.failed else OK


def _shown(events: Iterator[Event], model: str) -> Iterator[Event]:
    """Passes events on and tells progress on stderr: a moving line on a terminal, else one at the beginning and the end."""
    from medfact.runner import Answered, Finished, Started

    total = done = 0
    for event in events:
        if isinstance(event, Started):
            total, done = event.statements, event.answered
            _say(f"run {event.run}: {model}, {total} statements, {done} answered before")
        elif isinstance(event, Answered):
            done += len(event.answers)
            if sys.stderr.isatty():
                print(f"\r{model}: {done} of {total}", end="", file=sys.stderr)
        elif isinstance(event, Finished):
            line_end = "\n" if sys.stderr.isatty() else ""
            failed = f", {event.failed} failed (see `answers`, then `resume`)" if event.failed else ""
            _say(f"{line_end}{model}: {event.state} in {event.seconds:.1f} s{failed}")
        yield event


def runs(options: argparse.Namespace) -> int:
    from medfact.store import Store

    store = Store(options.db)
    return _emit((_run_row(record, store) for record in store.runs()), options.output)


def report(options: argparse.Namespace) -> int:
    from medfact.datasets.tables import json_line
    from medfact.report import as_text, report_of
    from medfact.store import Store

    made = report_of(Store(options.db), options.run)
    print(json_line(made) if options.json else as_text(made))
    return OK


def answers(options: argparse.Namespace) -> int:
    from medfact.store import Store

    store = Store(options.db)
    record = store.run(options.run)
    rows = (answer_row(item, record) for item in store.asked(record.run) if item.answer is not None)
    return _emit(rows, options.output)


def _rejections(options: argparse.Namespace) -> Mapping[str, frozenset[str]]:
    """The rejected false partners in the database, if there is one; listing facts makes none."""
    from medfact.store import Store, exists

    return Store(options.db).rejections() if exists(options.db) else {}


def _collection(spec: RunSpec) -> Any:
    from medfact.datasets import load
    from medfact.datasets.collection import summary

    collection = load(spec)
    _say_all(f"{collection.name}, {line}" for line in summary(collection.problems))
    return collection


def _say_all(lines: Iterable[str]) -> None:
    for line in lines:
        _say(f"note: {line}")


# --------------------------------------------------------------------------------------------------- rows

_FACT_COLUMNS = [
    "fact_id",
    "negative_of",
    "head",
    "relation",
    "tail",
    "positive",
    "head_type",
    "tail_type",
    "head_id",
    "tail_id",
    "source",
    "source_id",
]


def fact_row(fact: Fact) -> dict[str, Any]:
    """A row of `facts`, but for its role."""
    return {name: getattr(fact, name) for name in _FACT_COLUMNS}


def statement_row(statement: Statement) -> dict[str, Any]:
    """A row of `statements`."""
    fact = statement.fact
    return {
        "statement_id": statement.statement_id,
        "fact_id": fact.fact_id,
        "negative_of": fact.negative_of,
        "head": fact.head,
        "relation": fact.relation,
        "tail": fact.tail,
        "positive": fact.positive,
        "pool": statement.pool,
        "variant": statement.variant,
        "statement": statement.text,
        "label": statement.label,
    }


def answer_row(item: Asked, record: Run) -> dict[str, Any]:
    """A row of `answers`: a statement with what the model said, or why its call failed."""
    given = item.answer
    return statement_row(item.statement) | {
        "model": record.model,
        "answer": given and given.answer,
        "p_true": given and given.p_true,
        "raw": given and given.raw,
        "failure": given and given.failure,
    }


def _run_row(record: Run, store: Store) -> dict[str, Any]:
    from medfact.metrics import headline
    from medfact.report import records_of

    asked = store.asked(record.run)
    figures = headline(records_of(asked))
    return {
        "run": record.run,
        "owner": record.owner,
        "state": record.state,
        "reason": record.reason,
        "started_at": record.started_at,
        "finished_at": record.finished_at,
        "model": record.model,
        "dataset": record.dataset,
        "protocol": record.spec.protocol,
        "pool": record.pool,
        "shots": record.shots,
        "seed": record.spec.seed,
        "statements": record.statements,
        "answered": sum(item.answer is not None and item.answer.failure is None for item in asked),
        **{name: figure["value"] for name, figure in figures.items()},
    }
