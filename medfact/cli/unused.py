"""Typed options that would change nothing. They are refused: whoever typed one believes that it counts."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from medfact.errors import Mistake
from medfact.setting import UMLS, Need, settings_in
from medfact.spec import RunSpec


def _reads_umls(spec: RunSpec) -> bool:
    """Whether the facts come from a UMLS folder; of what is not there, whoever reads it says so."""
    from medfact.datasets.umls import is_umls  # only a command that reads facts needs it

    return spec.facts is not None and (not Path(spec.facts).exists() or is_umls(Path(spec.facts)))


_OF_GROUP = {UMLS: Need(_reads_umls, "{flag} is for a UMLS folder, and none is given.", "Leave it out, or add --facts FOLDER.")}
"""What all options of a group need."""


def check_used(typed: Collection[str], spec: RunSpec) -> None:
    """Raises Mistake for an option without a use beside the others. typed: names of the spec's fields that were typed."""
    for name, told in settings_in(spec).items():
        need = told.needs or _OF_GROUP.get(told.group)
        if name in typed and need and not need.everywhere and not need.is_met(spec):
            raise Mistake(need.problem.format(flag=told.flag), need.hint)
