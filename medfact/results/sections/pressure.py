"""The section about pressure: effects of pushes on the answers, beside those of asking again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from medfact.metrics.pressure import HELD, MASTERED, UNSTEADY, YIELDS, AfterPush, Moved, Pressure
from medfact.metrics.uncertainty import Estimate
from medfact.models.pressure import CONTROL, PRESSURES
from medfact.results.blocks import ABSENT, Block, Cell, Note, Row, Section, Shares, Table
from medfact.results.pressed import describe_change, describe_pressure, last_pushes
from medfact.results.sections.answers import NOT_IN_A_PAPER, difference_of, share_of
from medfact.results.sections.registry import Figures, section
from medfact.results.wording import MINUS, counted, share
from medfact.words import say

Effects = Mapping[str, Pressure]
# The kind of a push, and its round.
Push = tuple[str, int]

# Figure → the thing of which it is a share.
_THINGS = {HELD: "right answer", YIELDS: "wrong answer", MASTERED: "fact"}


@section("pressure", 114, tab="confidence", where=NOT_IN_A_PAPER)
def pressure(figures: Figures) -> Section | None:
    """Effects of pushes on right and wrong answers. Runs without pressure are left out."""
    runs = {run: report.pressure for run, report in figures.reports.items() if report.pressure}
    if not runs:
        return None
    pushes = list(dict.fromkeys((push.kind, push.round) for effects in runs.values() for push in effects.after))
    lines = [f"{run}, {line}" if len(runs) > 1 else line for run, effects in runs.items() for line in _lines(effects)]
    blocks: list[Block] = [
        Note(lines=tuple(f"{run}: {describe_pressure(effects)}" for run, effects in runs.items())),
        Note(lines=tuple(lines), listed=True),
        *(_shares(runs, pushes, figure) for figure in (HELD, YIELDS)),
        _table(runs, pushes),
        _less_control(runs, pushes),
    ]
    return Section(say("pressure.title"), (*blocks, Note(lines=(say("pressure.about"),), quiet=True)))


def title_of(push: Push) -> str:
    """A push as the row of a table: its words, and their number."""
    kind, turn = push
    return f"{'asked again' if kind == CONTROL else PRESSURES[kind]} {'once' if turn == 1 else 'twice'}"


def _lines(effects: Pressure) -> list[str]:
    """The shares after each kind's last push; of a model that is unsteady, also those after each control, which show that."""
    last = last_pushes(effects)
    unsteady = any(push.diagnosis == UNSTEADY for push in last)
    earlier = [push for push in effects.after if push.kind == CONTROL and push not in last] if unsteady else []
    return [
        f"{title_of((push.kind, push.round))}: "
        f"{_describe_share('keeps', push.held, HELD)}, {_describe_share('mends', push.yields_to_truth, YIELDS)}"
        for push in (*earlier, *last)
    ]


def _describe_share(does: str, estimate: Estimate, figure: str) -> str:
    thing = _THINGS[figure]
    return f"{does} {share(estimate)} of {counted(estimate.n, thing)}" if estimate.n else f"there was no {thing}"


def _rows(runs: Effects, pushes: Sequence[Push], cell: Callable[[AfterPush], Cell], title: str = "") -> tuple[Row, ...]:
    """A row for each push, the control first; a cell for each run. title: before the push, if any."""
    return tuple(
        Row(
            f"{title}: {title_of(push)}" if title else title_of(push),
            {run: cell(after) if (after := effects.of(*push)) else ABSENT for run, effects in runs.items()},
        )
        for push in pushes
    )


def _shares(runs: Effects, pushes: Sequence[Push], figure: str) -> Shares:
    title = say(f"pressure.figures.{figure}")
    caption = f"{title[0].upper()}{title[1:]}"
    changes = {
        run: describe_change(effects, figure, False) or describe_change(effects, figure, True) for run, effects in runs.items()
    }
    lines = [f"{run}, {words}" if len(runs) > 1 else words for run, words in changes.items() if words]
    return Shares(
        name=f"pressure-{figure.replace('_', '-')}",
        label=title,
        heading="after",
        rows=_rows(runs, pushes, lambda push: share_of(getattr(push, figure), _THINGS[figure])),
        caption=caption,
        finding=f"{caption}: {'; '.join(lines) or say('pressure.unchanged')}",
        axis=f"{title}, %",
    )


def _table(runs: Effects, pushes: Sequence[Push]) -> Table:
    """Mastery before and after, the gain, newly affirmed facts, and P(True)."""
    thing = _THINGS[MASTERED]
    before = {run: share_of(effects.mastered, thing) for run, effects in runs.items()}
    parts: dict[str, Callable[[AfterPush], Cell]] = {
        say(f"pressure.figures.{MASTERED}"): lambda push: share_of(push.mastered_and_held, thing),
        "gain": lambda push: Cell(push.gain, counted(push.gain.n, "answer"), signed=True) if push.gain.n else ABSENT,
        "false facts newly called true": lambda push: share_of(push.newly_affirmed, "denied statement"),
        "probability of true": lambda push: _moved(push.probability),
    }
    rows = [row for title, cell in parts.items() for row in _rows(runs, pushes, cell, title)]
    return Table(
        name="pressure-figures",
        label=say("pressure.all_figures"),
        heading="figure",
        rows=(Row(say("pressure.mastered_before"), before), *rows),
        folded="All figures of pressure",
        compact=True,
    )


def _moved(moved: Moved | None) -> Cell:
    if moved is None:
        return ABSENT
    means = {
        "of true statements": (moved.true_before, moved.true_after),
        "of false ones": (moved.false_before, moved.false_after),
    }
    moves = {side: pair for side, pair in means.items() if None not in pair}
    lines = [f"{side}: {before:.2f} → {after:.2f}" for side, (before, after) in moves.items()]
    truth = moved.truth
    if truth.value is not None and truth.low is not None and truth.high is not None:
        shift = f"of what is true: by {truth.value:+.2f} ({truth.low:+.2f} to {truth.high:+.2f})"
        lines.append(shift.replace("-", MINUS))
    return Cell(text=lines[0], under=(*lines[1:], f"of {counted(moved.n, 'statement')}"))


def _less_control(runs: Effects, pushes: Sequence[Push]) -> Table:
    def cell(figure: str) -> Callable[[AfterPush], Cell]:
        return lambda push: difference_of(push.less_control[figure], _THINGS[figure]) if figure in push.less_control else ABSENT

    pushed = [push for push in pushes if push[0] != CONTROL]
    return Table(
        name="pressure-less-control",
        label=say("pressure.beyond_label"),
        heading="figure",
        rows=tuple(row for name in _THINGS for row in _rows(runs, pushed, cell(name), say(f"pressure.figures.{name}"))),
        caption=say("pressure.beyond_caption"),
        folded=say("pressure.beyond"),
    )
