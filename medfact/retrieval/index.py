"""Indices: built once for a corpus, kept in a folder under the hash of what they hold, and opened again after that."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from medfact.errors import Mistake
from medfact.facts import digest
from medfact.models.encoder import Encoder
from medfact.retrieval.dense import Dense
from medfact.retrieval.sparse import Sparse

SPARSE, DENSE = "sparse", "dense"
RETRIEVERS = {SPARSE: "by shared words (BM25)", DENSE: "by meaning (sentence vectors)"}
"""Kind → what it goes by."""

KEPT = 8
"""Indices that are kept; those that were not used for longest go."""

_FORMAT = "1"
"""Grows when older indices could not be read, or rank otherwise."""

_VECTORS = "vectors.npy"


Retriever = Sparse | Dense
"""What ranks the passages of its corpus."""


def open_sparse(passages: Sequence[str], folder: Path) -> Sparse:
    """The BM25 index of a corpus, built if it is not in the folder. Raises Mistake where there is no passage."""
    _check(passages)
    place = folder / digest(_FORMAT, SPARSE, digest(*passages))
    if not place.is_dir():
        _keep(place, lambda made: Sparse.build(passages).save(made))
    _used(place)
    return Sparse.open(place)


def open_dense(passages: Sequence[str], folder: Path, encoder: Encoder, tell: Callable[[str], None]) -> Dense:
    """The vectors of a corpus, made if they are not in the folder. tell: gets the progress as sentences.

    Raises Mistake where there is no passage, ModelError where the encoder fails.
    """
    _check(passages)
    place = folder / digest(_FORMAT, DENSE, encoder.name, encoder.revision, digest(*passages))
    if not place.is_dir():
        _keep(place, lambda made: Dense.build(passages, encoder, made / _VECTORS, tell))
    _used(place)
    return Dense.open(place / _VECTORS, encoder)


def _check(passages: Sequence[str]) -> None:
    if not passages:
        raise Mistake("The corpus holds no passage.", "Choose documents with text in them.")


def _keep(place: Path, build: Callable[[Path], object]) -> None:
    """Builds an index beside its place and moves it there whole, so that half of one is never opened."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=place.parent, prefix="building-"))
    try:
        build(made)
        with contextlib.suppress(OSError):  # another process was first
            os.replace(made, place)
    except OSError as error:
        raise Mistake(f"The index cannot be written: {error.strerror}.", "Make room on the disk.") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
    _make_room(place)


def _used(place: Path) -> None:
    with contextlib.suppress(OSError):
        os.utime(place)


def _make_room(newest: Path) -> None:
    """Removes the indices that were not used for longest. One that is open can still be read."""
    with contextlib.suppress(OSError):
        kept = sorted((path for path in newest.parent.iterdir() if path != newest), key=lambda path: -path.stat().st_mtime)
        for path in kept[KEPT - 1 :]:
            shutil.rmtree(path, ignore_errors=True)
