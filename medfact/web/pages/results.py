"""Results of runs: a head that stays, the verdict, the leaderboard, and the tabs below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from medfact.assets import ENGLISH
from medfact.caching import shared_cache
from medfact.errors import MedfactError
from medfact.metrics.groupings import FACT, group_tabs
from medfact.models import provider_of
from medfact.results import sections, wording
from medfact.results.compare import FEWEST, across_of_papers, across_runs, in_languages, language_title
from medfact.results.danger import Danger, danger
from medfact.results.fact_table import over_models, pairs_of_run
from medfact.results.live import Live, Version
from medfact.results.report import Side, subjects_of_run
from medfact.results.sections import Beside, Figures, sections_of
from medfact.results.wording import false_on_purpose, remarks
from medfact.reviews.text import (
    FIGURES,
    POWERED,
    POWERED_IN_FULL,
    SCORES,
    Summary,
    agreed,
    changes,
    powered_in_words,
    summary,
    told_once,
    where,
)
from medfact.runs.costs import describe_bill, describe_cut
from medfact.runs.plan import question_of
from medfact.store import COMPLETE
from medfact.views.fragments import render, render_sections
from medfact.web.evaluate import begin
from medfact.web.pages import Fragment, Message, Versioned, View, Visitor
from medfact.web.pages.evidence import changes_of, evidence_tab, is_retrieving
from medfact.web.pages.fact_list import drawer, fact_list, with_row, worst
from medfact.web.pages.keeping import keeping
from medfact.web.pages.leaderboard import leaderboard, standing_of
from medfact.web.pages.papers import case_study, papers_tab
from medfact.web.pages.progress import done_of, endings, named, race_lines, state_of
from medfact.web.pages.published import is_published
from medfact.web.pages.rarity import rarity
from medfact.web.services import Services

Lives = Mapping[str, Live]  # the runs that are shown, by what to call them

# Parts of the tab “Statistics”; the first where there are several models.
STATISTICS = {
    "runs": "Model against model",
    "answers": "Consistency",
    "rarity": "Rare findings",
    "papers": "The papers’ tables",
}


def results(visitor: Visitor, show: Any, runs: Sequence[Live]) -> View:
    """These runs."""
    reports = visitor.services.reports
    lives = named([reports.with_estimand(live, show.estimand) for live in runs], visitor.owners)
    tabs = _tabs(lives)
    show = show.model_copy(
        update={"run": ",".join(live.run.run for live in runs), "tab": show.tab if show.tab in tabs else "summary"}
    )
    show = _in_range(visitor, show, lives)
    telling = {name: live for name, live in lives.items() if live.has_reportable_scores}
    content, show = _tab(visitor, show, telling, tabs) if telling else (render("skeleton"), show)
    fragments: dict[str, Fragment] = {
        "progress": _head(visitor, show, lives),
        "scores": Versioned(("scores", *_version(visitor, show, lives)), lambda: _scores(visitor, show, lives)),
        "tab": content,
        "rarity": rarity(visitor, show, telling) if (show.tab, show.statistics) == ("statistics", "rarity") else Markup(),
        "drawer": drawer(visitor, show, lives) if show.fact >= 0 else Markup(),
    }
    return View(fragments, show, again=reports.next_look(*lives.values()), title=_title(lives))


def _in_range(visitor: Visitor, show: Any, lives: Lives) -> Any:
    """The view, as far as these runs have it."""
    update: dict[str, Any] = {} if show.model < len(lives) else {"model": -1}
    if show.group not in group_tabs():
        update["group"] = "relation"
    if (show.tab, show.statistics) == ("statistics", "runs") and len(lives) < FEWEST:
        update["statistics"] = "answers"
    return with_row(visitor, show.model_copy(update=update), lives)


def _tabs(lives: Lives) -> dict[str, str]:
    """The tabs, with their titles. That of passages is there only where a run shows any."""
    summary_, *others = sections.tabs().items()
    passages = [("evidence", "With passages")] if is_retrieving(lives) else []
    return dict([summary_, ("facts", "Facts"), *passages, *others])


# ------------------------------------------------------------------------------------------------ the head


def _title(lives: Lives) -> str:
    title = f"{wording.title_of_runs([live.run for live in lives.values()])} · medfact"
    if not any(live.going for live in lives.values()):
        return title
    total = sum(live.report.statements for live in lives.values())
    return f"{100 * sum(map(done_of, lives.values())) // max(total, 1)}% · {title}"


MOST_NAMED = 3


def _names(lives: Lives, joined: str = ", ") -> str:
    models = {wording.own_name(live.run) for live in lives.values()}
    if len(models) == 1 < len(lives):
        return f"{wording.shortened(models.pop(), 40)}, {len(lives)} runs"
    if len(lives) > MOST_NAMED:
        return f"{len(lives)} models"
    *most, last = [wording.marked(wording.shortened(wording.own_name(live.run), 40), False) for live in lives.values()]
    last = list(lives)[-1] if len(set(most)) < len(most) else last
    return joined.join([*most, last]) if joined == ", " else " and ".join(filter(None, [", ".join(most), last]))


def _data(lives: Lives) -> str:
    """The data sets, and the language of the statements where it is not English."""
    data = " and ".join(dict.fromkeys(live.run.dataset for live in lives.values()))
    languages = list(dict.fromkeys(live.run.spec.asked_in for live in lives.values()))
    if languages == [ENGLISH]:
        return data
    return f"{data} in {language_title(languages[0]) if len(languages) == 1 else f'{len(languages)} languages'}"


def _head(visitor: Visitor, show: Any, lives: Lives) -> Markup:
    """The title, the state, and what can be done with the runs."""
    mine = [live for live in lives.values() if live.run.owner in visitor.owners]
    return render(
        "results_head",
        names=_names(lives, " and "),
        data=_data(lives),
        state=state_of(lives),
        may_stop=any(live.going for live in mine),
        may_resume=any(live.resumable for live in mine),
        services=begin.services_of([live.run for live in mine if live.resumable]),
        may_repeat=not any(live.going or provider_of(live.run.model).is_remote for live in lives.values()),
        ids=show.run,
        estimand=show.estimand,
        published=is_published(visitor.services, show.run),
    )


# ------------------------------------------------------------------------------------------------ verdict and leaderboard


def _scores(visitor: Visitor, show: Any, lives: Lives) -> Markup:
    is_demonstration = [live.run.run for live in lives.values()] == [visitor.demonstration]
    return leaderboard(visitor, show, lives, race_lines(visitor.services, lives), is_demonstration=is_demonstration)


def _about(visitor: Visitor, show: Any, lives: Lives) -> Markup:
    """Settings, intervals, notes and bills: the small print of the numbers."""
    reports = [live.report for live in lives.values()]
    mine = [live.run for live in lives.values() if live.run.owner in visitor.owners]
    is_demonstration = [live.run.run for live in lives.values()] == [visitor.demonstration]
    return render(
        "about_numbers",
        settings=wording.shared_settings(reports),
        estimand=show.estimand,
        about_intervals=wording.about_intervals(reports),
        false_on_purpose=false_on_purpose(reports),
        has_intervals=any(report.average_accuracy.low is not None for report in reports),
        notes=list(dict.fromkeys([*endings(lives), *(note for live in lives.values() for note in live.run.notes)])),
        labels=[(name, note) for name, live in lives.items() for note in remarks(live.report)],
        bills=[
            line
            for report in reports
            for line in (*(describe_bill(dict(report.service)) if report.service else ()), *describe_cut(report.cut))
        ],
        others=not is_demonstration and len(mine) < len(lives),
        keeping=Markup() if is_demonstration else keeping(mine),
    )


# ------------------------------------------------------------------------------------------------ tabs


def _version(visitor: Visitor, show: Any, lives: Lives) -> tuple[object, ...]:
    """All that figures of runs follow from: answers, records, names, the verdicts that count, and what is looked at."""
    runs = [(name, live.version, live.behind, live.run.notes, live.run.reason) for name, live in lives.items()]
    verdicts = visitor.services.store.verdicts.version()
    return visitor.owner, visitor.reviewers, verdicts, show.model_dump_json(), *runs


def _tab(visitor: Visitor, show: Any, lives: Lives, tabs: Mapping[str, str]) -> tuple[Fragment, Any]:
    """The tab that is open, with the view as it is possible."""

    def drawn(content: Markup) -> Markup:
        return render("tabs", tabs=tabs, chosen=show.tab, content=content, about=_about(visitor, show, lives))

    if (turned := TURNED.get(show.tab)) is not None:
        content, show = turned(visitor, show, lives)
        return drawn(content), show
    draw = STILL.get(show.tab, _sections_tab)
    return Versioned(("tab", *tabs, *_version(visitor, show, lives)), lambda: drawn(draw(visitor, show, lives))), show


def _reports(lives: Lives) -> dict[str, Any]:
    return {name: live.report for name, live in lives.items()}


def _sections_tab(visitor: Visitor, show: Any, lives: Lives) -> Markup:
    """The sections that stand in a tab."""
    return render_sections(sections_of(_figures(visitor, lives), sections.PAGE, show.tab), lives)


def _summary_tab(visitor: Visitor, show: Any, lives: Lives) -> Markup:
    """Ways of asking and why facts fail; the worst facts; what is accepted, and what reviewers say of it."""
    summary_sections = list(sections_of(_figures(visitor, lives), sections.PAGE, "summary"))
    return render(
        "summary",
        standing=render_sections(standing_of(visitor.services, lives)),
        figures=render_sections((section for section in summary_sections if not section.folded), lives),
        worst=worst(visitor, lives),
        folded=render_sections((section for section in summary_sections if section.folded), lives),
        under_review=_under_review(visitor, lives),
        models=list(lives),
    )


def _figures(visitor: Visitor, lives: Lives) -> Figures:
    """The figures of the shown runs; of each that has ended or rests, with the false facts that it accepts."""
    services = visitor.services
    verdicts = services.store.verdicts.version()
    dangers: dict[str, Danger] = {}
    opens: dict[tuple[str, int], Mapping[str, Any]] = {}
    for place, (name, live) in enumerate(lives.items()):
        if live.going or not live.report.answered:
            continue
        dangers[name] = _dangers(services, live.run.run, live.version, visitor.reviewers, verdicts)
        members = pairs_of_run(services.reports.board(live.run.run)).members
        pair_of = {fact: pair for pair, facts in enumerate(members) for fact in facts}
        for accepted in dangers[name].board:
            opens[name, accepted.number] = {"tab": "facts", "chosen": place, "fact": pair_of[accepted.number]}
    return Figures(_reports(lives), dangers, opens=opens, links={name: f"review?run={lives[name].run.run}" for name in dangers})


@shared_cache(200)
def _dangers(services: Services, run: str, _: Version, reviewers: tuple[str, ...], __: tuple[int, int, str]) -> Danger:
    """Kept for each version of a run's answers and of the verdicts."""
    false = {number: fact for number, fact in enumerate(subjects_of_run(services.store, run, FACT)) if not fact.positive}
    return danger(services.reports.board(run).records(), false, services.held(reviewers), services.run(run).spec.shot_draws)


