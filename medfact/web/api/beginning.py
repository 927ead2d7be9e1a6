"""A run that a caller begins: the same set-up, limits, policy and jobs as behind the button of the page Evaluate."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from medfact.errors import Mistake
from medfact.languages import language_of
from medfact.models import BUNDLED_MODEL, check_typed_address, provider_of
from medfact.results.findings import verdict
from medfact.results.wording import run_name
from medfact.spec import BOUNDS
from medfact.web.api.caller import Caller
from medfact.web.api.words import USUAL_DATA, USUAL_METHOD, DataSet, Protocol, Row, Rows, check_somebody, source_of
from medfact.web.evaluate.begin import begin
from medfact.web.evaluate.form import MOST_PAIRS, ModelRow, Setup
from medfact.web.evaluate.rows import LONGEST_KEY
from medfact.web.services import Services, collection_of

MOST_SECONDS = 600


def evaluate(
    services: Services,
    caller: Caller,
    model: Annotated[
        str,
        Field(max_length=300, description="medfact-tiny, baseline:NAME, hf:OWNER/NAME, or a model of a service: openai:NAME."),
    ] = BUNDLED_MODEL,
    data_set: DataSet = USUAL_DATA,
    limit: Annotated[int, Field(ge=1, le=MOST_PAIRS, description="True facts; their false partners come along.")] = 10,
    rows: Rows = [],  # noqa: B006 (it is never changed, and a schema shows it)
    protocol: Protocol = USUAL_METHOD,
    shots: Annotated[
        int, Field(ge=-1, le=int(BOUNDS["spec.shots"].maximum), description="Worked examples; -1: as usual.")
    ] = -1,
    address: Annotated[str, Field(max_length=300, description="Of the service: https://host/v1; none: the usual one.")] = "",
    key: Annotated[str, Field(max_length=LONGEST_KEY, description="Your key for the service. It stays in memory.")] = "",
    budget: Annotated[float, Field(ge=0, le=BOUNDS["spec.budget"].maximum, description="US dollars; 0: any sum.")] = 0,
    send_facts: Annotated[bool, Field(description="Agrees that your own facts go to the service.")] = False,
    seconds: Annotated[int, Field(ge=0, le=MOST_SECONDS, description="How long to tell how it goes. The run goes on.")] = 300,
) -> Row:
    """Asks a model whether each statement of some facts is true, and tells how it goes. The first thing told is the run's id,
    with which report, answers and compare are asked; keep it.
    """
    check_somebody(caller)
    row = ModelRow.typed(model, address, id="called", budget=budget, is_open=False)
    is_remote = provider_of(row.model).is_remote
    if (key or address) and not is_remote:
        raise Mistake(f"{model[:80]} is behind no service.", "Name a model of a service, or leave out key and address.")
    check_typed_address(row.model, row.address)
    source = source_of(services, caller, data_set, rows)
    setup = Setup(
        dataset=data_set,
        source={**source} if rows else None,
        file_in=language_of(collection_of(source)),
        protocol=protocol,
        models=[] if is_remote else [row.model],
        rows=[row] if is_remote else [],
        pairs=limit,
        shots=shots,
    )
    if send_facts:
        setup = setup.model_copy(update={"agreed": [setup.consent_of(row.asked_address)]})
    (run,) = begin(services, caller.owner, setup, lambda _: key.strip() or None, caller.reviewers)
    return {"run": run, "seconds": seconds}


def progress(services: Services, caller: Caller, run: str) -> Row:
    """How a run stands: its answers so far, and at the end what it shows."""
    live = services.reports.final_report(run)
    report, job = live.report, live.job
    told = {
        "run": run,
        "state": live.state,
        "statements": report.statements,
        "answered": report.answered,
        "unreadable": report.unreadable,
        "failed": report.failed,
        "doing": (job.loading if job else None) or "",
        "problem": (job.reason if job else None) or "",
        "page": f"evaluate?run={run}",
    }
    return told if live.going else {**told, "finding": verdict({run_name(live.run): report})}
