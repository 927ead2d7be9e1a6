"""The revision of a model folder."""

import hashlib
from pathlib import Path


def folder_revision(folder: Path) -> str:
    """A hash of a model folder's weights, configuration and tokenizer."""
    digest = hashlib.sha256()
    for file in sorted([*folder.glob("*.safetensors"), *folder.glob("*.json")]):
        digest.update(file.name.encode())
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:20]
