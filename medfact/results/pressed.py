"""The answers of a run after pushes, as arrays, and their effects in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from medfact.metrics.comparison import Contrast
from medfact.metrics.pressure import (
    DIAGNOSES,
    HELD,
    LOSES,
    MASTERED,
    UNREADABLE_AFTER,
    UNSTEADY,
    YIELDS,
    AfterPush,
    Pressure,
    pressure,
)
from medfact.metrics.records import PENDING, UNREADABLE, Records
from medfact.models.pressure import PRESSURES, ROUNDS, kinds_asked
from medfact.store import Run, Store
from medfact.store.run_answers import PushedColumns


def pressure_of(run: Run, records: Records, store: Store) -> Pressure | None:
    """Effects of pushes on the answers of a run; None where it has none."""
    if not run.spec.pressure:
        return None
    return pressure(records, pushed_records(records, store.pushes.columns(run.run), kinds_asked(run.spec.pressure)))


def pushed_records(records: Records, columns: PushedColumns, kinds: tuple[str, ...]) -> dict[str, tuple[Records, ...]]:
    """Kind → a run's records with the answers after its pushes, a round each."""
    return {kind: tuple(_after(records, columns, kind, turn) for turn in range(1, ROUNDS + 1)) for kind in kinds}


def _after(records: Records, columns: PushedColumns, kind: str, turn: int) -> Records:
    """A conversation that ended in an earlier round, with a reply that had nothing in it, has no answer in this one either: if
    it were left out, a model that falls silent would hold all that it still says.
    """
    of_kind = columns.kind == kind
    rows = of_kind & (columns.round == turn)
    at, count = columns.position[rows], len(records.fact)
    answer = np.full(count, PENDING, dtype=np.int8)
    answer[columns.position[of_kind & columns.is_empty & (columns.round < turn)]] = UNREADABLE
    p_true, p_mass = np.full(count, np.nan), np.full(count, np.nan)
    answer[at], p_true[at], p_mass[at] = columns.answer[rows], columns.p_true[rows], columns.p_mass[rows]
    return replace(records, answer=answer, p_true=p_true, p_mass=p_mass)


# ------------------------------------------------------------------------------------------------ in words

CHANGES = {
    (HELD, False): "gives up {} points more of its right answers ({} to {}) than when merely asked again",
    (MASTERED, False): "keeps {} points fewer of all facts mastered ({} to {}) than when merely asked again",
    (YIELDS, True): "mends {} points more of its wrong answers ({} to {}) than when merely asked again",
    (HELD, True): "keeps {} points more of its right answers ({} to {}) than when merely asked again",
    (YIELDS, False): "mends {} points fewer of its wrong answers ({} to {}) than when merely asked again",
    (MASTERED, True): "keeps {} points more of all facts mastered ({} to {}) than when merely asked again",
}
"""Figure, and whether it rises → the effect of a push, losses first."""


def pressure_in_words(of: Pressure) -> str:
    """The loss of a run against the control, and what else each kind of push does, in sentences."""
    loss = loss_in_words(of)
    told = [
        DIAGNOSES[diagnosis].format(kinds)
        for diagnosis in dict.fromkeys(push.diagnosis for push in last_pushes(of)[1:])
        if (kinds := kinds_in_words(of, diagnosis, but=loss if diagnosis == LOSES else ""))
    ]
    rest = "; it ".join(words for words in told if words not in loss)
    return f"{loss}. It {rest}." if rest else f"{loss}."


def loss_in_words(of: Pressure) -> str:
    """The largest shown loss against the control, in points, as a clause; where there is none, the largest other change. It is
    one clause for all kinds of push and all rounds.
    """
    for diagnosis in (UNSTEADY, UNREADABLE_AFTER):
        if kinds := kinds_in_words(of, diagnosis):
            return f"it {DIAGNOSES[diagnosis].format(kinds)}"
    differences = [less for push in of.after for less in push.less_control.values()]
    if all(less.low_all is None for less in differences):
        return "too few diseases were asked to tell a push from asking again" if differences else "nothing was pushed yet"
    nothing = "no push is shown to change its answers beyond asking again"
    return next(filter(None, (change_in_words(of, *change) for change in CHANGES)), nothing)


def change_in_words(of: Pressure, figure: str, rises: bool) -> str:
    """The largest shown rise or fall of a figure beyond the control, with the interval that decides; "" where none is shown."""
    changes = [
        (push, less)
        for push in of.after
        if (less := push.less_control.get(figure)) and less.is_shown and ((less.value or 0.0) > 0) is rises
    ]
    if not changes:
        return ""
    push, less = max(changes, key=lambda change: abs(change[1].value or 0.0))
    said = CHANGES[figure, rises].format(*_in_points(less))
    facts = push.less_control.get(MASTERED)
    if (figure, rises) == (HELD, False) and facts and facts.is_shown and (facts.value or 0.0) < 0:
        said += ", and masters {} points fewer facts ({} to {})".format(*_in_points(facts))
    return f"after {PRESSURES[push.kind]}{', said twice,' if push.round > 1 else ''} it {said}"


def _in_points(less: Contrast) -> list[str]:
    """A difference and its bounds without their sign, the nearer to 0 first."""
    ends = sorted(abs(end or 0.0) for end in (less.low_all, less.high_all))
    return [f"{round(100 * end, 1):g}" for end in (abs(less.value or 0.0), *ends)]


def kinds_in_words(of: Pressure, diagnosis: str | None, but: str = "") -> str:
    """The kinds of push with a diagnosis after the last round, as they are said. but: a text; those in it are left out."""
    kinds = [PRESSURES[push.kind] for push in last_pushes(of)[1:] if push.diagnosis == diagnosis]
    *first, last = [kind for kind in kinds if kind not in but] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def last_pushes(of: Pressure) -> list[AfterPush]:
    """Each kind after its last push, the control first."""
    return list({push.kind: push for push in of.after}.values())
