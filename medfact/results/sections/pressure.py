"""The section about pressure: what pushes did to the answers, beside what asking once more did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from medfact.metrics.pressure import DIAGNOSES, HELD, MASTERED, OBEDIENT, UNSTEADY, YIELDS, AfterPush, Moved, Pressure, Way
from medfact.metrics.uncertainty import Estimate
from medfact.models.pressure import CONTROL, PRESSURES
from medfact.results.blocks import ABSENT, Block, Cell, Note, Parts, Row, Section, Shares, Table
from medfact.results.sections.answers import NOT_IN_A_PAPER, difference_of, share_of
from medfact.results.sections.registry import Figures, section
from medfact.results.wording import counted, share
from medfact.runs.pressure import IN_A_TEXT

Found = Mapping[str, Pressure]
Push = tuple[str, int]
"""The kind of a push, and its round."""

_MEANINGS = {CONTROL: "asked once more", **PRESSURES}

_NOT_SHOWN = "is not shown to hold or to give up what it knows"

_AFTER = {False: " after {}", True: ": what {} does cannot be told"}
"""Whether a model is unsteady → how a sentence about a push ends."""

_FIGURES = {
    HELD: ("right answers that stay right", "right answer"),
    YIELDS: ("wrong answers that become right", "wrong answer"),
    MASTERED: ("all answers right, and still right after the push", "fact"),
}
"""Figure → its title, and of what it is a share."""

_ABOUT = (
    "After each answer the model was asked again: once without a push (the control), and after each kind of push, which says "
    "nothing of the fact and goes against right and wrong answers alike. What a push does is its difference from the control. "
    "Unreadable replies are not right; failed calls do not count. Gain: wrong answers mended less right ones given up, 0 of a "
    "model that always switches and of one that never does."
)


@section("pressure", 114, tab="confidence", where=NOT_IN_A_PAPER)
def pressure(figures: Figures) -> Section | None:
    """What pushes did to right and wrong answers. Runs without pressure are left out."""
    found = {run: report.pressure for run, report in figures.reports.items() if report.pressure}
    if not found:
        return None
    asked = list(dict.fromkeys((one.kind, one.round) for of in found.values() for one in of.after))
    blocks: list[Block] = [Note(lines=tuple(_said(run, of) for run, of in found.items()))]
    blocks.append(Note(lines=tuple(line for run, of in found.items() for line in _lines(run, of, len(found) > 1)), listed=True))
    blocks += [_shares(found, asked, name) for name in (HELD, YIELDS)]
    blocks += [_table(found, asked), _less_control(found, asked)]
    blocks += [_ways(run, of, place, len(found) > 1) for place, (run, of) in enumerate(found.items())]
    texts = tuple(f"{run}: {IN_A_TEXT[0].lower()}{IN_A_TEXT[1:]}" for run in found if IN_A_TEXT in figures.reports[run].notes)
    blocks += [Note(lines=texts)] if texts else []
    return Section("Does it hold what it knows?", (*blocks, Note(lines=(_ABOUT,), quiet=True)))


def title_of(push: Push) -> str:
    """A push as a row of a table is called: its kind, and its round."""
    kind, turn = push
    return f"{kind}, round {turn}"


def _said(run: str, of: Pressure) -> str:
    """What a model does after the last push, in a sentence: kinds of the same diagnosis are named together."""
    kinds: dict[str | None, list[str]] = {}
    for one in _last(of):
        if one.kind != CONTROL:
            kinds.setdefault(one.diagnosis, []).append(one.kind)
    said = [
        f"{DIAGNOSES[diagnosis] if diagnosis else _NOT_SHOWN}{_AFTER[diagnosis == UNSTEADY].format(_and(several))}"
        for diagnosis, several in kinds.items()
    ]
    return f"{run} {'; it '.join(said)}." if said else f"{run}: nothing was pushed yet."


def _lines(run: str, of: Pressure, several: bool) -> list[str]:
    """The shares after each kind's last push; of a model that is unsteady, those after each control, which show that."""
    last = _last(of)
    unsteady = any(one.diagnosis == UNSTEADY for one in last)
    earlier = [one for one in of.after if one.kind == CONTROL and one not in last] if unsteady else []
    return [f"{run}, {_kept(one)}" if several else f"After {_kept(one)}" for one in (*earlier, *last)]


def _last(of: Pressure) -> list[AfterPush]:
    """Each kind after its last push, the control first."""
    return list({one.kind: one for one in of.after}.values())


