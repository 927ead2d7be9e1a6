"""What runs show to callers. A run's whole id opens it, as its link does."""

from __future__ import annotations

import re
from typing import Annotated, Any

import orjson
from pydantic import Field

from medfact.errors import Mistake
from medfact.exchange.rows import answer_row
from medfact.limits import HOSTS
from medfact.metrics import record_of
from medfact.metrics.groupings import GROUPINGS, VARIANT
from medfact.results.compare import conclusion
from medfact.results.findings import verdict
from medfact.results.wording import names_of_runs, run_name
from medfact.store import Run
from medfact.web.api.caller import Caller
from medfact.web.api.knowing import mark
from medfact.web.api.words import Row, RunId
from medfact.web.evaluate.form import MOST_MODELS
from medfact.web.services import Services

MOST_ANSWERS = 200
"""Of one answer."""


def asked_run(services: Services, caller: Caller, run: str) -> Run:
    """The run of a whole id that asked a model, as a caller may read it. Raises Mistake."""
    if not services.asked(run):
        raise Mistake("There is no such run.", "Give the whole id that evaluate gave; a run may have been deleted.")
    return services.run(run).seen_by([caller.owner])


def report(services: Services, caller: Caller, run: RunId) -> Row:
    """Tells what a run shows: the finding in a sentence, all figures with their intervals and n, and where its page and its
    report lie on this server. Texts of a run's file, which anybody may have written, stand in from_file alone.
    """
    record = asked_run(services, caller, run)
    live = services.reports.final_report(record.run)
    figures, notes = {"figures": _plain(record_of(live.report))}, list(record.notes)
    if record.imported:
        figures["figures"]["notes"] = notes = []
        figures = without_foreign_texts(figures)
    return {
        "run": record.run,
        "state": live.state,
        "finding": verdict({_name_for(caller, record): live.report}),
        **figures,
        "notes": notes,
        "page": f"evaluate?run={record.run}",
        "html": f"download/{record.run}/report.html",
    }


def answers(
    services: Services,
    caller: Caller,
    run: RunId,
    offset: Annotated[int, Field(ge=0, le=10**9, description="So many statements are passed over.")] = 0,
    limit: Annotated[int, Field(ge=1, le=MOST_ANSWERS, description="So many are looked at.")] = 50,
) -> list[Row]:
    """Lists the statements of a run with the model's answers, in the order in which they are asked: right, wrong, unreadable
    and failed ones. What was not asked yet is absent; false statements are marked. Texts of a run's file, which anybody may
    have written, stand in from_file alone.
    """
    record = asked_run(services, caller, run)
    asked = services.store.answers.asked(record.run, positions=range(offset, offset + limit))
    rows = ((_plain(answer_row(one, record)), mark(one.statement)) for one in asked if one.answer is not None)
    return [{**(without_foreign_texts(row) if record.imported else row), "mark": sign} for row, sign in rows]


def compare(
    services: Services,
    caller: Caller,
    runs: Annotated[list[RunId], Field(min_length=2, max_length=MOST_MODELS, description="The whole ids of 2 to 8 runs.")],
) -> Row:
    """Compares runs on the facts that they share: paired differences with their intervals, and what each shows in words. Texts
    of a run's file, which anybody may have written, stand in from_file alone.
    """
    records = [asked_run(services, caller, run) for run in runs]
    made = services.comparisons.made([record.run for record in records])
    names = {
        record.run: name if _is_own(caller, record) else record.run
        for record, name in zip(records, names_of_runs(records), strict=True)
    }
    findings = [f"{pair.metric}: {conclusion(pair, names)}" for pair in made.pairs]
    compared = _plain(made.record())
    for run in compared["runs"]:
        run["name"] = names[run["run"]]
    if any(record.imported for record in records):
        compared = without_foreign_texts(compared)
    return {"findings": findings, **compared, "page": f"evaluate?run={','.join(names)}"}


# ------------------------------------------------------------------------------------------------ texts of others

LONGEST_FOREIGN_TEXT = 300
"""Characters of a text from a run's file that an answer repeats."""

_HARMLESS = re.compile(r"[a-z]{1,20}|[a-z]{1,8}(\+[a-z]{1,8}){1,3}|[0-9a-f]{20,32}")
"""Texts that stay where they are: a word, such as a state; the name of a variant, such as inv+dn; an id."""


def _is_own(caller: Caller, run: Run) -> bool:
    """Whether the caller, or the host of the server, has named a run."""
    return not run.imported and run.owner in (caller.owner, *HOSTS)


def _name_for(caller: Caller, run: Run) -> str:
    """The name of a run for one who may obey what it says: of a run of others, its id."""
    return run_name(run) if _is_own(caller, run) else run.run


def without_foreign_texts(record: Row) -> Row:
    """A record of a run that came from a file, with the file's texts moved into the field `from_file` and cut there."""
    texts: dict[str, str] = {}
    return {**_numbers(record, (), texts), "from_file": texts}


def _numbers(value: Any, path: tuple[str, ...], texts: dict[str, str]) -> Any:
    """A value in which None stands for each text that is not harmless. texts: takes these, by where they stood."""
    if isinstance(value, dict):
        return {(key := _key(name, path, texts)): _numbers(part, (*path, key), texts) for name, part in value.items()}
    if isinstance(value, list):
        return [_numbers(part, (*path, str(place)), texts) for place, part in enumerate(value)]
    if not isinstance(value, str) or _HARMLESS.fullmatch(value):
        return value
    texts[".".join(path)] = value[:LONGEST_FOREIGN_TEXT]
    return None


def _key(name: str, path: tuple[str, ...], texts: dict[str, str]) -> str:
    by_facts = {grouping.key for grouping in GROUPINGS.values() if grouping.reads != VARIANT}  # texts of a run's facts
    if not path or path[-1] not in by_facts or _HARMLESS.fullmatch(name):
        return name
    key = f"{path[-1]} {len(texts)}"
    texts[key] = name[:LONGEST_FOREIGN_TEXT]
    return key


def _plain(value: Any) -> Any:
    """A value of what JSON has alone."""
    return orjson.loads(orjson.dumps(value, default=str, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS))
