"""The revision of a model on disk."""

import hashlib
from collections.abc import Sequence
from pathlib import Path


def folder_revision(folder: Path) -> str:
    """A hash of a model folder's weights, configuration and tokenizer."""
    return _revision(sorted([*folder.glob("*.safetensors"), *folder.glob("*.json")]))


def file_revision(file: Path) -> str:
    """A hash of a model in one file."""
    return _revision([file])


def _revision(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode())
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:20]
