"""The reviews of a run: their summary, as text for a terminal, and in the words of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medfact.facts import Fact
from medfact.metrics.agreement import MISSING, Agreement, agreement
from medfact.metrics.powered import Powered
from medfact.metrics.records import codes
from medfact.metrics.uncertainty import Estimate
from medfact.results.report import board_of
from medfact.results.wording import MINUS, NO_VALUE, counted, label_of, share, shortened
from medfact.reviews.reliability import Row, Sentences, by_origin, ceiling, reliability
from medfact.reviews.scores import PoweredScores, ReviewedScores, Scores, draws_of, powered_scores, reviewed_scores
from medfact.reviews.verdicts import ADJUDICATOR, DEPENDS, FACT_VERDICTS, FALSE, TRUE, Opinion, judged, opinions
from medfact.statements import VARIANTS, Statement
from medfact.store import Store

SAID = (FALSE, TRUE, DEPENDS)
"""The categories of agreement."""


@dataclass(frozen=True)
class Summary:
    """The reviews of a run. powered: scores under the reviewers' truth, for all facts. labels: of `reliability`, the last row
    of all. sentences: of `by_origin`. ceiling: on joint accuracy, from label errors. by_relation, by_form: agreement, by a
    relation's name and by a way of asking.
    """

    facts_reviewed: int
    reviewers: int
    scores: ReviewedScores
    powered: PoweredScores
    labels: tuple[Row, ...]
    sentences: tuple[Sentences, ...]
    ceiling: Estimate
    agreement: Agreement
    by_relation: Mapping[str, Agreement]
    by_form: Mapping[str, Agreement]
    disputed: tuple[Fact, ...]
    """Facts about which reviewers differ."""

    @property
    def of_facts(self) -> tuple[Any, ...]:
        """All that does not depend on the model: equal for runs that asked the same."""
        counts = (self.scores.wrong, self.scores.sentences, self.scores.dropped, self.disputed)
        figures = (self.labels, self.sentences, self.ceiling, self.agreement, self.by_relation, self.by_form)
        return (self.facts_reviewed, self.reviewers, *counts, *figures)


def told_once(summaries: Mapping[str, Summary]) -> dict[str, Summary]:
    """A summary for all runs whose reviews are the same, by their names; under "" where that is all of them."""
    groups: dict[str, list[str]] = {}
    for name, made in summaries.items():
        groups.setdefault(repr(made.of_facts), []).append(name)
    return {", ".join(names) if len(groups) > 1 else "": summaries[names[0]] for names in groups.values()}


def summary(store: Store, run_id: str, owners: Sequence[str] = ()) -> Summary:
    """The summary of a run. owners: whose verdicts count, by default everybody's. Raises what the run's records raise."""
    run = store.run(run_id)
    asked = [item.statement for item in store.answers.asked(run.run)]
    facts = list(dict.fromkeys(statement.fact.fact_id for statement in asked))
    log = store.verdicts.log(facts, owners)
    reviewed = opinions(log)
    judgements = {s.statement_id: judged(s, reviewed[s.fact.fact_id]) for s in asked if s.fact.fact_id in reviewed}
    once = list({statement.statement_id: statement for statement in asked}.values())
    labels, records = reliability(once, reviewed), board_of(store, run.run).records()
    draws = draws_of(list({statement.fact.fact_id: statement.fact for statement in asked}.values()), log)
    return Summary(
        len(reviewed),
        len({reviewer for of in reviewed.values() for reviewer in of}),
        reviewed_scores(records, [statement.statement_id for statement in asked], judgements),
        powered_scores(records, asked, draws),
        labels,
        by_origin(once, reviewed),
        ceiling(once, reviewed),
        agreement_on(once, reviewed),
        _agreement_by(once, reviewed, lambda statement: statement.fact.relation),
        _agreement_by(once, reviewed, lambda statement: VARIANTS[statement.variant].plain),
        tuple(dict.fromkeys(s.fact for s in once if s.statement_id in judgements and judgements[s.statement_id].disputed)),
    )


def _agreement_by(
    statements: Sequence[Statement], reviewed: Mapping[str, Mapping[str, Opinion]], name_of: Callable[[Statement], str]
) -> dict[str, Agreement]:
    parts: dict[str, list[Statement]] = {}
    for statement in statements:
        if statement.fact.fact_id in reviewed:
            parts.setdefault(name_of(statement), []).append(statement)
    return {name: agreement_on(part, reviewed) for name, part in parts.items()}


def agreement_on(statements: Sequence[Statement], reviewed: Mapping[str, Mapping[str, Opinion]]) -> Agreement:
    """Agreement on which statements are true, false, or depend on the patient, adjudicators left out; intervals by head."""
    rows = list(_ratings(statements, reviewed))
    names = sorted({reviewer for _, of in rows for reviewer in of})
    table = np.array([[of.get(name, MISSING) for name in names] for _, of in rows], dtype=np.int64).reshape(
        len(rows), len(names)
    )
    return agreement(table, codes([head for head, _ in rows]))


def _ratings(
    statements: Sequence[Statement], reviewed: Mapping[str, Mapping[str, Opinion]]
) -> Iterator[tuple[str, dict[str, int]]]:
    """Of each judged statement its head, and each reviewer's verdict, as a place in SAID."""
    for statement in statements:
        single = [one for one in reviewed.get(statement.fact.fact_id, {}).values() if one.fact.role != ADJUDICATOR]
        said = {one.reviewer: SAID.index(says) for one in single if (says := one.says(statement)) is not None}
        if said:
            yield statement.fact.head, said


