"""The answers of a run after pushes, as arrays, and their effects in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from medfact.metrics.comparison import Contrast
from medfact.metrics.pressure import (
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
from medfact.words import say


def pressure_of(run: Run, records: Records, store: Store) -> Pressure | None:
    """Effects of pushes on the answers of a run; None where it has none."""
    if not run.spec.pressure:
        return None
    columns, rounds = store.pushes.columns(run.run), range(1, ROUNDS + 1)
    kinds = kinds_asked(run.spec.pressure)
    return pressure(records, {kind: [_after(records, columns, kind, turn) for turn in rounds] for kind in kinds})


def _after(records: Records, columns: PushedColumns, kind: str, turn: int) -> Records:
    """A run's records with the answers after its pushes of one kind and round.

    A conversation that ended in an earlier round, with an empty reply, counts as unreadable in this one. If it were left out, a
    model that falls silent would hold all that it still says.
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

# Figure, and true where it rises: losses first.
CHANGES = ((HELD, False), (MASTERED, False), (YIELDS, True), (HELD, True), (YIELDS, False), (MASTERED, True))


def describe_pressure(effects: Pressure) -> str:
    """The loss of a run against the control, and further effects of each kind of push, in sentences."""
    loss, clauses = loss_in_words(effects), list[str]()
    for diagnosis in dict.fromkeys(push.diagnosis for push in last_pushes(effects)[1:]):
        if kinds := describe_pushes(effects, diagnosis, but=loss if diagnosis == LOSES else ""):
            clauses.append(say(f"pressure.diagnosis.{diagnosis or 'none'}", pushes=kinds))
    rest = "; it ".join(clause for clause in clauses if clause not in loss)
    return f"{loss}. It {rest}." if rest else f"{loss}."


def loss_in_words(effects: Pressure) -> str:
    """The largest shown loss against the control, in points, as a clause; without a loss, the largest other change.

    It is one clause for all kinds of push and all rounds.
    """
    for diagnosis in (UNSTEADY, UNREADABLE_AFTER):
        if kinds := describe_pushes(effects, diagnosis):
            return f"it {say(f'pressure.diagnosis.{diagnosis}', pushes=kinds)}"
    contrasts = [contrast for push in effects.after for contrast in push.less_control.values()]
    if all(contrast.low_all is None for contrast in contrasts):
        return say("pressure.too_few" if contrasts else "pressure.not_pushed")
    return next(filter(None, (describe_change(effects, *change) for change in CHANGES)), say("pressure.no_change"))


def describe_change(effects: Pressure, figure: str, rises: bool) -> str:
    """The largest shown rise or fall of a figure beyond the control, with the interval that decides; "" where none is shown."""
    contrasts = [(push, push.less_control[figure]) for push in effects.after if figure in push.less_control]
    shown_ones = [pair for pair in contrasts if pair[1].is_shown and ((pair[1].value or 0.0) > 0) is rises]
    if not shown_ones:
        return ""
    push, contrast = max(shown_ones, key=lambda pair: abs(pair[1].value or 0.0))
    words = say(f"pressure.{'rise' if rises else 'fall'}.{figure}", **_in_points(contrast))
    facts = push.less_control.get(MASTERED)
    if (figure, rises) == (HELD, False) and facts and facts.is_shown and (facts.value or 0.0) < 0:
        words += say("pressure.and_facts", **_in_points(facts))
    return say("pressure.after_twice" if push.round > 1 else "pressure.after", push=PRESSURES[push.kind], effect=words)


def _in_points(contrast: Contrast) -> dict[str, str]:
    """A difference and its bounds without their sign, the nearer to 0 first."""
    ends = sorted(abs(end or 0.0) for end in (contrast.low_all, contrast.high_all))
    values = (abs(contrast.value or 0.0), *ends)
    return {name: f"{round(100 * value, 1):g}" for name, value in zip(("points", "low", "high"), values, strict=True)}


def describe_pushes(effects: Pressure, diagnosis: str | None, but: str = "") -> str:
    """The kinds of push with a diagnosis after the last round, in a row. but: a text; those in it are left out."""
    kinds = [PRESSURES[push.kind] for push in last_pushes(effects)[1:] if push.diagnosis == diagnosis]
    *first, last = [kind for kind in kinds if kind not in but] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def last_pushes(effects: Pressure) -> list[AfterPush]:
    """Each kind after its last push, the control first."""
    return list({push.kind: push for push in effects.after}.values())
