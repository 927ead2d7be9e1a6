"""Small files in the format of MKJ."""

from __future__ import annotations

import json
from pathlib import Path

ENTRIES = 20
"""Number of diseases, each with a true statement and three false ones."""

RELATION = "may be treated by"


def treatment_statement(tail: str, head: str) -> str:
    """Returns the statement that a drug, the tail, may be used to treat a disease, the head."""
    return f"The {tail} may be used to treat {head}."


def write_mkj(folder: Path) -> Path:
    """Writes data.json, with 20 true statements and 60 false ones, and triplets_collection.json; returns the folder.

    In the triplets, each disease has two drugs: that of its true statement and another. Disease 0 has six more triplets,
    which name it and its drug so often that retrieval ranks them first for its statements.
    """
    folder.mkdir(parents=True, exist_ok=True)
    triplets = [(f"Disease {n}", RELATION, f"drug-{n}{letter}") for n in range(ENTRIES) for letter in "ab"]
    triplets += [("Disease 0", "takes drug-0a, and Disease 0 drug-0a, in", f"stage {n} of Disease 0") for n in range(6)]
    entries = [
        {
            "original_triplet": {"subject": f"Disease {n}", "predicate": RELATION, "object": f"drug-{n}a"},
            "semantic_type": ["Pharmacologic Substance"],
            "pos_qa": {"statement": treatment_statement(f"drug-{n}a", f"Disease {n}"), "answer": True},
            "neg_qa": {"statement": [treatment_statement(f"metal-{n}{k}", f"Disease {n}") for k in "xyz"], "answer": False},
        }
        for n in range(ENTRIES)
    ]
    collection = [
        {"text": " ".join(t), "triplet": dict(zip(("subject", "predicate", "object"), t, strict=True))} for t in triplets
    ]
    (folder / "data.json").write_text(json.dumps(entries), encoding="utf-8")
    (folder / "triplets_collection.json").write_text(json.dumps(collection), encoding="utf-8")
    return folder
