"""Whether calls fail for the log-probabilities that they ask for, at a service that does not say why it refuses them."""

from __future__ import annotations

import asyncio

from medfact.models.services.errors import Action, CallFailure

ERRORS_TO_DOUBT = 8
"""Unexplained errors, not refusals, after which log-probabilities may be the cause."""

PROOFS, VAIN_TRIES = 2, 3
"""Calls that succeed only without log-probabilities, after which none asks for them; and the most tries in vain."""


class LogprobDoubt:
    """What speaks for it that a service minds log-probabilities, before it has answered a call that asks for them.

    turn: for one try without them after the other. proofs: tries that succeeded.
    """

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.proofs = 0
        self._errors = self._vain = 0

    def grows(self, failure: CallFailure) -> bool:
        """Notes a failure; whether the same call is worth a try without log-probabilities."""
        self._errors += failure.unexplained and failure.action is Action.RETRY
        enough = failure.action is not Action.RETRY or self._errors >= ERRORS_TO_DOUBT
        return failure.unexplained and enough and not self.is_settled

    @property
    def is_settled(self) -> bool:
        """Whether enough calls were tried in vain."""
        return self._vain >= VAIN_TRIES

    def note_try(self, succeeded: bool) -> bool:
        """Notes a try without log-probabilities; whether they are proven to be the cause now."""
        self.proofs += succeeded
        self._vain += not succeeded
        return self.proofs >= PROOFS
