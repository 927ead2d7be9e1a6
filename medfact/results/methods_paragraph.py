"""A methods paragraph for a paper, from what runs recorded of themselves; citations stand as `[@key]` (`citations`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from medfact.answers.prompts import LLM_EVAL
from medfact.metrics.records import THESE
from medfact.metrics.uncertainty import FEWEST_HEADS
from medfact.models.pressure import CONTROL
from medfact.prototypes import ORIGIN
from medfact.results.citations import bibtex, data_key, latex_citations, papers_of
from medfact.results.report import Report
from medfact.results.wording import count, counted, first_scores, marked, model_name, pool_title
from medfact.runs.demonstrations import shots_rephrased
from medfact.runs.pool import protocol_of
from medfact.runs.racing import of_one_race
from medfact.spec import NO_RETRIEVAL
from medfact.store import Run
from medfact.version import VERSION


def methods_paragraph(runs: Sequence[Run], reports: Sequence[Report]) -> str:
    """What was asked, of whom, how, and how the figures were made. runs and their reports, in the same order, one at least."""
    return " ".join(
        [
            *_asked(runs, reports),
            *_answers(runs, reports),
            *_figures(reports),
            *_statistics(runs, reports),
        ]
    )


def latex_methods(runs: Sequence[Run], reports: Sequence[Report]) -> str:
    r"""The paragraph as LaTeX, and what it cites as BibTeX, which LaTeX writes into a file for `\bibliography{medfact}`."""
    text = methods_paragraph(runs, reports)
    return "\n".join(
        [
            r"\paragraph{Methods.} " + latex_citations(text),
            "",
            r"% for \bibliography{medfact}; written when LaTeX runs",
            r"\begin{filecontents*}[overwrite]{medfact.bib}",
            bibtex(text, runs),
            r"\end{filecontents*}",
            "",
        ]
    )


def _each(runs: Sequence[Run], what: Callable[[Run], str]) -> str:
    """What holds of all runs, once; where they differ, of each with the model's name."""
    said = [what(run) for run in runs]
    if len(set(said)) == 1:
        return said[0]
    return "; ".join(f"{_named(run)}: {text}" for run, text in zip(runs, said, strict=True))


def _asked(runs: Sequence[Run], reports: Sequence[Report]) -> Iterator[str]:
    revisions = {run.run: f" (revision {run.model_revision})" if run.model_revision else "" for run in runs}
    models = ", ".join(dict.fromkeys(f"{_named(run)}{revisions[run.run]}" for run in runs))
    versions = _each(runs, lambda run: run.versions.get("medfact", VERSION))
    yield f"We asked {models} with medfact {versions} [@medfact]."
    of = {run.run: report for run, report in zip(runs, reports, strict=True)}
    yield f"The facts were {_each(runs, lambda run: _facts(run, of[run.run]))}."
    yield f"Method: {_each(runs, lambda run: _method(run))}."
    yield f"Demonstrations: {_each(runs, _demonstrations)}."
    if any(run.spec.retrieval != NO_RETRIEVAL for run in runs):
        yield f"Retrieved passages: {_each(runs, _passages)}."


def _named(run: Run) -> str:
    return _text(marked(model_name(run.model), run.imported))


def _text(text: str) -> str:
    """A name of the user's, which is no citation whatever it says."""
    return text.replace("[@", "[ @")


def _facts(run: Run, report: Report) -> str:
    of, true = sum(run.population.values()), report.true_facts
    drawn = f", drawn from {count(of)} with seed {run.spec.seed}," if of > true else ""
    umls = ", @bodenreider2004umls" if run.spec.rela or run.spec.sab else ""
    named = f"{counted(true, 'true fact')}{drawn} of {_text(run.dataset)} [@{data_key(run)}{umls}]"
    return f"{named}, {_partners(run, report)}"