FIGURES = {
    "raw": "same verdict (raw agreement)",
    "ac1": "Gwet's AC1",
    "cohen": "Cohen's kappa",
    "fleiss": "Fleiss' kappa",
    "alpha": "Krippendorff's alpha",
}
"""Figures of agreement, AC1 before the kappas: labels are skewed, and kappa is small then whatever the agreement."""

SCORES = {
    "everything": "all facts, as labelled",
    "reviewed": "reviewed facts, as labelled",
    "corrected": "wrong labels flipped, unclear facts dropped",
    "undisputed": "the same without disputed facts",
}
"""Scores beside each other, by the fields of `ReviewedScores`."""

POWERED = "all facts, under the reviewers' truth"
POWERED_IN_FULL = (
    "The score that all facts, and facts like them, would have if reviewers judged every one, estimated. The facts that came "
    "at random and were judged blindly say how often reviewers contradict our labels, apart for answers that are right and "
    "wrong by them; our labels say how many answers of each kind there are (prediction-powered inference). The interval holds "
    "however wrong our labels are; as far as it is wider than that of all facts as labelled, the labels are in doubt. Facts "
    "that depend on the patient, or of which reviewers decide nothing, leave the score. Contested and chosen facts speak for "
    "themselves alone."
)
"""Explains a prediction-powered score."""


def summary_lines(made: Summary, before: Sequence[Summary] = ()) -> Iterator[str]:
    """The summary for a terminal; nothing where no fact is reviewed. before: of the runs above, which are not repeated."""
    if not made.facts_reviewed:
        return
    yield ""
    yield f"reviews: {counted(made.facts_reviewed, 'fact')} judged by {counted(made.reviewers, 'reviewer')}"
    yield changes(made)
    for name, title in SCORES.items():
        scores: Scores = getattr(made.scores, name)
        yield _line(f"all answers right: {title}", scores.joint, "fact")
        yield _line(f"right answers: {title}", scores.average, "statement")
    yield _line(f"all answers right: {POWERED}", made.powered.joint.estimate, "reviewed fact")
    yield _line(f"right answers: {POWERED}", made.powered.average.estimate, "reviewed fact")
    yield powered_in_words(made.powered)
    if any(made.of_facts == other.of_facts for other in before):
        return
    yield ""
    for fact in made.disputed[:10]:
        yield f"in dispute: {fact.head} — {fact.relation} → {fact.tail} ({label_of(fact)})"
    for row in made.labels:
        yield _line(f"wrong labels: {where(row)}", row.wrong, "verdict")
        yield _line(f"bad wording: {where(row)}", row.unclear, "verdict")
    for one in made.sentences:
        yield _line(f"say something else than their fact: {shortened(one.origin)}", one.misstated, "verdict")
        yield _line(f"bad wording: {shortened(one.origin)}", one.unclear, "verdict")
    yield _line("facts that reviewers accept as they stand", made.ceiling, "verdict")
    yield f"{FIGURES['ac1']:<60}{', '.join(agreed(made.agreement, 'ac1'))}"


