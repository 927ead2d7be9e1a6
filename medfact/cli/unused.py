"""Typed options that would change nothing. They are refused: whoever typed one believes that it counts."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from medfact.errors import Mistake
from medfact.spec import NO_RETRIEVAL, RunSpec

_OF_UMLS = {"rela": "--rela", "sab": "--sab", "language": "--language"}
_OF_RETRIEVAL = {
    "passages": "--passages",
    "corpus_column": "--corpus-column",
    "encoder": "--encoder",
    "encoder_url": "--encoder-url",
}


def check_used(typed: Collection[str], spec: RunSpec) -> None:
    """Raises Mistake for an option without a use beside the others. typed: names of the spec's fields that were typed."""
    from medfact.datasets.umls import is_umls  # only a command that reads facts needs it
    from medfact.prototypes import ORIGIN

    if "columns" in typed and spec.facts is None:
        raise Mistake("--column names a column of a file of facts, and none is given.", "Add --facts FILE.")
    file = Path(spec.facts) if spec.facts else None
    for name in _typed(_OF_UMLS, typed):
        if file is None or (file.exists() and not is_umls(file)):
            raise Mistake(f"{name} is for a UMLS folder, and none is given.", "Leave it out, or add --facts FOLDER.")
    if "templates" in typed and spec.pool != ORIGIN:
        raise Mistake("--templates gives the sentences of the pool `origin`, which is not chosen.", f"Add --pool {ORIGIN}.")
    for name in _typed(_OF_RETRIEVAL, typed):
        if spec.retrieval == NO_RETRIEVAL:
            raise Mistake(f"{name} is for retrieval, and there is none.", "Leave it out, or add --retrieval sparse or dense.")


def _typed(flags: dict[str, str], typed: Collection[str]) -> list[str]:
    return [flag for field, flag in flags.items() if field in typed]
