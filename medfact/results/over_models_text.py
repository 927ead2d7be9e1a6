"""What several models show of the facts, in sentences: once for the page, the command line and reports."""

from __future__ import annotations

from medfact.metrics.alikeness import Correlation
from medfact.metrics.hardness import FEWEST_MODELS
from medfact.metrics.witnesses import FEWEST_WITNESSES
from medfact.results.over_models import Missed, OverModels, PairAlike, Suspect
from medfact.results.wording import MINUS, TOO_FEW, count, counted, share

NOTHING_SHARED = "No fact was answered by all of them, so nothing can be said of any label."

NOT_ENOUGH = "It takes two models, baselines not counted, that were asked the same facts."


def about_models(found: OverModels) -> list[str]:
    """Whose answers these are, in sentences."""
    lines = [f"Over {counted(len(found.models), 'model')} and {counted(found.facts, 'fact')} that all of them answered."]
    return lines + [f"{name} does not count here: {reason}." for name, reason in found.left_out]


def hardest_in_words(found: OverModels) -> str:
    """How the facts that are missed most were found."""
    whole = f"{counted(found.whole, 'fact')} answered in every way"
    none = f"No model has all answers right on {count(found.mastered_by_none)} of {whole}."
    if not found.whole:
        none = "No fact was answered in every way by all models."
    if found.rasch is None:
        return (
            f"{none} Listed by the plain share of right answers over all models: with fewer than {FEWEST_MODELS} models "
            "nothing finer can be said of one fact, and places in this list are partly luck."
        )
    return (
        f"{none} Listed by difficulty: a Rasch model in which a model may know one disease better than another. "
        f"{found.rasch.reliability:.0%} of the spread in difficulty is more than chance; where intervals overlap, the order "
        "shows nothing."
    )


def missed_in_words(one: Missed) -> str:
    """How often a fact is missed."""
    said = f"{one.right} of {one.of} answers right"
    if one.middling:
        return f"{said}; an average model would have {share(one.middling)} right"
    others = counted(one.tied - 1, "other fact")
    return f"{said}, tied with {others}" if one.tied > 1 else said


def suspects_in_words(found: OverModels) -> str:
    """Whether there are facts whose label is the suspect, and whose word counts."""
    mute = found.no_witness
    if not found.facts:
        return NOTHING_SHARED
    if not found.denied:
        return "Labels cannot be judged here: without denied statements, a wrong answer may be mere habit."
    if len(found.models) - len(mute) < FEWEST_WITNESSES:
        said = "Fewer than two models can speak against a label."
    elif not found.suspects_of:
        said = "No label is contradicted by all models in every way of asking."
    else:
        said = (
            f"On {counted(found.suspects_of, 'fact')} all models say the opposite of the label, in every way of asking. "
            "Perhaps they learned the same mistake, perhaps the label is wrong: judge it before you blame the models."
        )
    if not mute:
        return said
    names, one = " and ".join(filter(None, [", ".join(mute[:-1]), mute[-1]])), len(mute) == 1
    return (
        f"{said} {names} {'is' if one else 'are'} not counted: {'it is' if one else 'they are'} not shown to know true facts "
        "from false ones, in all ways of asking together."
    )


def suspect_in_words(one: Suspect) -> str:
    """Why a label is the suspect."""
    return against_in_words(one.models, one.ways)


def against_in_words(models: int, ways: int) -> str:
    """That so many models contradict a label in so many ways."""
    every = {2: "both ways", 8: "all eight ways"}.get(ways, f"all {ways} ways")
    return f"{'both' if models == 2 else f'all {models}'} models say the opposite of the label in {every}"


def alike_in_words(pair: PairAlike) -> str:
    """Whether two models are right on the same facts."""
    overall, within = pair.alike
    if overall.value is None:
        return f"{pair.a} and {pair.b}: one of them is right on every fact alike, so there is nothing to correlate."
    between = f"between facts of the same disease {_correlation(within)}"
    low, high = within.low, within.high
    if low is None or high is None:
        says = "nothing can be said"
    elif low > 0:
        says = "they are right on the same facts more often than by chance"
    else:
        says = "they are right on different facts" if high < 0 else "no likeness shown"
    return f"{pair.a} and {pair.b}: {says} (r = {_correlation(overall)}; {between})."


def _correlation(found: Correlation) -> str:
    if found.value is None:
        return "no value"
    if found.low is None or found.high is None:
        return f"{_signed(found.value)}, {TOO_FEW}"
    return f"{_signed(found.value)}, {_signed(found.low)} to {_signed(found.high)}, n = {counted(found.n, 'fact')}"


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", MINUS)
