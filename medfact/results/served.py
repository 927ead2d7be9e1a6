"""What answered a run: what a service called its model, with the fingerprint of its configuration, or the weights that were
loaded here. A service may serve another model under the same name from one day to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from medfact.models import provider_of
from medfact.store import Run

LONGEST_NAME = 60
"""Characters of what a service calls a model or a configuration, which may be anything."""

MOST_NAMES = 4
"""Names that are said; a service on many machines may have a fingerprint for each."""


class Served(NamedTuple):
    """models: names that the service gave; fingerprints: of its configurations; both sorted, and empty where it gave none.
    revision: a hash of the weights of a model on this machine, "" where it is not known.
    """

    models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    revision: str = ""


_NAMED = {"models": "served as", "fingerprints": "system fingerprint", "revision": "weights"}


def served_of(run: Run, bill: Mapping[str, Any] | None) -> Served:
    """What answered a run. bill: that of a service (`bill_of`), None for a model on this machine."""
    if bill is not None:
        return Served(tuple(bill["models"]), tuple(bill["fingerprints"]))
    return Served(revision="" if provider_of(run.model).is_remote else run.model_revision or "")


def served_in_words(served: Served) -> str:
    """ "served as gpt-4o-2024-08-06, system fingerprint fp_1"; "" where nothing is known."""
    return ", ".join(f"{_NAMED[name]} {said}" for name, said in _said(served).items())


def changes_in_words(before: Served, now: Served) -> str:
    """In what two differ: "served as b, before as a"; "" where they do not, or one of them is not known."""
    was, is_ = _said(before), _said(now)
    differs = (name for name in Served._fields if name in was and name in is_ and getattr(before, name) != getattr(now, name))
    return "; ".join(f"{_NAMED[name]} {is_[name]}, before {'as ' * (name == 'models')}{was[name]}" for name in differs)


def _said(served: Served) -> dict[str, str]:
    found = {name: (value,) if isinstance(value, str) else value for name, value in served._asdict().items()}
    return {name: _listed(values) for name, values in found.items() if any(values)}


def _listed(values: tuple[str, ...]) -> str:
    more = f" and {len(values) - MOST_NAMES:,} more" if len(values) > MOST_NAMES else ""
    return " and ".join(_shortened(one) for one in values[:MOST_NAMES]) + more


def _shortened(name: str) -> str:
    """A name without its middle, where it is long: dates and versions stand at the end."""
    half = (LONGEST_NAME - 1) // 2
    return name if len(name) <= LONGEST_NAME else f"{name[:half]}…{name[-half:]}"
