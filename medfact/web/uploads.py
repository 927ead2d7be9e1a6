"""Files that visitors have uploaded: each is its own visitor's to use, and nobody keeps many."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from medfact.errors import Mistake
from medfact.limits import is_public_server, limits
from medfact.log_setup import suppressed
from medfact.store import home

_log = logging.getLogger(__package__)

LARGEST_UPLOAD_BYTES = 50_000_000

UNFINISHED_SECONDS = 120
"""Files are removed whose upload broke off so long ago."""

MEGABYTE, HOUR_SECONDS = 1_000_000, 3_600

INDEX = "owners/kept.json"
"""Whose the files are, so that they still are after a restart."""

HASH_LENGTH = 40
"""Characters of the hash by which a file's folder is named."""

LONGEST_NAME_BYTES, LONGEST_ENDING = 150, 12
"""Of a file's name before its ending, and characters of the ending."""


def plain_name(name: str) -> str:
    """The last part of a file's name, without what a file system could stumble over; "" where nothing is left."""
    last = re.split(r"[/\\]", name)[-1]
    kept = Path(re.sub(r"[^\w .,()+@=-]", "", last).strip(" ."))
    return kept.stem.encode()[:LONGEST_NAME_BYTES].decode(errors="ignore") + kept.suffix[:LONGEST_ENDING]


@dataclass
class _Upload:
    size: int
    owners: set[str] = field(default_factory=set)
    used_at: float = field(default_factory=time.time)


