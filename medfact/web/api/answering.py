"""What runs show to callers. A run's whole id opens it, as its link does."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from pydantic import Field

from medfact.errors import Mistake
from medfact.exchange.rows import answer_row
from medfact.metrics import record_of
from medfact.results.compare import verdict as pair_verdict
from medfact.results.verdict import verdict
from medfact.results.wording import run_name
from medfact.store import Run
from medfact.web.api.caller import Caller
from medfact.web.api.knowing import marked
from medfact.web.api.words import Row, RunId
from medfact.web.evaluate.form import MOST_MODELS
from medfact.web.services import Services

MOST_ANSWERS = 200
"""Of one answer."""


def asked_run(services: Services, run: str) -> Run:
    """The run of a whole id that asked a model. Raises Mistake."""
    if not services.asked(run):
        raise Mistake("There is no such run.", "Give the whole id that evaluate gave; a run may have been deleted.")
    return services.run(run)


def report(services: Services, caller: Caller, run: RunId) -> Row:
    """Tells what a run shows: the finding in a sentence, all figures with their intervals and n, and where its page and its
    report lie on this server.
    """
    record = asked_run(services, run)
    live = services.reports.settled(record.run)
    return {
        "run": record.run,
        "state": live.state,
        "finding": verdict({run_name(record): live.report}),
        "figures": _plain(record_of(live.report)),
        "notes": list(record.notes),
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
    and failed ones. What was not asked yet is absent; false statements are marked.
    """
    record = asked_run(services, run)
    asked = services.store.answers.asked(record.run, positions=range(offset, offset + limit))
    return [_plain({**answer_row(one, record), **marked(one.statement)}) for one in asked if one.answer is not None]


def compare(
    services: Services,
    caller: Caller,
    runs: Annotated[list[RunId], Field(min_length=2, max_length=MOST_MODELS, description="The whole ids of 2 to 8 runs.")],
) -> Row:
    """Compares runs on the facts that they share: paired differences with their intervals, and what each shows in words."""
    made = services.comparisons.made([asked_run(services, run).run for run in runs])
    names = {one.run: one.name for one in made.runs}
    found = [f"{pair.metric}: {pair_verdict(pair, names)}" for pair in made.pairs]
    return {"findings": found, **_plain(made.record()), "page": f"evaluate?run={','.join(names)}"}


def _plain(value: Any) -> Any:
    """A value of what JSON has alone."""
    return orjson.loads(orjson.dumps(value, default=str, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS))
