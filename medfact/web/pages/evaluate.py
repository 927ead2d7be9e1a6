"""The page Evaluate: the inputs of a new evaluation, or, with `?run=`, what runs show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from medfact.results.live import Live, RunProgress
from medfact.store import GOING, INTERRUPTED, PAUSED, Run
from medfact.views.fragments import render
from medfact.web.evaluate import begin, files, rows
from medfact.web.evaluate.form import MOST_MODELS, EvaluateShow, Setup, keep_setup, setup_in
from medfact.web.evaluate.fragments import fragments
from medfact.web.pages import Fragment, Message, Page, View, Visitor
from medfact.web.pages.keeping import signing_in
from medfact.web.pages.looked import RESULTS_ADDRESS, RESULTS_STOPS
from medfact.web.pages.rarity import take_frequencies
from medfact.web.pages.results import results

RESULTS = ("progress", "scores", "tab", "rarity", "drawer")
"""The parts that show runs."""

INPUTS = ("choice", "mapping", "facts", "models", "sizes", "documents", "method", "go")
"""The parts beside the inputs."""


def view(visitor: Visitor, show: EvaluateShow) -> View:
    """The inputs of a new evaluation, or the runs of the address."""
    setup = setup_in(visitor, show)
    if not show.settled:
        keep_setup(visitor, setup)
    show = show.with_setup(setup)
    lives, missing = _runs(visitor, show)
    if not lives:
        show = show.model_copy(update={"run": "", "missing": missing})
        return _new_evaluation(visitor, show, setup)
    shown = results(visitor, show.model_copy(update={"missing": missing}), lives)
    said = {"notice": _notice(_unfinished(visitor), missing) + signing_in(visitor, "evaluate"), **dict.fromkeys(INPUTS, "")}
    return replace(shown, fragments={**said, **shown.fragments}, query=_query(shown.show))


def _new_evaluation(visitor: Visitor, show: EvaluateShow, setup: Setup) -> View:
    """The three steps, below what goes on already."""
    unfinished = _unfinished(visitor)
    going = _going(visitor, unfinished)
    notice = _notice(unfinished, show.missing) + signing_in(visitor, "evaluate")
    notice += render("running", heading=_heading(show), going=going)
    drawn: dict[str, Fragment] = {**dict.fromkeys(RESULTS, ""), "notice": notice, **fragments(visitor, show, setup)}
    again = visitor.services.reports.pace(*going) if going else None
    return View(drawn, show, query=_query(show), again=again, title="New evaluation · medfact")


def _heading(show: EvaluateShow) -> str:
    """What is set up."""
    if show.studio:
        return "Evaluate with your own sentences"
    return "Evaluate what a language model wrote" if show.writing or show.drafts else "New evaluation"


def _runs(visitor: Visitor, show: EvaluateShow) -> tuple[list[Live], bool]:
    """The runs to show, and whether the address names one that is not there."""
    asked = list(dict.fromkeys(filter(None, show.run.split(","))))[:MOST_MODELS]
    found = list(filter(None, map(visitor.services.live, asked)))
    return found, len(found) < len(asked) or (show.missing and not found)


def _query(show: Any) -> str:
    """The page's address: the runs, and what of them is open; else what the inputs are about."""
    names = RESULTS_ADDRESS if show.run else ("writing", "drafts", "studio")
    fields = EvaluateShow.model_fields
    told = {name: getattr(show, name) for name in names if getattr(show, name) != fields[name].default}
    return f"?{urlencode(told, safe=',')}" if told else ""


def _unfinished(visitor: Visitor) -> list[Run]:
    """The visitor's runs that wait, go on, pause or were interrupted, as they are now."""
    return visitor.services.as_now(visitor.services.store.unfinished(*visitor.owners))


def _notice(unfinished: Sequence[Run], missing: bool) -> Markup:
    """What a visitor should know before anything else."""
    if missing:
        return render("message", message=Message("There is no run of that link; it may have been deleted.", "warn"))
    waiting = sum(run.state in {INTERRUPTED, PAUSED} for run in unfinished)
    if not waiting:
        return Markup()
    runs = "One run of yours was" if waiting == 1 else f"{waiting} runs of yours were"
    return render("message", message=Message(f"{runs} interrupted. The answers are kept: open “Runs” and resume.", "warn"))


def _going(visitor: Visitor, unfinished: Sequence[Run]) -> list[RunProgress]:
    """The visitor's runs that go on, as many as stand side by side, which the set-up leads to."""
    going = (run for run in unfinished if run.state in GOING)
    return list(islice(filter(None, map(visitor.services.progress, going)), MOST_MODELS))


def _build(site: Any) -> None:
    from medfact.web.evaluate import inputs  # the page library, which only a server needs

    inputs.build(site)


PAGE = Page(
    "evaluate",
    "Evaluate",
    ("notice",),
    EvaluateShow,
    view,
    {
        **files.ACTIONS,
        **rows.ACTIONS,
        **begin.ACTIONS,
        "take_frequencies": take_frequencies,
    },
    says={
        **dict.fromkeys(files.ON_FACTS, "facts-said"),
        "take_pool": "pool-said",
        **dict.fromkeys(files.ON_DOCUMENTS, "documents-said"),
        **dict.fromkeys(rows.ACTIONS, "models-said"),
        "take_frequencies": "rarity-said",
        "evaluate": "go-said",
    },
    address=(*RESULTS_ADDRESS, "writing", "drafts", "studio"),
    stops=RESULTS_STOPS,
    place=0,
    build=_build,
)