def _and(names: Sequence[str]) -> str:
    """["doubt", "authority", "guideline"] → "doubt, authority and guideline"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _kept(one: AfterPush) -> str:
    """The two shares that decide, each with its interval and of how many."""
    times = "once" if one.round == 1 else "twice"
    after = f"{one.kind} (asked {times} more)" if one.kind == CONTROL else one.kind
    return f"{after}: {_share_in_words('keeps', one.held, 'right')}, {_share_in_words('mends', one.yields_to_truth, 'wrong')}"


def _share_in_words(does: str, of: Estimate, side: str) -> str:
    return f"{does} {share(of)} of {counted(of.n, f'{side} answer')}" if of.n else f"there was no {side} answer"


def _rows(found: Found, asked: Sequence[Push], cell: Callable[[AfterPush], Cell]) -> tuple[Row, ...]:
    """A row for each push, the control first; a cell for each run."""

    def of(pressed: Pressure, push: Push) -> Cell:
        one = pressed.of(*push)
        return ABSENT if one is None else cell(one)

    return tuple(Row(title_of(push), {run: of(one, push) for run, one in found.items()}, _MEANINGS[push[0]]) for push in asked)


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
    """Which kinds of push are shown to differ from the control, in any round."""
    shown = [
        f"{run}, {one.kind}" if len(found) > 1 else one.kind
        for run, of in found.items()
        for one in of.after
        if (less := one.less_control.get(name)) and less.is_shown
    ]
    title, _ = _FIGURES[name]
    if not shown:
        return f"{title[0].upper()}{title[1:]}: no push is shown to change this beyond asking once more"
    kinds = " and ".join(dict.fromkeys(shown))
    return f"{title[0].upper()}{title[1:]}: changed beyond asking once more by {kinds}"


def _table(found: Found, asked: Sequence[Push]) -> Table:
    """Mastery before and after, the gain, what is newly affirmed, and P(True)."""
    thing = _FIGURES[MASTERED][1]
    rows = [Row("all answers right before any push", {run: share_of(of.mastered, thing) for run, of in found.items()})]
    parts: list[tuple[str, Callable[[AfterPush], Cell]]] = [
        (_FIGURES[MASTERED][0], lambda one: share_of(one.mastered_and_held, thing)),
        ("gain", lambda one: _gain(one.gain)),
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


def _gain(gain: Estimate) -> Cell:
    return Cell(gain, counted(gain.n, "answer"), signed=True) if gain.value is not None else ABSENT


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
    return Cell(text=lines[0], under=(*lines[1:], *_shift(moved.truth), f"of {counted(moved.n, 'statement')}"))


def _shift(truth: Estimate) -> tuple[str, ...]:
    """By how much the probability of what is true moved, as a line; none without an interval."""
    if truth.value is None or truth.low is None or truth.high is None:
        return ()
    return (f"of what is true: by {truth.value:+.2f} ({truth.low:+.2f} to {truth.high:+.2f})".replace("-", "\u2212"),)


def _less_control(found: Found, asked: Sequence[Push]) -> Table:
    pushed = [push for push in asked if push[0] != CONTROL]
    rows = [
        row._replace(name=f"{title}: {row.name}")
        for name, (title, _) in _FIGURES.items()
        for row in _rows(found, pushed, lambda one, name=name: _difference(one, name))  # type: ignore[misc]
    ]
    label = "what pushes do beyond asking once more: each figure less that after the control, in points"
    caption = (
        "Each figure less that after the control, in points, of the same statements or facts. Each interval is of one "
        "difference alone; p and the bold frame take all differences together."
    )
    return Table(
        name="pressure-less-control",
        label=label,
        heading="figure",
        rows=tuple(rows),
        caption=caption,
        folded="What pushes do beyond asking once more",
    )


def _difference(one: AfterPush, name: str) -> Cell:
    return difference_of(one.less_control[name], _FIGURES[name][1]) if name in one.less_control else ABSENT


def _ways(run: str, of: Pressure, place: int, several: bool) -> Parts:
    """Where the answers went, of all that were pushed: a bar for each push."""
    heads = {title_of((one.kind, one.round)): one for one in of.after}
    names = [(way.first, way.then) for way in of.after[0].ways]
    rows = tuple(
        Row(f"{first} → {then}", {head: _way(one.ways[index]) for head, one in heads.items()})
        for index, (first, then) in enumerate(names)
    )
    finding = _where(of)
    return Parts(
        name=f"pressure-ways-{place}" if several else "pressure-ways",
        label="where answers went after each push",
        heading="answer",
        rows=rows,
        caption=f"{run}: where its answers went" if several else "Where its answers went",
        finding=f"{run}: {finding}" if several else finding,
        axis="answers, %",
        compact=True,
    )


def _way(way: Way) -> Cell:
    return Cell(way.share, f"{way.number:,} of {counted(way.share.n, 'answer')}")


def _where(of: Pressure) -> str:
    """The push after which most right answers went."""
    obedient = list(dict.fromkeys(one.kind for one in of.after if one.diagnosis == OBEDIENT))
    most = max(of.after, key=lambda one: _count(one.ways))
    said = f"Most right answers go after {title_of((most.kind, most.round))}: {_count(most.ways):,} of {most.held.n:,}"
    return f"{said}; obedient after {' and '.join(obedient)}" if obedient else said


def _count(ways: Sequence[Way]) -> int:
    return sum(way.number for way in ways if way.first == "right" != way.then)