def changes(made: Summary) -> str:
    """Facts and sentences that reviewers call wrong, facts that they drop, and facts about which they differ."""
    scores = made.scores
    dropped = f", find {scores.dropped:,} unclear or depending on the patient," if scores.dropped else ""
    others = f" In other facts they call {counted(scores.sentences, 'sentence')} wrong." if scores.sentences else ""
    facts = counted(made.facts_reviewed, "fact")
    return f"Reviewers call {scores.wrong:,} of {facts} wrong{dropped} and disagree about {scores.disputed:,}.{others}"


def powered_in_words(made: PoweredScores) -> str:
    """The basis of the score under the reviewers' truth, and the gain from more reviews; or why there is none."""
    joint = made.joint
    if joint.estimate.value is None:
        return f"{POWERED[0].upper()}{POWERED[1:]}, not yet: {joint.why_not}."
    undecided = f", {made.undecided} of them undecided" if made.undecided else ""
    of = f"Of {counted(joint.facts, 'fact')}, {made.drawn:,} came at random and were judged blindly{undecided}"
    return f"{of}; the interval holds however wrong the labels of the others are. {_more(joint)}"


def _more(joint: Powered) -> str:
    if joint.more is not None:
        return f"About {counted(joint.more, 'more fact')} reviewed would halve it, for all answers right."
    if joint.all_reviewed is None:
        return ""
    return (
        "No number of reviews would halve it, for all answers right: with every fact reviewed it would still be "
        f"±{100 * joint.all_reviewed:.1f} points, which is as much as {counted(joint.facts, 'fact')} tell of others like them."
    )


def where(row: Row) -> str:
    """The statements of a row of the table of reliability."""
    if not row.form:
        return row.relation or "all"
    key = next(key for key, variant in VARIANTS.items() if (variant.form, variant.negated) == (row.form, row.negated))
    return f"{row.relation}, {VARIANTS[key].plain}"


def agreed(found: Agreement, name: str) -> tuple[str, str]:
    """A figure of agreement, and of how many statements with which interval; or "no value", and why."""
    figure: Estimate = getattr(found, name)
    if figure.value is None:
        return NO_VALUE, found.why_not[name]
    interval = "no interval" if figure.low is None or figure.high is None else f"{figure.low:.2f} to {figure.high:.2f}"
    return f"{figure.value:.2f}".replace("-", MINUS), f"of {counted(figure.n, 'statement')}, {interval}".replace("-", MINUS)


def _line(name: str, estimate: Estimate, of: str) -> str:
    return f"{name:<59} {share(estimate)} of {counted(estimate.n, of)}"


def reviewed_in_words(of_fact: Mapping[str, Opinion]) -> str:
    """The verdicts on a fact, counted, without names: "reviewed by 2: true 2"; "" where nobody has judged it."""
    if not of_fact:
        return ""
    decided = [one for one in of_fact.values() if one.fact.role == ADJUDICATOR]
    single = [one for one in of_fact.values() if one.fact.role != ADJUDICATOR]
    said = Counter(one.fact.verdict for one in single)
    parts = [f"{FACT_VERDICTS[verdict]} {said[verdict]}" for verdict in FACT_VERDICTS if said[verdict]]
    if exceptions := sum(bool(one.statements) for one in single):
        parts.append(f"exceptions among its sentences by {exceptions}")
    words = f"reviewed by {len(single)}: {', '.join(parts)}" if single else ""
    decision = (
        f"adjudicated: {', '.join(FACT_VERDICTS.get(one.fact.verdict, 'sentences') for one in decided)}" if decided else ""
    )
    return "; ".join(filter(None, (words, decision)))