def _partners(run: Run, report: Report) -> str:
    """How many false partners the true facts had: fewer than the setting says where the data have no more."""
    k = run.spec.negatives if run.spec.negatives is not None else protocol_of(run.spec).negatives
    most = f"{counted(k, 'false partner')} of the same relation and semantic type"
    if not k:
        return "without false partners"
    if report.answered < report.statements:  # which facts have all their partners is not known here
        return f"each with at most {most}"
    with_partner = report.pair_joint_accuracy.n // report.shot_draws
    if not with_partner:
        return "without false partners"
    if k > 1:
        return f"each with at most {most}"
    return f"each with {most}" if with_partner >= report.true_facts else f"{count(with_partner)} of them with {most}"


def _method(run: Run) -> str:
    keys = ", ".join(f"@{key}" for key in papers_of(run))
    ways = len({key for of in run.pool_text.values() for key in of}) or 1
    derived = "" if run.pool == LLM_EVAL else " by logical implication and negation"
    stated = "one statement a fact" if ways == 1 else f"{ways} statements a fact{derived}"
    return f"{protocol_of(run.spec).title}, {stated} [{keys}], in {_sentences(run)}"


def _sentences(run: Run) -> str:
    """Whose sentences a run asks, and which model rephrased or wrote them."""
    if run.pool == LLM_EVAL:
        return f"sentences that {_writer(run)} wrote about each fact (LLMEval)"
    templates = f"the sentences “{_text(pool_title(run.pool))}”"
    if run.spec.writer:
        return f"{templates}, rephrased by {_writer(run)}"
    lacks = protocol_of(run.spec).rephrases and run.pool != ORIGIN
    return f"{templates}, which no model rephrased as the method includes (−LMReph)" if lacks else templates


def _writer(run: Run) -> str:
    return _text(marked(model_name(run.spec.writer or "a model"), run.imported))


_FEWER_SHOTS = r"groups have fewer than \d+ shots, at least (\d+)\."
"""The note of a run some of whose statements had fewer demonstrations (`runs.demonstrations.shot_notes`)."""


def _demonstrations(run: Run) -> str:
    if not run.shots:
        return "none"
    draws = f", in {run.spec.shot_draws} draws" if run.spec.shot_draws > 1 else ""
    source = "a file of our own" if run.spec.demonstrations else "facts of other diseases that were not tested"
    most = "at most " if any(int(least) < run.shots for least in re.findall(_FEWER_SHOTS, "\n".join(run.notes))) else ""
    rephrased = {True: ", rephrased as the statements are", False: ", which are not rephrased", None: ""}[shots_rephrased(run)]
    return f"{most}{run.shots} before each statement, from {source}{draws}{rephrased}"


def _passages(run: Run) -> str:
    if run.spec.retrieval == NO_RETRIEVAL:
        return "none"
    left_out = ", without those that state the fact" if run.spec.leave_out else ""
    return f"at most {run.spec.passages}, {run.spec.retrieval} retrieval{left_out}"


def _answers(runs: Sequence[Run], reports: Sequence[Report]) -> Iterator[str]:
    yield f"Decoding: {_each(runs, _decoding)}."
    asked = sorted(day for run in runs for day in (run.started_at[:10], (run.finished_at or "")[:10]) if day)
    when = f"on {asked[0]}" if asked[0] == asked[-1] else f"from {asked[0]} to {asked[-1]}"
    of = {run.run: report for run, report in zip(runs, reports, strict=True)}
    yield f"Asked {when}. Answered: {_each(runs, lambda run: _numbers(of[run.run]))}."


def _numbers(report: Report) -> str:
    return (
        f"{count(report.answered)} of {counted(report.statements, 'statement')}, {count(report.unreadable)} unreadable, which "
        f"count as wrong, {count(report.failed)} failed, which do not count"
    )


