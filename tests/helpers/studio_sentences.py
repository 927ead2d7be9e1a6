"""Sentences that are typed in the studio."""

from __future__ import annotations

from medfact.reviews.studio import (
    FORMS,
)

NEW = dict(
    zip(
        FORMS,
        (
            "[Y] is used to prevent [X].",
            "[X] is prevented with [Y].",
            "In patients at risk, [Y] is used to prevent [X].",
            "[X] is one of the conditions for which [Y] is used as prevention.",
            "[Y] is not used to prevent [X].",
            "[X] is not prevented with [Y].",
            "In patients at risk, [Y] is not used to prevent [X].",
            "[X] is not one of the conditions for which [Y] is used as prevention.",
        ),
        strict=True,
    )
)


RELATION = "is prevented by"
