"""Which weights a folder holds."""

import hashlib
from pathlib import Path


def folder_revision(folder: Path) -> str:
    """A hash of a model folder's weights, settings and tokenizer: it changes whenever they do."""
    seen = hashlib.sha256()
    for file in sorted([*folder.glob("*.safetensors"), *folder.glob("*.json")]):
        seen.update(file.name.encode())
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                seen.update(block)
    return seen.hexdigest()[:20]
