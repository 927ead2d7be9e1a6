"""Who is blind to a label: whoever was shown neither that one nor those of its pair, and has not judged or played the fact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from medfact.facts import Fact
from medfact.store import Store


def is_blind(store: Store, fact: Fact, owners: Sequence[str]) -> bool:
    """Whether a person, who may be several owners, is blind to the label of a fact."""
    return not store.verdicts.has_seen(_pair(fact), owners) and not store.verdicts.log([fact.fact_id], owners)


def show_labels(store: Store, facts: Iterable[Fact]) -> None:
    """Records that the store's owner is shown the labels of these facts. Called before they are."""
    store.verdicts.record_seen(map(_pair, facts))


def _pair(fact: Fact) -> str:
    return fact.negative_of or fact.fact_id
