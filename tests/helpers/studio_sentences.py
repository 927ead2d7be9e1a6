"""Sentences that are typed in the studio."""

from __future__ import annotations

from medfact.reviews.studio import (
    FORMS,
)

NEW = dict(
    zip(
        FORMS,
        (
            "[Y] is used to relieve [X].",
            "[X] is relieved with [Y].",
            "In patients at risk, [Y] is used to relieve [X].",
            "[X] is one of the conditions for which [Y] is used as relief.",
            "[Y] is not used to relieve [X].",
            "[X] is not relieved with [Y].",
            "In patients at risk, [Y] is not used to relieve [X].",
            "[X] is not one of the conditions for which [Y] is used as relief.",
        ),
        strict=True,
    )
)


RELATION = "is relieved by"
