"""The revision of a model on disk."""

import hashlib
from pathlib import Path


def revision_of(place: Path) -> str:
    """A hash of a model in one file, or of a model folder's weights, configuration and tokenizer."""
    digest = hashlib.sha256()
    for file in sorted([*place.glob("*.safetensors"), *place.glob("*.json")]) if place.is_dir() else [place]:
        digest.update(file.name.encode())
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:20]
