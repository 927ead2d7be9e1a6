"""The section about pressure: effects of pushes on the answers, beside those of asking again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from medfact.metrics.pressure import HELD, MASTERED, UNSTEADY, YIELDS, AfterPush, Moved, Pressure
from medfact.metrics.uncertainty import Estimate
from medfact.models.pressure import CONTROL, PRESSURES
from medfact.results.blocks import ABSENT, Block, Cell, Note, Row, Section, Shares, Table
from medfact.results.pressed import change_in_words, last_pushes, pressure_in_words
from medfact.results.sections.answers import NOT_IN_A_PAPER, difference_of, share_of
from medfact.results.sections.registry import Figures, section
from medfact.results.wording import counted, share

Found = Mapping[str, Pressure]
Push = tuple[str, int]
"""The kind of a push, and its round."""

_SAID = {CONTROL: "asked again", **PRESSURES}

_FIGURES = {
    HELD: ("right answers that stay right", "right answer"),
    YIELDS: ("wrong answers that become right", "wrong answer"),
    MASTERED: ("all answers right, and still right after the push", "fact"),
}
"""Figure → its title, and of what it is a share."""

_ABOUT = (
    "After each answer the model was asked again: once without a push, for a control, and after each kind of push, which says "
    "nothing of the fact and goes against right and wrong answers alike. A push does what it does beyond asking again. "
    "Unreadable replies are not right; failed calls do not count. Gain: wrong answers mended less right ones given up, 0 of a "
    "model that always switches and of one that never does."
)


@section("pressure", 114, tab="confidence", where=NOT_IN_A_PAPER)
def pressure(figures: Figures) -> Section | None:
    """Effects of pushes on right and wrong answers. Runs without pressure are left out."""
    found = {run: report.pressure for run, report in figures.reports.items() if report.pressure}
    if not found:
        return None
    asked = list(dict.fromkeys((push.kind, push.round) for of in found.values() for push in of.after))
    blocks: list[Block] = [Note(lines=tuple(f"{run}: {pressure_in_words(of)}" for run, of in found.items()))]
    blocks.append(Note(lines=tuple(line for run, of in found.items() for line in _lines(run, of, len(found) > 1)), listed=True))
    blocks += [_shares(found, asked, name) for name in (HELD, YIELDS)]
    blocks += [_table(found, asked), _less_control(found, asked)]
    return Section("Does it hold what it knows?", (*blocks, Note(lines=(_ABOUT,), quiet=True)))


def title_of(push: Push) -> str:
    """A push as the row of a table: the words that are said, and how often."""
    kind, turn = push
    return f"{_SAID[kind]} {'once' if turn == 1 else 'twice'}"


def _lines(run: str, of: Pressure, several: bool) -> list[str]:
    """The shares after each kind's last push; of a model that is unsteady, also those after each control, which show that."""
    last = last_pushes(of)
    unsteady = any(push.diagnosis == UNSTEADY for push in last)
    earlier = [push for push in of.after if push.kind == CONTROL and push not in last] if unsteady else []
    return [f"{run}, {_kept(push)}" if several else _kept(push) for push in (*earlier, *last)]


def _kept(push: AfterPush) -> str:
    """The two shares that decide, each with its interval and of how many."""
    keeps, mends = _share_in_words("keeps", push.held, "right"), _share_in_words("mends", push.yields_to_truth, "wrong")
    return f"{title_of((push.kind, push.round))}: {keeps}, {mends}"


def _share_in_words(does: str, of: Estimate, side: str) -> str:
    return f"{does} {share(of)} of {counted(of.n, f'{side} answer')}" if of.n else f"there was no {side} answer"


def _rows(found: Found, asked: Sequence[Push], cell: Callable[[AfterPush], Cell]) -> tuple[Row, ...]:
    """A row for each push, the control first; a cell for each run."""
    return tuple(
        Row(title_of(push), {run: cell(one) if (one := of.of(*push)) else ABSENT for run, of in found.items()})
        for push in asked
    )


