"""The reviews of a run, as text for a terminal, and in the words of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from medfact.metrics.agreement import Agreement
from medfact.metrics.powered import Powered
from medfact.metrics.uncertainty import Estimate
from medfact.results.wording import MINUS, NO_VALUE, counted, label_of, share, shortened
from medfact.reviews.reliability import Row
from medfact.reviews.scores import PoweredScores, Scores
from medfact.reviews.summary import Summary
from medfact.reviews.verdicts import ADJUDICATOR, FACT_VERDICTS, Opinion
from medfact.statements import VARIANTS

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
