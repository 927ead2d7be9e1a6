"""The page Evaluate: the inputs of a new evaluation, or, with `?run=`, what runs show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from medfact.datasets.bundled import words_alone
from medfact.kept import keep
from medfact.results import sections, wording
from medfact.results.contrasts import across_of_papers
from medfact.results.danger import Danger, danger
from medfact.results.live import PACE, Live, Version
from medfact.results.report import Report
from medfact.results.sections import Figures
from medfact.results.sides import Side
from medfact.results.wording import false_on_purpose, remarks
from medfact.reviews.summary import Summary, summary
from medfact.reviews.text import FIGURES, SCORES, agreed, changes, where
from medfact.runs.costs import bill_in_words, cut_in_words
from medfact.spec import RunSpec
from medfact.store import GOING, INTERRUPTED, PAUSED
from medfact.views.fragments import render
from medfact.views.sections import on_a_page
from medfact.web.evaluate import begin, files, rows
from medfact.web.evaluate.form import MOST_MODELS, EvaluateShow, Setup, keep_setup, setup_in
from medfact.web.evaluate.fragments import fragments
from medfact.web.pages import Fragment, Message, Page, Versioned, View, Visitor
from medfact.web.pages.evidence import evidence_tab, is_retrieving
from medfact.web.pages.gallery import is_open
from medfact.web.pages.keeping import keeping, signing_in
from medfact.web.pages.pair_list import drawer, pair_list
from medfact.web.pages.plots import case_study, papers_tab
from medfact.web.pages.progress import endings, named, progress_of, race_lines
from medfact.web.pages.rarity import rarity, take_frequencies
from medfact.web.services import Services


def tabs_of(lives: Mapping[str, Live]) -> dict[str, str]:
    """The tabs of results, with their titles. That of passages is there only where a run shows any."""
    told = sections.tabs()
    first = {"overview": told.pop("overview"), "facts": "Fact by fact"}
    passages = {"evidence": "With passages"} if is_retrieving(lives) else {}
    return {**first, **passages, **told, "papers": "The papers' tables"}


Lives = Mapping[str, Live]
"""The runs that are shown, by what to call them."""

RESULTS = ("progress", "scores", "tab", "rarity", "drawer")
"""The parts that show runs."""


def view(visitor: Visitor, show: EvaluateShow) -> View:
    """The inputs of a new evaluation, or the runs of the address."""
    setup = setup_in(visitor, show)
    if not show.settled:
        keep_setup(visitor, setup)
    show = show.with_setup(setup)
    runs, missing = _runs(visitor, show)
    if not runs:
        show = show.model_copy(update={"run": "", "missing": missing})
        return _new_evaluation(visitor, show, setup)
    reports = visitor.services.reports
    lives = named([reports.about(reports.live(run), show.estimand) for run in runs])
    own = runs != [visitor.demonstration]
    show = show.model_copy(update={"run": ",".join(runs), "missing": missing, "chosen": min(show.chosen, len(runs) - 1)})
    tabs = tabs_of(lives)
    show = show if show.tab in tabs else show.model_copy(update={"tab": "overview"})
    tab, show = _tab(visitor, show, lives, tabs)
    going = any(live.going for live in lives.values())
    drawn = {
        "notice": _notice(visitor, missing) + signing_in(visitor, ""),
        "progress": _progress(visitor, lives, own),
        "scores": Versioned(("scores", *_version(visitor, show, lives)), lambda: _scores(show, lives)),
        "tab": tab,
        "rarity": rarity(visitor, show, lives),
        "drawer": drawer(visitor, show, lives) if show.fact >= 0 else Markup(),
        **fragments(visitor, show, setup, lives),
    }
    behind = any(live.behind for live in lives.values())
    return View(
        drawn,
        show,
        query=_query(show),
        again=reports.pace(*lives.values()) if going else PACE if behind else None,
        title=_title(lives, going),
    )


def _new_evaluation(visitor: Visitor, show: EvaluateShow, setup: Setup) -> View:
    """The three steps, below what goes on already."""
    going = _going(visitor)
    notice = _notice(visitor, show.missing) + render("running", lives=going)
    inputs: dict[str, Fragment] = {"notice": notice, **fragments(visitor, show, setup, {})}
    again = visitor.services.reports.pace(*going) if going else None
    drawn = {**dict.fromkeys(RESULTS, ""), **inputs}
    return View(drawn, show, query=_query(show), again=again, title="New evaluation · medfact")


def _runs(visitor: Visitor, show: EvaluateShow) -> tuple[list[str], bool]:
    """The ids of the runs to show, and whether the address names one that is not there."""
    asked = list(dict.fromkeys(filter(None, show.run.split(","))))[:MOST_MODELS]
    found = [run for run in asked if visitor.services.asked(run)]
    return found, show.missing or len(found) < len(asked)


def _query(show: EvaluateShow) -> str:
    """The page's address: the runs, and what of them is open."""
    tab = "" if show.tab == "overview" else f"&tab={show.tab}"
    fact = "" if show.fact < 0 else f"&chosen={show.chosen}&fact={show.fact}"
    names = ("writing", "drafts", "studio")
    asked = next((f"?{urlencode({name: getattr(show, name)})}" for name in names if getattr(show, name)), "")
    return f"?run={show.run}{tab}{fact}" if show.run else asked