def _decoding(run: Run) -> str:
    known: dict[str, Any] = run.decoding
    parts = ["greedy"] if known.get("greedy") else []
    if "temperature" in known and known["temperature"] is None:
        parts.append("temperature and the other generation settings as the service sets them")
    parts += [
        f"{name.replace('_', ' ')} {value}"
        for name, value in known.items()
        if isinstance(value, str | int | float) and name != "greedy"
    ]
    template = (
        {True: ["with its chat template"], False: ["without a chat template"]}.get(run.chat, []) if run.chat is not None else []
    )
    return ", ".join([*parts, *template]) or "as the service does by default"


def _figures(reports: Sequence[Report]) -> Iterator[str]:
    shown = first_scores(reports)
    if "mkj_accuracy" in shown:
        yield (
            "Acc is the share of right answers, with true and false statements weighted 1 : k false partners, Acc_pos and "
            "Acc_neg the shares over statements of facts that hold and of false ones, and the gap the first less the second."
        )
    if "joint_accuracy" in shown and any(report.negative_accuracy.n for report in shown["joint_accuracy"]):
        yield (
            "Average accuracy is the share of right answers, joint accuracy the share of facts, true and false ones, with all "
            "answers right, and pair joint accuracy the share of true facts with all answers right about both the fact and its "
            "false partners."
        )
    elif "joint_accuracy" in shown:
        yield "Average accuracy is the share of right answers, joint accuracy the share of facts with all answers right."
    if any(report.calibration.n for report in reports):
        yield (
            f"{_p_true(reports)} Its calibration is reported as ECE in 20 bins, with consistency bands that draw heads "
            "[@brocker2007], ECE without what chance adds [@kumar2019], smooth ECE [@blasiok2023], and the Brier score "
            "decomposed by isotonic regression [@dimitriadis2021]."
        )
    yield from _pushes(reports)


def _pushes(reports: Sequence[Report]) -> Iterator[str]:
    """What was said to the models after their answers; nothing where nobody pushed."""
    found = [one for report in reports if report.pressure for one in report.pressure.after]
    if found:
        kinds = ", ".join(dict.fromkeys(one.kind for one in found if one.kind != CONTROL))
        rounds = max(one.round for one in found)
        yield (
            f"After each answer the model was pushed against it in {rounds} further turns, with the same words against right "
            f"and wrong answers ({kinds}), beside a control that asked once more; differences from the control are paired by "
            "statement or fact."
        )


_P_TRUE = {
    "repeats": "P(True) was estimated from repeated answers: with t True and f False ones it is (t + 1/2) / (t + f + 1).",
    "stated": "P(True) is the one that the model stated when it was asked, after its answer, how sure it was from 0 to 100.",
}
_MEASURED = "P(True) is the model's probability of its True words over that of its True and False words."


def _p_true(reports: Sequence[Report]) -> str:
    """Where P(True) comes from, each source once."""
    known = (_P_TRUE.get(report.p_true_source, _MEASURED) for report in reports if report.calibration.n)
    return " ".join(dict.fromkeys(known))


def _statistics(runs: Sequence[Run], reports: Sequence[Report]) -> Iterator[str]:
    finite = ", with the finite-population correction [@cochran1977]" if reports[0].estimand == THESE else ""
    yield (
        "Intervals are at 95%: for shares Wilson's [@wilson1927] with as many trials as the facts are worth [@korn1998] after "
        f"two-way clustering by head and tail [@cameron2011]{finite}; with heads worth fewer than {FEWEST_HEADS} equal ones "
        "none is given."
    )
    if len(reports) > 1:
        yield (
            "Runs were compared on what both answered. A difference is called shown where 0 lies outside its interval for all "
            "pairs of runs together: a bootstrap over heads, widened for shared tails, which reaches to 0 unless a sign-flip "
            "test over heads and a two-way clustered t test reject it too (Bonferroni)."
        )
    if of_one_race(runs):
        yield "The race rests on confidence sequences by betting [@waudbysmith2024]."
