"""Invitations: signed addresses that expire, each of which opens a packet of facts to one person without an account.

Who was invited to what stands in the home of this server, beside the secret that addresses are signed with, and in its bucket
where it has one. Neither is in the database, in a run, or in what is exported. Without the secret no address can be made or
altered; without it, or its line of the list, none opens anything.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import secrets
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from medfact.assets import ENGLISH
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.reviews.transfer import LONGEST_NAME
from medfact.reviews.verdicts import opinions
from medfact.store import Store
from medfact.store.engine import home

_log = logging.getLogger(__package__)

SECRET_FILE, LIST_FILE = "invitations.key", "invitations.jsonl"
OWNERS = OWNER, ASKED_OWNER = "invited-", "asked-"
"""Prefixes of the owners of verdicts that were given at an invitation's address: of the host's, and of a visitor's."""

MOST_FACTS, MOST_DAYS = 100, 90
"""Of a packet, and until an address expires."""

ASKED_DAYS, MOST_OPEN = 14, 20
"""Days until a colleague's link expires, and open links by the visitors of one network address of a public server."""

SECRET_BYTES = 32

_SIGNED = 32
"""Hexadecimal digits of a signature: 128 bits."""


@dataclass(frozen=True)
class Invitation:
    """An invitation to judge a packet of facts.

    name: of the reviewer; "" where the invited person types it. run: ids of the runs whose facts are judged, with commas; ""
    for those of a bundled data set. first, facts: which part of the random queue is the packet; behind its end it goes on at
    its beginning. until: seconds since 1970. language: of a data set's names and sentences; a run has its own. by: the owner
    of the visitor who asked a colleague; "" for the host's command line. chosen: ids of the facts where they were chosen;
    disputed: how many of them are in dispute.
    """

    id: str
    name: str
    run: str
    data: str
    first: int
    facts: int
    until: float
    language: str = ENGLISH
    by: str = ""
    chosen: Sequence[str] = ()
    disputed: int = 0

    @property
    def owner(self) -> str:
        """Owner of the verdicts: the same in every browser, and no browser's."""
        return f"{ASKED_OWNER if self.by else OWNER}{self.id}"

    @property
    def address(self) -> str:
        """Path and query, to follow the server's own address."""
        return f"review?invited={self.id}.{_signature(self)}"

    @property
    def is_open(self) -> bool:
        """Returns False once it has expired."""
        return self.until > time.time()

    def packet(self, queue: Sequence[Fact]) -> list[Fact]:
        """The facts of the packet, in the order of the random queue."""
        if self.chosen:
            return [fact for fact in queue if fact.fact_id in self.chosen]
        if not queue:
            return []
        first = self.first % len(queue)
        return [*queue[first:], *queue[:first]][: self.facts]


@dataclass(frozen=True)
class Progress:
    """How far an invitation has come. judged: facts. last: when the last verdict was given, "" for none."""

    invitation: Invitation
    judged: int
    last: str

    @property
    def is_finished(self) -> bool:
        return self.judged >= self.invitation.facts


def invite(
    name: str, run: str, data: str, facts: int, days: float, first: int | None = None, language: str = ENGLISH, **chosen: Any
) -> Invitation:
    """Makes an invitation and writes it into the list. Raises Mistake.

    first: by default behind all packets of the same facts, so that few people cover many. chosen: the fields of an invitation
    to chosen facts; a colleague may type the name.
    """
    name = " ".join(name.split())
    if not (name or chosen) or len(name) > LONGEST_NAME:
        raise Mistake("Say who is invited: a name, or initials.", f"It may have {LONGEST_NAME} characters.")
    if not 1 <= facts <= MOST_FACTS:
        raise Mistake(f"A packet has 1 to {MOST_FACTS} facts.", "Invite the same person again for more.")
    if not 0 < days <= MOST_DAYS:
        raise Mistake(f"An address is good for up to {MOST_DAYS} days.", "Invite the same person again then.")
    if first is None:
        listed = (one for one in invitations() if (one.run, one.data, one.language) == (run, data, language))
        first = max((one.first + one.facts for one in listed if not one.chosen), default=0)
    made = Invitation(secrets.token_hex(16), name, run, data, first, facts, time.time() + days * 24 * 3600, language, **chosen)
    _secret()
    line = json.dumps(asdict(made)).encode() + b"\n"
    with _opened(home() / LIST_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as file:
        os.write(file, line)  # in one piece: two who invite at once do not mix
    return made


def invitation_files() -> list[Path]:
    """The files without which no address opens: the secret, and the list."""
    return [home() / SECRET_FILE, home() / LIST_FILE]


def invitations() -> list[Invitation]:
    """All that were made here, the oldest first. A line that cannot be read is passed over."""
    try:
        lines = (home() / LIST_FILE).read_text(encoding="utf-8").splitlines()
    except OSError:
        _log.debug("The list of invitations cannot be read.", exc_info=True)
        return []
    found = []
    for line in lines:
        with suppress(ValueError, TypeError):
            found.append(Invitation(**json.loads(line)))
    return found


def invitation_of(token: str) -> Invitation:
    """The invitation of an address. Raises Mistake where it was not made here, or has expired."""
    name, _, signature = token.partition(".")
    found = next((one for one in invitations() if secrets.compare_digest(one.id.encode(), name.encode())), None)
    signed = found is not None and hmac.compare_digest(_signature(found).encode(), signature.encode())
    if found is None or not signed:
        raise Mistake("This is no invitation of this server.", "Open the whole address that you were given.")
    if not found.is_open:
        raise Mistake("This invitation has expired; what you judged is kept.", "Ask for another one.")
    return found


def invited_by(owners: Container[str]) -> list[Invitation]:
    """The invitations that visitors made, the oldest first."""
    return [invitation for invitation in invitations() if invitation.by and invitation.by in owners]


def progress(store: Store, of: Iterable[Invitation]) -> Iterator[Progress]:
    """Progress of each invitation, in their order."""
    for one in of:
        log = store.verdicts.log(owners=[one.owner])
        yield Progress(one, len(opinions(log)), log[-1].decided_at if log else "")


def _signature(one: Invitation) -> str:
    """Signature of all fields of an invitation, which nobody can make without the secret."""
    signed = b"medfact invitation 1 " + json.dumps(asdict(one), sort_keys=True).encode()
    return hmac.new(_secret(), signed, hashlib.sha256).hexdigest()[:_SIGNED]


@contextmanager
def _opened(file: Path, flags: int) -> Iterator[int]:
    """A file that this account alone may read."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, flags, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _secret() -> bytes:
    """The secret of this server, which it makes when it needs one first; readable by its own account alone."""
    file = home() / SECRET_FILE
    if not file.exists():
        made = file.with_name(f"{SECRET_FILE}.{secrets.token_hex(4)}")
        with _opened(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as descriptor:
            os.write(descriptor, secrets.token_bytes(SECRET_BYTES))
        with suppress(FileExistsError):
            os.link(made, file)  # whole, or not at all: nobody reads half of it, and whoever comes second takes the first one's
        made.unlink()
    secret = file.read_bytes()
    if len(secret) < SECRET_BYTES:
        raise Mistake(f"{file} is no secret of this server.", "Delete it: another one is made, and addresses given before end.")
    return secret
