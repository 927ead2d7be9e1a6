"""What runs beside each other show, all of it: for the command line, the report and the notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medfact.results.compare import pairs_of, questions_of, races_of
from medfact.results.contrasts import across_runs
from medfact.results.evidence import changes
from medfact.results.over_models import over_models
from medfact.results.sections import Beside
from medfact.results.sides import Side
from medfact.store import Store


def beside_of(store: Store, sides: Sequence[Side], names: Mapping[str, str]) -> Beside:
    """What runs beside each other show. names: run → what to call it."""
    return Beside(
        names=names,
        pairs=pairs_of(sides),
        races=list(races_of(sides)),
        across=across_runs(sides),
        over_models=over_models(sides, store),
        changes=changes(sides),
        questions=questions_of(sides),
    )
