"""Copies of the database in a folder that outlives this machine's disk, such as a Storage Bucket that a Space has mounted.

SQLite must not lie in such a folder: a mounted bucket has no locks, takes files from their beginning to their end alone, and
of two who write one file the last wins (the documentation of hf-mount, "Consistency model"). So the database stays on the
local disk, and whole copies of it go to the folder, each under a name of its own that says when it was made, by which server,
and what its content hashes to. No copy is ever written over: a torn one is told by its hash, and the one before is still there.
Small files beside the database, such as the invitations and their key, go there as one file under a name of the same kind.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import secrets
import sqlite3
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, NamedTuple

from medfact.errors import Mistake
from medfact.store.engine import bucket, default_url, file_of

_log = logging.getLogger(__package__)

KEPT_COPIES = 2
"""Copies of its own that a server leaves: the folder may still be writing the last one when this server ends. After something
was erased for good, it leaves the one that is without it."""

TORN_FOR_GOOD = timedelta(days=1)
"""A torn copy of this age is not being written any more."""

PIECE_BYTES = 1 << 20

DATABASE, BESIDE = "db", "json"
"""Endings of a copy of the database, and of one of the files beside it."""

_NAME = re.compile(rf"medfact-(\d{{8}}T\d{{12}})-([0-9a-f]{{8}})-([0-9a-f]{{32}})\.({DATABASE}|{BESIDE})")
_TIME = "%Y%m%dT%H%M%S%f"


class Copy(NamedTuple):
    """A copy in the folder. server: the id of the one that made it. kind: its ending."""

    name: str
    at: datetime
    server: str
    digest: str
    kind: str


class Copies:
    """The copies of one database in a folder, and of the files beside it.

    beside: those files; where the first is missing, all are taken from the newest whole copy.
    """

    def __init__(self, folder: Path, file: Path, beside: Sequence[Path] = ()) -> None:
        self.folder, self.file, self.beside = folder, file, beside
        self.server = self._server()
        self._seen: set[str] = set()
        self._removable: set[str] = set()
        self._told: set[str] = set()

    def _server(self) -> str:
        """The id under which this database is copied: as long as its disk is not lost, the same after a restart."""
        beside = self.file.with_name(f"{self.file.name}.server")
        with suppress(OSError):
            if re.fullmatch(r"[0-9a-f]{8}", found := beside.read_text(encoding="ascii")):
                return found
        made = secrets.token_hex(4)
        beside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside.write_text(made, encoding="ascii")
        return made

    def there(self, kind: str = DATABASE) -> list[Copy]:
        """The copies of a kind, the newest first, whole or torn."""
        names = (found for path in self.folder.iterdir() if (found := _NAME.fullmatch(path.name)))
        made = (Copy(one[0], datetime.strptime(one[1], _TIME).replace(tzinfo=UTC), *one.group(2, 3, 4)) for one in names)
        return sorted((copy for copy in made if copy.kind == kind), key=lambda copy: (copy.at, copy.name), reverse=True)

    def read_in(self) -> None:
        """Takes the newest whole copy where there is no database yet. All that is in the folder stays as it is."""
        self._read_in_beside()
        copies = self.there()
        self._seen = {copy.name for copy in copies}
        if self.file.exists():
            return
        torn: list[Copy] = []
        for copy in copies:
            if self._take(copy):
                older = [one for one in copies if one.server == copy.server and one.at <= copy.at]
                self._removable |= {one.name for one in older} | _long_torn(torn)
                self._tell_of_others(one for one in copies if one.server != copy.server)
                return
            torn.append(copy)
        if torn:
            _log.warning(
                "None of the %d copies in %s is whole. They stay there; the database begins empty.", len(torn), self.folder
            )

    def _read_in_beside(self) -> None:
        if not self.beside or self.beside[0].exists():
            return
        for copy in (copies := self.there(BESIDE)):
            content = (self.folder / copy.name).read_bytes()
            if _digest(content) != copy.digest:
                continue
            texts = json.loads(content)
            for file in reversed(self.beside):  # the first one last: it says that all are here
                if file.name in texts:
                    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    file.touch(mode=0o600)
                    file.write_bytes(bytes.fromhex(texts[file.name]))
            self._removable |= {one.name for one in copies if one.server == copy.server and one.at <= copy.at}
            return

    def _take(self, copy: Copy) -> bool:
        """Puts a copy where the database belongs, if it is whole."""
        with tempfile.TemporaryDirectory(dir=self.file.parent) as beside:
            whole = Path(beside) / "read.db"
            with (self.folder / copy.name).open("rb") as source, whole.open("wb") as target:
                if _copied(source, target) != copy.digest:
                    return False
            whole.chmod(0o600)
            whole.replace(self.file)
        return True

    def write_out(self, alone: bool = False) -> str:
        """Writes a copy of the database as it is now, and one of the files beside it if they differ; returns the database's
        name. alone: older copies of this server are removed, all of them. Raises OSError or sqlite3.Error where it cannot.
        """
        self._write_out_beside()
        with tempfile.TemporaryDirectory(dir=self.file.parent) as beside:
            whole = Path(beside) / "written.db"
            with closing(sqlite3.connect(self.file)) as database:
                database.execute("VACUUM INTO ?", (str(whole),))  # without what was erased
            with whole.open("rb") as source:
                digest = hashlib.file_digest(source, "sha256").hexdigest()[:32]
            name = self._new_name(digest, DATABASE)
            self._put(whole, self.folder / name)
        self._seen.add(name)
        self._tidy(1 if alone else KEPT_COPIES)
        return name

    def _write_out_beside(self) -> None:
        texts = {file.name: file.read_bytes().hex() for file in self.beside if file.exists()}
        content = json.dumps(texts, sort_keys=True).encode()
        copies = [copy for copy in self.there(BESIDE) if copy.server == self.server]
        if texts and (not copies or copies[0].digest != _digest(content)):
            name = self._new_name(_digest(content), BESIDE)
            with tempfile.NamedTemporaryFile(dir=self.file.parent) as whole:
                whole.write(content)
                whole.flush()
                self._put(Path(whole.name), self.folder / name)
            for copy in copies[KEPT_COPIES - 1 :]:
                (self.folder / copy.name).unlink(missing_ok=True)

    def _new_name(self, digest: str, kind: str) -> str:
        return f"medfact-{datetime.now(UTC).strftime(_TIME)}-{self.server}-{digest}.{kind}"

    def version_beside(self) -> tuple[int, ...]:
        """Numbers that change when one of the files beside the database does."""
        return tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in self.beside)

    def _put(self, whole: Path, place: Path) -> None:
        """Writes a copy once, from its beginning to its end, and reads it back."""
        try:
            with whole.open("rb") as source, place.open("xb") as target:
                digest = _copied(source, target)
                target.flush()
                os.fsync(target.fileno())
            with place.open("rb") as written:
                if hashlib.file_digest(written, "sha256").hexdigest()[:32] != digest:
                    raise OSError(f"what was written to {place.name} cannot be read back")
        except OSError:
            with suppress(OSError):
                place.unlink()
            raise

    def _tidy(self, kept: int) -> None:
        """Removes what the copy just written replaces: older ones of this server, and those that its database came from."""
        copies = self.there()
        own = [copy.name for copy in copies if copy.server == self.server]
        self._removable |= set(own[kept:])
        for name in self._removable:
            with suppress(FileNotFoundError):
                (self.folder / name).unlink()
        self._removable = set()
        self._tell_of_others(copy for copy in copies if copy.name not in self._seen and copy.server != self.server)

    def _tell_of_others(self, copies: Iterable[Copy]) -> None:
        """Says, once of each, which other servers write to the same folder."""
        for copy in copies:
            if copy.server not in self._told:
                self._told.add(copy.server)
                _log.warning(
                    "Another server (%s) writes its database to %s, too. Its copies stay, and nothing of the two is put "
                    "together: the newest copy is read when a server starts. Give each server its own bucket.",
                    copy.server,
                    self.folder,
                )


def copies_of(url: str | None, beside: Sequence[Path] = ()) -> Copies | None:
    """The copies of the database at a URL and of files beside it; None where no folder for them is named.

    Raises Mistake where it cannot be used.
    """
    folder, file = bucket(), file_of(url or default_url())
    if os.environ.get("SPACE_ID") and file is not None:
        _check_is_local(file)
    if folder is None or file is None:
        return None
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK):
        raise Mistake(
            f"MEDFACT_BUCKET names {folder}, which is no folder that can be written.", "Mount the bucket there, or unset it."
        )
    return Copies(folder, file.absolute(), beside)


def _check_is_local(file: Path) -> None:
    """Raises Mistake where SQLite's file would lie on a mounted bucket."""
    if (kind := _file_system(file)).startswith(("fuse", "nfs")) and "overlay" not in kind:
        raise Mistake(
            f"The database would lie in {file.parent}, a mounted folder ({kind}) where SQLite is not safe.",
            "Name that folder in MEDFACT_BUCKET, and unset MEDFACT_HOME.",
        )


def _file_system(file: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The kind of the file system where a file is or will be; "" where this machine does not tell."""
    with suppress(OSError, ValueError):
        rows = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
        whole = file.absolute().resolve()
        holding = [(len(row[1]), row[2]) for row in rows if len(row) > 2 and whole.is_relative_to(row[1])]
        return max(holding, key=lambda one: one[0])[1]
    return ""


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _copied(source: BinaryIO, target: BinaryIO) -> str:
    """Copies from the beginning to the end, in pieces; returns the hash of what went over."""
    digest = hashlib.sha256()
    while piece := source.read(PIECE_BYTES):
        digest.update(piece)
        target.write(piece)
    return digest.hexdigest()[:32]


def _long_torn(copies: Iterable[Copy]) -> set[str]:
    return {copy.name for copy in copies if copy.at < datetime.now(UTC) - TORN_FOR_GOOD}
