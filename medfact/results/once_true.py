"""What a run says of facts that were true once, and are false now."""

from __future__ import annotations

import numpy as np

from medfact.metrics.dropped import Dropped, dropped
from medfact.metrics.records import Records
from medfact.store import Run, Store


def dropped_of(run: Run, records: Records, store: Store) -> Dropped | None:
    """What a run says of the facts that its data call false, and true until a date; None where it asks none."""
    numbers = store.answers.once_true(run.run)
    if not numbers:
        return None
    return dropped(records.as_committed, np.isin(records.fact // run.spec.shot_draws, numbers))