def _title(lives: Lives, going: bool) -> str:
    if not going:
        return "Results · medfact"
    done = sum(live.report.answered + live.report.failed for live in lives.values())
    total = sum(live.report.statements for live in lives.values())
    return f"{100 * done // max(total, 1)}% · medfact"


def _notice(visitor: Visitor, missing: bool) -> Markup:
    """What a visitor should know before anything else."""
    if missing:
        return render("message", message=Message("There is no run of that link; it may have been deleted.", "warn"))
    unfinished = visitor.services.as_now(visitor.services.store.unfinished(*visitor.owners))
    waiting = sum(run.state in {INTERRUPTED, PAUSED} for run in unfinished)
    if not waiting:
        return Markup()
    runs = "One run of yours was" if waiting == 1 else f"{waiting} runs of yours were"
    return render("message", message=Message(f"{runs} interrupted. The answers are kept: open “Runs” and resume.", "warn"))


def _going(visitor: Visitor) -> list[Live]:
    """The visitor's runs that go on, which the set-up leads to."""
    services = visitor.services
    unfinished = services.as_now(services.store.unfinished(*visitor.owners))
    going = [run.run for run in unfinished if run.state in GOING and services.asked(run.run)]
    return [services.reports.live(run) for run in going[:MOST_MODELS]]


def _progress(visitor: Visitor, lives: Lives, own: bool) -> Markup:
    mine = [live for live in lives.values() if live.run.owner in visitor.owners]
    return render(
        "progress",
        runs=[progress_of(name, live) for name, live in lives.items()],
        races=race_lines(visitor.services, lives),
        demonstration=not own,
        gallery=is_open(visitor.services),
        may_stop=any(live.going for live in mine),
        may_resume=any(live.resumable for live in mine),
        services=begin.services_of([live.run for live in mine if live.resumable]),
        others=own and len(mine) < len(lives),
        keeping=keeping([live.run for live in mine]) if own else Markup(),
        ids=",".join(live.run.run for live in lives.values()),
    )


def _scores(show: EvaluateShow, lives: Lives) -> Markup:
    """The table of scores: mastery first, then the other figures that the method shows first."""
    first = next(iter(lives.values()))
    reports = [live.report for live in lives.values()]
    if not any(report.answered for report in reports):
        return Markup()
    names = wording.first_scores(reports)
    rows = list(lives.items())
    if show.sort in names:
        rows.sort(key=lambda row: _value(row[1], show.sort), reverse=True)
    return render(
        "scores",
        rows=rows,
        scores=[wording.score(name, wording.ways_of(of)) for name, of in names.items()],
        scores_of=names,
        sort=show.sort,
        estimand=show.estimand,
        about_intervals=wording.about_intervals(reports),
        false_on_purpose=false_on_purpose(reports),
        chance=first.report.chance,
        words_alone=words_alone(first.run.dataset) if first.run.spec.protocol == RunSpec.protocol else {},
        settings=wording.shared_settings(reports),
        notes=list(dict.fromkeys([*endings(lives), *(note for live in lives.values() for note in live.run.notes)])),
        labels=[(name, note) for name, live in rows for note in remarks(live.report)],
        bills=[line for live in lives.values() for line in (*_bill(live.report), *cut_in_words(live.report.cut))],
        ids=",".join(live.run.run for live in lives.values()),
    )


def _bill(report: Report) -> Sequence[str]:
    return bill_in_words(dict(report.service)) if report.service else ()


def _value(live: Live, name: str) -> float:
    value = live.report.measure(name).value
    return -2.0 if value is None else float(value)


# ------------------------------------------------------------------------------------------------ tabs


def _version(visitor: Visitor, show: EvaluateShow, lives: Lives) -> tuple[object, ...]:
    """All that figures of runs follow from: answers, records, names, the verdicts that count, and what is looked at."""
    runs = [(name, live.version, live.behind, live.run.notes, live.run.reason) for name, live in lives.items()]
    verdicts = visitor.services.store.verdicts.version()
    return visitor.owner, visitor.reviewers, verdicts, show.model_dump_json(), *runs