class Uploads:
    """The uploaded files in a folder, and whose they are. The same file of two visitors lies in the folder once.

    Beyond a visitor's share, the visitor's own files go that were not used for longest. Beyond that of all, no more are taken.
    (A visitor uses one file at a time, and the sentences edited for it.)
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = (folder or home() / "uploads").resolve()
        self._make_folder()
        self._kept: OrderedDict[Path, _Upload] = OrderedDict()
        self._lock = threading.Lock()
        self._read_index()
        if not is_public_server():  # there housekeeping does it, once the clock can be believed
            self.clean()

    def _make_folder(self) -> None:
        """Makes the folder, also where something has removed it since."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def name_of(self, path: Path) -> str:
        """A file's path within the folder: all that a browser is told of where it lies."""
        return path.relative_to(self.folder).as_posix()

    def path_of(self, name: str, content: bytes) -> Path:
        """Where a file with this content lies, once it is put here."""
        return self.folder / hashlib.sha256(content).hexdigest()[:HASH_LENGTH] / name

    def put(self, owner: str, name: str, content: BinaryIO) -> Path:
        """Keeps a file of a visitor, in a folder that is named by its content. Raises Mistake where the files of all take too
        much, and OSError where the disk is full.
        """
        self._make_folder()
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as begun:
            try:
                shutil.copyfileobj(content, begun)
                begun.seek(0)  # which writes what is not on the disk yet
                path = self.folder / hashlib.file_digest(begun, "sha256").hexdigest()[:HASH_LENGTH] / name
                with self._lock:
                    self._check_room(owner, os.path.getsize(begun.name))
                    path.parent.mkdir(mode=0o700, exist_ok=True)
                    os.replace(begun.name, path)
                    self._note(owner, path)
            except BaseException:
                Path(begun.name).unlink(missing_ok=True)
                raise
        return path

    def check_room(self, owner: str, size: float) -> None:
        """Raises Mistake where one more file of so many bytes would be too much for all, once the visitor's own give way."""
        with self._lock:
            self._check_room(owner, size)

    def _check_room(self, owner: str, size: float) -> None:
        own, share = self._bytes_of(owner), limits().quota_for(owner).megabytes * MEGABYTE
        others = sum(upload.size for upload in self._kept.values()) - own
        if others + max(size, min(own + size, share)) > limits().in_all.uploads_megabytes * MEGABYTE:
            raise Mistake(
                "This server keeps as many files as it has room for.",
                f"Files are kept for {limits().in_all.upload_hours:,.0f} hours: try again later, or use medfact on your own "
                "machine.",
            )

    def _note(self, owner: str, path: Path) -> None:
        """Notes that a visitor has uploaded a file. Older ones of the same visitor give way."""
        upload = self._kept.setdefault(path, _Upload(path.stat().st_size))
        upload.owners.add(owner)
        self._use(path)
        self._make_room(owner)
        self._remove_unfinished()
        self._write_index()

    def _read_index(self) -> None:
        """Takes the files up again that were kept when the server ended."""
        with suppressed(_log, OSError, ValueError, AttributeError, TypeError):
            told = json.loads((self.folder / INDEX).read_text(encoding="utf-8"))
            for name, owners in told.items():
                path = self._within(str(self.folder / name))
                if path and path.parent.parent == self.folder:
                    stat = path.stat()
                    self._kept[path] = _Upload(stat.st_size, {str(owner) for owner in owners}, stat.st_mtime)

    def _write_index(self) -> None:
        """Writes down whose the files are, in place of what was written before."""
        told = {str(path.relative_to(self.folder)): sorted(upload.owners) for path, upload in self._kept.items()}
        index = self.folder / INDEX
        with suppressed(_log, OSError):  # after a restart they are asked for again
            index.parent.mkdir(mode=0o700, exist_ok=True)
            begun = index.with_suffix(".new")
            begun.touch(mode=0o600)
            begun.write_text(json.dumps(told), encoding="utf-8")
            os.replace(begun, index)

    def of(self, owner: str, path: object) -> Path:
        """The uploaded file at a path, whole or within the folder. Raises Mistake where this visitor uploaded no such file."""
        found = self._within(path)
        with self._lock:
            upload = self._kept.get(found) if found else None
            if found and upload and owner in upload.owners:
                self._use(found)
                return found
        raise Mistake("That file is not here, or not yours.", "Upload it again.")

    def has(self, owner: str, path: object) -> bool:
        """Whether a visitor has uploaded the file at a path."""
        try:
            return bool(self.of(owner, path))
        except Mistake:
            return False

    def _use(self, path: Path) -> None:
        self._kept[path].used_at = time.time()
        self._kept.move_to_end(path)

    def _within(self, path: object) -> Path | None:
        """The real path of a file in the folder; None of anything else."""
        if not isinstance(path, str) or "\0" in path:
            return None
        with suppress(OSError, RuntimeError):
            found = (self.folder / path).resolve()
            return found if found.is_relative_to(self.folder) and found.is_file() else None
        return None

    def _make_room(self, owner: str) -> None:
        own, share = [path for path, upload in self._kept.items() if owner in upload.owners], limits().quota_for(owner)
        while own and (len(own) > share.files or sum(self._kept[path].size for path in own) > share.megabytes * MEGABYTE):
            self._let_go(own.pop(0), {owner})

    def bytes_of(self, *owners: str) -> int:
        """Bytes of the files of some owners."""
        with self._lock:
            return self._bytes_of(*owners)

    def _bytes_of(self, *owners: str) -> int:
        return sum(upload.size for upload in self._kept.values() if not upload.owners.isdisjoint(owners))

    @property
    def kept_bytes(self) -> int:
        """Bytes of all files together."""
        with self._lock:
            return sum(upload.size for upload in self._kept.values())

    def clean(self) -> None:
        """Removes files that are too old, and those whose upload broke off."""
        self._make_folder()
        with self._lock:
            self._remove_unfinished()
            before = time.time() - limits().in_all.upload_hours * HOUR_SECONDS
            for path in [path for path, upload in self._kept.items() if upload.used_at < before]:
                self._let_go(path, self._kept[path].owners)
            self._remove_forgotten(before)

    def _let_go(self, path: Path, owners: set[str]) -> None:
        upload = self._kept[path]
        upload.owners = upload.owners - owners
        if not upload.owners:
            del self._kept[path]
            with suppress(OSError):
                path.unlink()
                if path.parent != self.folder:
                    path.parent.rmdir()

    def _remove_unfinished(self) -> None:
        before = time.time() - UNFINISHED_SECONDS
        for path in self.folder.glob("tmp*"):
            with suppress(OSError):
                if path not in self._kept and path.is_file() and path.stat().st_mtime < before:
                    path.unlink()

    def _remove_forgotten(self, before: float) -> None:
        """Removes empty folders, and files older than a time that are nobody's."""
        for path in sorted(self.folder.rglob("*"), reverse=True):  # what lies in a folder comes before it
            with suppress(OSError):  # a folder is not empty
                if path.is_dir():
                    path.rmdir()
                elif path not in self._kept and path != self.folder / INDEX and path.stat().st_mtime < before:
                    path.unlink()
