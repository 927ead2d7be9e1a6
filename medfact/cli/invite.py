"""The command that invites a clinician to a packet of facts, and says who has finished."""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from medfact.assets import ENGLISH, language_codes
from medfact.cli import OK, say
from medfact.cli.rows import emit, kept
from medfact.datasets import bundled_names
from medfact.errors import Mistake, UnknownName
from medfact.reviews.invitations import invitations, progress
from medfact.reviews.invitations import invite as invited
from medfact.store import Store


def invite(options: argparse.Namespace) -> int:
    """Prints the address of a new invitation; without a name, how far each one has come."""
    store = kept(options.db)
    if not options.name:
        return emit(_rows(store), options.output)
    if options.dataset not in bundled_names():
        raise UnknownName("data set", options.dataset, bundled_names())
    if options.language not in language_codes():
        raise UnknownName("language", options.language, language_codes())
    run = store.run(options.on).run if options.on else ""
    if run and options.language != ENGLISH:
        raise Mistake("A run has a language already.", "Leave --language out, or invite to a data set.")
    of = "" if run else options.dataset
    made = invited(options.name, run, of, options.packet, options.days, language=options.language)
    print(f"{(options.address or _own_address()).rstrip('/')}/{made.address}")
    say("note: anybody with this address judges in that name; it opens nothing else")
    say("note: MEDFACT_INVITED_ONLY=1 medfact app --host 0.0.0.0 shows other machines nothing but such packets")
    return OK


def _rows(store: Store) -> Iterator[dict[str, Any]]:
    for one in progress(store, invitations()):
        invitation = one.invitation
        yield {
            "name": invitation.name,
            "of": f"run {invitation.run}" if invitation.run else invitation.data,
            "language": None if invitation.run else invitation.language,
            "facts": invitation.facts,
            "judged": one.judged,
            "finished": one.is_finished,
            "last_verdict_at": one.last or None,
            "expires_at": datetime.fromtimestamp(invitation.until, UTC).isoformat(timespec="seconds"),
        }


def _own_address() -> str:
    """Where other machines of the local network find the page: this machine's number there, else its own name for itself."""
    port = os.environ.get("GRADIO_SERVER_PORT") or "7860"
    with suppress(OSError):
        found = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
        for number in dict.fromkeys(str(one[4][0]) for one in found):
            if not number.startswith("127."):
                return f"http://{number}:{port}"
    return f"http://localhost:{port}"
