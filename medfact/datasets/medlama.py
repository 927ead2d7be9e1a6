"""MedLAMA as published (Meng et al. 2022): one CSV file per relation, one row per head with all its tails.

The tails and their identifiers are Python lists with both kinds of quotes; a name may hold commas, quotes and brackets. A tail
may be repeated.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from medfact.datasets.table_reader import read_table
from medfact.errors import PoolError

COLUMNS = frozenset({"head_cui", "head_name", "rel", "tail_cuis_list", "tail_names_list"})

LICENCE = (
    "MedLAMA is derived from UMLS, which is licensed: do not share or export its facts to a public place without a licence."
)

INVERSES = {
    "gene_associated_with_disease": "disease_mapped_to_gene",
    "gene_product_encoded_by_gene": "gene_encodes_gene_product",
}
"""Relations that are the inverse of another one. The papers leave them out (17 of 19 remain); here they count as known."""

TEMPLATES = "prompts.csv"
"""MedLAMA's own sentences: pid (the relation), default_prompt and human_prompt, with [X] and [Y]."""


def find_templates(path: Path) -> Path | None:
    """MedLAMA's `prompts.csv`, in the folder of the facts or, as published, the one above."""
    folder = path if path.is_dir() else path.parent
    return next((file for file in (folder / TEMPLATES, folder.parent / TEMPLATES) if file.is_file()), None)


def read_templates(path: Path) -> dict[str, str]:
    """Relation → its sentence with a full stop: the human prompt if there is one, else the default.

    Raises PoolError, naming file, row and relation, if a column is missing or a sentence lacks [X] or [Y].
    """
    columns, rows = read_table(path)
    if not {"pid", "human_prompt"} <= set(columns) and not {"pid", "default_prompt"} <= set(columns):
        raise PoolError(
            f"{path.name}, row 1: it has no columns pid and human_prompt.", "Take MedLAMA's prompts.csv, or name them so."
        )
    sentences: dict[str, str] = {}
    for number, row in rows:
        relation = row["pid"].strip().removesuffix("_1000")
        text = " ".join((row.get("human_prompt") or row.get("default_prompt") or "").split())
        wrong = next((f"{slot} occurs {text.count(slot)} times" for slot in ("[X]", "[Y]") if text.count(slot) != 1), "")
        if not relation or relation in sentences:
            wrong = "the relation occurs twice" if relation else "the pid is empty"
        if wrong:
            raise PoolError(
                f"{path.name}, row {number}, relation {relation!r}: {wrong}.", "Each relation and each slot must occur once."
            )
        sentences[relation] = text if text.endswith(("?", "!")) else text.removesuffix(".").rstrip() + "."
    if not sentences:
        raise PoolError(f"{path.name} holds no sentence.", "Write one per row: pid, human_prompt.")
    return sentences


def is_medlama(columns: list[str]) -> bool:
    """Whether these are the columns of a published MedLAMA file."""
    return set(columns) >= COLUMNS


def expand(row: dict[str, str]) -> Iterator[dict[str, str]]:
    """One row's facts, as cells under our column names. Raises ValueError if its lists cannot be read."""
    names, identifiers = _list(row["tail_names_list"]), _list(row["tail_cuis_list"])
    if len(names) != len(identifiers):
        raise ValueError(f"it has {len(names)} tails and {len(identifiers)} identifiers; there must be as many of each")
    for name, identifier in dict.fromkeys(zip(names, identifiers, strict=True)):
        yield {
            "head": row["head_name"],
            "relation": row["rel"],
            "tail": name,
            "head_id": row["head_cui"],
            "tail_id": identifier,
            "source": "MedLAMA (UMLS 2021AA)",
        }


def _list(text: str) -> list[str]:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, list) or not value or not all(isinstance(item, str) for item in value):
        raise ValueError("its list of tails cannot be read; write it as ['…', '…']")
    return value
