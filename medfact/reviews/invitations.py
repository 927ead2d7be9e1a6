"""Invitations: a signed address that expires, with which one person judges a packet of facts of their own, without an account.

Who was invited to what stands in the home of this server, beside the secret that addresses are signed with, and in its bucket
where it has one. Neither is in the database, in a run, or in what is exported. Without the secret no address can be made or
altered; without it, or its line of the list, none opens anything.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from medfact.assets import ENGLISH
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.reviews.transfer import LONGEST_NAME
from medfact.reviews.verdicts import opinions
from medfact.store import Store
from medfact.store.engine import home

SECRET_FILE, LIST_FILE = "invitations.key", "invitations.jsonl"
OWNER = "invited-"
"""How the owners begin whose verdicts were given at an invitation's address."""

MOST_FACTS, MOST_DAYS = 100, 90
"""Of a packet, and until an address expires."""

SECRET_BYTES = 32

_SIGNED = 32
"""Hexadecimal digits of a signature: 128 bits."""


@dataclass(frozen=True)
class Invitation:
    """An invitation. name: whose verdicts they will be. run: the id of the run whose facts are judged, or "" for those of a
    bundled data set. first, facts: which part of the random queue is the packet; behind its end it goes on at its beginning.
    until: seconds since 1970. language: of a data set's names and sentences; a run has its own.
    """

    id: str
    name: str
    run: str
    data: str
    first: int
    facts: int
    until: float
    language: str = ENGLISH

    @property
    def owner(self) -> str:
        """Who the verdicts belong to: the same in every browser, and no browser's."""
        return f"{OWNER}{self.id}"

    @property
    def address(self) -> str:
        """What follows the server's own address."""
        return f"review?invited={self.id}.{_signature(self)}"

    def packet(self, queue: Sequence[Fact]) -> list[Fact]:
        """Its facts, of the random queue."""
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
    name: str, run: str, data: str, facts: int, days: float, first: int | None = None, language: str = ENGLISH
) -> Invitation:
    """Makes an invitation and writes it into the list. first: by default behind all packets of the same facts, so that few
    people cover many. Raises Mistake.
    """
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME:
        raise Mistake("Say who is invited: a name, or initials.", f"It may have {LONGEST_NAME} characters.")
    if not 1 <= facts <= MOST_FACTS:
        raise Mistake(f"A packet has 1 to {MOST_FACTS} facts.", "Invite the same person again for more.")
    if not 0 < days <= MOST_DAYS:
        raise Mistake(f"An address is good for up to {MOST_DAYS} days.", "Invite the same person again then.")
    if first is None:
        same = (one for one in invitations() if (one.run, one.data, one.language) == (run, data, language))
        first = max((one.first + one.facts for one in same), default=0)
    made = Invitation(secrets.token_hex(16), name, run, data, first, facts, time.time() + days * 24 * 3600, language)
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
    if found.until <= time.time():
        raise Mistake("This invitation has expired; what you judged is kept.", "Ask for another one.")
    return found


def progress(store: Store) -> Iterator[Progress]:
    """How far each invitation has come, the oldest first."""
    for one in invitations():
        log = store.verdicts.log(owners=[one.owner])
        yield Progress(one, len(opinions(log)), log[-1].decided_at if log else "")


def _signature(one: Invitation) -> str:
    """What cannot be made without the secret; of all that an invitation says."""
    says = asdict(one)
    if one.language == ENGLISH:  # addresses from before there was a choice stay good
        del says["language"]
    told = json.dumps(says, sort_keys=True).encode()
    return hmac.new(_secret(), b"medfact invitation 1 " + told, hashlib.sha256).hexdigest()[:_SIGNED]


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
