"""What retrieved passages do to a model's answers: how its scores change, and which answers flip (MKJ, Section 4.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medfact.metrics.paired import Paired, by_truth, matched_statements, probability_changes
from medfact.results.recall import setting_of
from medfact.results.report import Side
from medfact.spec import COMPARED, NO_RETRIEVAL
from medfact.store import Asked, Run


@dataclass(frozen=True)
class Change:
    """What passages change for one model, over statements that both runs answered.

    without, with_: the runs. metrics: of average_accuracy (MKJ's Acc where every true fact has as many false ones),
    positive_accuracy and negative_accuracy: with less without. probabilities: the same of P(True) (`probability_changes`);
    {} where one of the two has none. helped, harmed: positions, in the run with passages, of the
    statements that are right only with them, or only without.
    """

    without: str
    with_: str
    model: str
    setting: str
    metrics: Mapping[str, Paired]
    probabilities: Mapping[str, Paired]
    helped: tuple[int, ...]
    harmed: tuple[int, ...]


def is_without(run: Run, with_: Run) -> bool:
    """Whether a run differs from one with passages in these alone."""
    ours, theirs = run.spec, with_.spec
    names = ("model", "protocol", "seed", "shot_seed", "demonstrations", *COMPARED)
    return (
        ours.retrieval == NO_RETRIEVAL != theirs.retrieval
        and all(getattr(ours, name) == getattr(theirs, name) for name in names)
        and (run.dataset_fingerprint, run.pool, run.shots) == (with_.dataset_fingerprint, with_.pool, with_.shots)
    )


def changes(sides: Sequence[Side]) -> list[Change]:
    """The change for each run with passages that stands beside one of the same model without them."""
    couples = [
        (without, with_)
        for with_ in sides
        if (without := next((side for side in sides if is_without(side.run, with_.run)), None))
    ]
    return [change(*couple, len(couples)) for couple in couples]


def change(without: Side, with_: Side, family: int = 1) -> Change:
    """The change from a run without passages to one with them. family: how many changes are looked at together."""
    ours, theirs = with_.board.records(), without.board.records()
    rows, others = matched_statements(ours, theirs, with_.identity, without.identity)
    moved = probability_changes(ours, theirs, with_.identity, without.identity, family)
    right, right_before = ours.right[rows], theirs.right[others]
    return Change(
        without=without.run.run,
        with_=with_.run.run,
        model=with_.run.model,
        setting=setting_of(with_.run),
        metrics=by_truth(ours, theirs, with_.identity, without.identity, family),
        probabilities={name: one for name, one in moved.items() if one.n},
        helped=tuple(sorted(rows[right & ~right_before].tolist())),
        harmed=tuple(sorted(rows[~right & right_before].tolist())),
    )


def blamed(item: Asked) -> int | None:
    """The place of the passage that a flip is put down to: the one that states the fact, else the best; None without any.

    No experiment shows that it was this one: it is the passage to look at first.
    """
    passages = item.passages or ()
    return next((place for place, passage in enumerate(passages) if passage.gold), 0) if passages else None