def _under_review(visitor: Visitor, lives: Lives) -> Markup:
    """The section "Under review" of runs; where nobody has judged a fact of theirs, only the way to do so."""
    last = visitor.services.store.verdicts.version()
    summaries = {
        name: reviewed
        for name, live in lives.items()
        if (reviewed := summary_of(visitor.services, live.run.run, visitor.reviewers, last, live.version))
        and reviewed.facts_reviewed
    }
    return render(
        "under_review",
        summaries=summaries,
        judged=told_once(summaries),
        ids=",".join(live.run.run for live in lives.values()),
        scores=SCORES,
        powered=POWERED,
        powered_in_full=POWERED_IN_FULL,
        powered_in_words=powered_in_words,
        figures=FIGURES,
        changes=changes,
        where=where,
        agreed=agreed,
        everybody=not visitor.reviewers,
    )


@shared_cache(64)
def summary_of(services: Services, run: str, owners: tuple[str, ...], _: tuple[int, int, str], __: Version) -> Summary | None:
    """The reviews of a run, kept for each version of its answers and until there is another verdict; None without any."""
    return summary(services.store, run, owners) if services.store.verdicts.is_judged(run, owners) else None


def _groups_tab(visitor: Visitor, show: Any, lives: Lives) -> Markup:
    """Right answers, told apart by what one chooses."""
    figures = Figures(_reports(lives), group=show.group)
    return render(
        "chosen_part",
        field="group",
        label="Right answers by",
        parts=group_tabs(),
        chosen=show.group,
        content=render_sections(sections_of(figures, sections.PAGE, "groups"), lives),
    )


