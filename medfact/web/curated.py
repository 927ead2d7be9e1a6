"""Which curations a visitor may open: on a public server their own alone, elsewhere all, as with reviews."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from medfact.curation.checks import fact_rows, progress_of, settled, standing
from medfact.errors import Mistake
from medfact.limits import is_public_server
from medfact.store import Curation, Store


def may_open(curation: Curation, owners: Sequence[str]) -> bool:
    """Whether somebody who is these owners may open it: its sentences are from somebody's own documents."""
    return curation.owner in owners or not is_public_server()


def opened(store: Store, curation: str, owners: Sequence[str]) -> Curation:
    """The curation of a whole id. Raises Mistake, which names no other, where there is none for these owners."""
    found = next((one for one in store.curations.listed() if one.curation == curation and may_open(one, owners)), None)
    if found is None:
        raise Mistake("There is no such set of proposals.", "It may have been erased.")
    return found


def rows_curated(store: Store, curation: str, rule: str, owners: Sequence[str]) -> list[dict[str, Any]]:
    """The facts file of a curation, once all have finished: before that it would say what others decided. Raises Mistake."""
    found = opened(store, curation, owners)
    said = standing(store.curations.log(found.curation))
    if not progress_of(found, said).is_finished:
        raise Mistake("Not all reviewers have finished.", "Facts can be exported once they have.")
    rows = list(fact_rows(settled(store.curations.candidates(found.curation), said, rule, found.reviewers)))
    if not rows:
        raise Mistake("Nothing was accepted.", "")
    return rows