def _shares(found: Found, asked: Sequence[Push], name: str) -> Shares:
    title, thing = _FIGURES[name]
    rows = _rows(found, asked, lambda one: share_of(getattr(one, name), thing))
    return Shares(
        name=f"pressure-{name.replace('_', '-')}",
        label=title,
        heading="after",
        rows=rows,
        caption=f"{title[0].upper()}{title[1:]}",
        finding=_finding(found, name),
        axis=f"{title}, %",
    )


def _finding(found: Found, name: str) -> str:
    """The largest shown change of a figure beyond the control, of each run, as in the sentences above."""
    title = f"{_FIGURES[name][0][0].upper()}{_FIGURES[name][0][1:]}"
    changes = {run: change_in_words(of, name, False) or change_in_words(of, name, True) for run, of in found.items()}
    told = [f"{run}, {words}" if len(found) > 1 else words for run, words in changes.items() if words]
    return f"{title}: {'; '.join(told) or 'no push is shown to change this beyond asking again'}"


def _table(found: Found, asked: Sequence[Push]) -> Table:
    """Mastery before and after, the gain, what is newly affirmed, and P(True)."""
    thing = _FIGURES[MASTERED][1]
    rows = [Row("all answers right before any push", {run: share_of(of.mastered, thing) for run, of in found.items()})]
    parts: list[tuple[str, Callable[[AfterPush], Cell]]] = [
        (_FIGURES[MASTERED][0], lambda one: share_of(one.mastered_and_held, thing)),
        ("gain", lambda push: Cell(push.gain, counted(push.gain.n, "answer"), signed=True) if push.gain.n else ABSENT),
        ("false facts newly called true", lambda one: share_of(one.newly_affirmed, "denied statement")),
        ("probability of true", lambda one: _moved(one.probability)),
    ]
    for title, cell in parts:
        for row in _rows(found, asked, cell):
            rows.append(row._replace(name=f"{title}: {row.name}"))
    label = "mastery, gain, false facts and probabilities before and after pushes"
    return Table(
        name="pressure-figures", label=label, heading="figure", rows=tuple(rows), folded="All figures of pressure", compact=True
    )


def _moved(moved: Moved | None) -> Cell:
    if moved is None:
        return ABSENT
    sides = {
        "of true statements": (moved.true_before, moved.true_after),
        "of false ones": (moved.false_before, moved.false_after),
    }
    lines = [
        f"{of}: {before:.2f} → {after:.2f}" for of, (before, after) in sides.items() if before is not None and after is not None
    ]
    truth = moved.truth
    if truth.value is not None and truth.low is not None and truth.high is not None:
        shift = f"of what is true: by {truth.value:+.2f} ({truth.low:+.2f} to {truth.high:+.2f})"
        lines.append(shift.replace("-", "\u2212"))
    return Cell(text=lines[0], under=(*lines[1:], f"of {counted(moved.n, 'statement')}"))


def _less_control(found: Found, asked: Sequence[Push]) -> Table:
    pushed = [push for push in asked if push[0] != CONTROL]
    rows = [
        row._replace(name=f"{title}: {row.name}")
        for name, (title, thing) in _FIGURES.items()
        for row in _rows(
            found,
            pushed,
            lambda push, name=name, thing=thing: (  # type: ignore[misc]
                difference_of(push.less_control[name], thing) if name in push.less_control else ABSENT
            ),
        )
    ]
    label = "what pushes do beyond asking again: each figure less that after asking again, in points"
    caption = (
        "Each figure less that after merely asking again, in points, of the same statements or facts. A bold frame: shown, "
        "with all differences of a run taken together."
    )
    return Table(
        name="pressure-less-control",
        label=label,
        heading="figure",
        rows=tuple(rows),
        caption=caption,
        folded="What pushes do beyond asking again",
    )