def _tab(visitor: Visitor, show: EvaluateShow, lives: Lives, tabs: Mapping[str, str]) -> tuple[Fragment, EvaluateShow]:
    """The tab that is open, with the view as it is possible."""
    if (tab := TURNED.get(show.tab)) is not None:
        content, show = tab(visitor, show, lives)
        return render("tabs", tabs=tabs, chosen=show.tab, content=content), show
    draw = STILL.get(show.tab, _sections_tab)
    version = ("tab", *tabs, *_version(visitor, show, lives))
    return Versioned(version, lambda: render("tabs", tabs=tabs, chosen=show.tab, content=draw(visitor, show, lives))), show


def _figures(visitor: Visitor, lives: Mapping[str, Live]) -> Figures:
    """The figures of the shown runs; of each that has ended or rests, with the false facts that it accepts."""
    services = visitor.services
    verdicts = services.store.verdicts.version()
    dangers: dict[str, Danger] = {}
    opens: dict[tuple[str, int], Mapping[str, Any]] = {}
    for place, (name, live) in enumerate(lives.items()):
        if live.going or not live.report.answered:
            continue
        dangers[name] = _dangers(services, live.run.run, live.version, visitor.reviewers, verdicts)
        pairs = services.reports.pairs(live.run.run)
        pair_of = {fact: pair for pair, members in enumerate(pairs.members) for fact in members}
        for one in dangers[name].board:
            opens[name, one.number] = {"tab": "facts", "chosen": place, "fact": pair_of[one.number]}
    links = {name: f"review?run={lives[name].run.run}" for name in dangers}
    return Figures({name: live.report for name, live in lives.items()}, dangers, opens=opens, links=links)


@keep(200)
def _dangers(services: Services, run: str, _: Version, reviewers: tuple[str, ...], __: tuple[int, int, str]) -> Danger:
    """Kept for each version of a run's answers and of the verdicts."""
    facts = services.store.answers.false_facts(run)
    return danger(services.reports.board(run).records(), facts, services.held(reviewers), services.run(run).spec.shot_draws)


def _sections_tab(visitor: Visitor, show: EvaluateShow, lives: Lives) -> Markup:
    """The sections that stand in a tab."""
    return on_a_page(sections.sections_of(_figures(visitor, lives), sections.PAGE, show.tab))


def _overview_tab(visitor: Visitor, show: EvaluateShow, lives: Lives) -> Markup:
    return _sections_tab(visitor, show, lives) + _under_review(visitor, lives)


def _under_review(visitor: Visitor, lives: Mapping[str, Live]) -> Markup:
    """The section "Under review" of runs; where nobody has judged a fact of theirs, only the way to do so."""
    last = visitor.services.store.verdicts.version()
    found = {
        name: _summary(visitor.services, live.run.run, visitor.reviewers, last, live.version) for name, live in lives.items()
    }
    return render(
        "under_review",
        summaries={name: made for name, made in found.items() if made is not None and made.facts_reviewed},
        ids=",".join(live.run.run for live in lives.values()),
        scores=SCORES,
        figures=FIGURES,
        changes=changes,
        where=where,
        agreed=agreed,
        everybody=not visitor.reviewers,
    )


@keep(64)
def _summary(services: Services, run: str, owners: tuple[str, ...], _: tuple[int, int, str], __: Version) -> Summary | None:
    """Kept for each version of the run's answers, and until there is another verdict; None where there is none yet."""
    return summary(services.store, run, owners) if services.store.verdicts.is_judged(run, owners) else None


def _papers_tab(visitor: Visitor, show: EvaluateShow, lives: Lives) -> Markup:
    case = case_study(visitor.services, lives, show.case) if show.paper == "pretexttrans" else Markup()
    board = visitor.services.reports.board
    across = across_of_papers(Side(live.run, board(live.run.run)) for live in lives.values())
    return papers_tab(lives, show, case, across)


STILL: Mapping[str, Callable[[Visitor, EvaluateShow, Lives], Markup]] = {
    "overview": _overview_tab,
    "papers": _papers_tab,
}
TURNED: Mapping[str, Callable[[Visitor, EvaluateShow, Lives], tuple[Markup, EvaluateShow]]] = {
    "facts": pair_list,
    "evidence": evidence_tab,
}
"""Tabs with pages of their own, which keep the page within those there are."""


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
        **dict.fromkeys(("evaluate", "again"), "go-said"),
    },
    address=("run", "tab", "chosen", "fact", "writing", "drafts", "studio"),
    stops=("run",),
    place=0,
    build=_build,
)