def _statistics_tab(visitor: Visitor, show: Any, lives: Lives) -> Markup:
    parts = {name: text for name, text in STATISTICS.items() if name != "runs" or len(lives) >= FEWEST}
    chosen = show.statistics if show.statistics in parts else "answers"  # one of several runs has answers so far
    content = {"papers": _papers, "runs": _beside, "answers": _sections_tab}.get(chosen)
    return render(
        "chosen_part",
        field="statistics",
        label="Statistics",
        parts=parts,
        chosen=chosen,
        content=content(visitor, show, lives) if content else Markup(),
    )


def _papers(visitor: Visitor, show: Any, lives: Lives) -> Markup:
    case = case_study(visitor.services, lives, show.case) if show.paper == "pretexttrans" else Markup()
    board = visitor.services.reports.board
    across = across_of_papers([Side(live.run, board(live.run.run)) for live in lives.values()])
    return papers_tab(lives, show, case, across)


def _beside(visitor: Visitor, show: Any, lives: Lives) -> Markup:
    """Runs beside each other: what they share, in what they differ, and which is better."""
    services, runs = visitor.services, [live.run.run for live in lives.values()]
    try:
        comparison = services.comparisons.made(runs)
        if not comparison.shared_facts and not any(pair.n for pair in comparison.pairs):
            return render(
                "message", message=Message("These runs have no fact in common, so there is nothing to compare.", "warn")
            )
        names = dict(zip(runs, lives, strict=True))
        records = [live.run for live in lives.values()]
        beside = Beside(
            names=names,
            pairs=comparison.pairs,
            races=comparison.races,
            across=services.comparisons.of(across_runs, runs),
            over_models=services.comparisons.of(over_models, runs, services.store),
            changes=changes_of(services, records),
            questions={run.run: question_of(run.spec) for run in records},
            languages=services.comparisons.of(in_languages, runs, services.store),
        )
    except MedfactError as error:
        return render("message", message=Message(error.public, "warn"))
    figures = Figures(_reports(lives), beside=beside, links={"contested": f"review?run={show.run}&queue=contested"})
    return render(
        "beside",
        shared=_shared(comparison.shared_facts, comparison.facts_of, lives),
        comparison=comparison,
        told=render_sections(sections_of(figures, sections.PAGE, "compare")),
    )


def _shared(count: int, facts: Sequence[int], lives: Lives) -> str:
    if count == max(facts):
        text = f"All of them ask the same {wording.counted(count, 'fact')}."
    else:
        text = f"{wording.counted(count, 'fact')} {'is' if count == 1 else 'are'} shared by all, of "
        text += f"{', '.join(f'{n:,}' for n in facts)}."
    others = ", ".join(
        dict.fromkeys(wording.describe_state(live.state, live.run.reason) for live in lives.values() if live.state != COMPLETE)
    )
    return f"{text} Not all are complete ({others}): only what both of a pair answered counts." if others else text


STILL: Mapping[str, Callable[[Visitor, Any, Lives], Markup]] = {
    "summary": _summary_tab,
    "groups": _groups_tab,
    "statistics": _statistics_tab,
}
# Tabs with pages of their own, which keep the page within those there are.
TURNED: Mapping[str, Callable[[Visitor, Any, Lives], tuple[Markup, Any]]] = {
    "facts": fact_list,
    "evidence": evidence_tab,
}
