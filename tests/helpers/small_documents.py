"""Documents about twenty diseases, with stated and negated remedies, and lists of names for them."""

from __future__ import annotations

from pathlib import Path

DISEASES = 20
REMEDIES = tuple(f"remedy{letter}" for letter in "abcdefghijklmnopqrstuvwxyzåäö")
"""Names that are no plurals, and of which none contains another."""


def disease_name(number: int) -> str:
    """Returns the name of a disease."""
    return f"fever of type {number:02d}x"


def stated_remedies(number: int) -> tuple[str, str]:
    """Returns the two remedies that the documents state for a disease."""
    return REMEDIES[number % 25], REMEDIES[(number + 1) % 25]


def ineffective_remedy(number: int) -> str:
    """Returns the remedy that, by the documents, does not treat a disease."""
    return REMEDIES[(number + 2) % 25]


def write_documents(folder: Path) -> Path:
    """Writes a table with a document about each disease, three sentences with one remedy each; returns its path."""
    rows = ["source,url,focus,question_type,answer"]
    for number in range(DISEASES):
        first, second = stated_remedies(number)
        text = (
            f"People with {disease_name(number)} are treated with {first}. Doctors also give {second} by mouth. "
            f"It is not treated with {ineffective_remedy(number)}."
        )
        rows.append(f'Ward notes,note {number},{disease_name(number)},treatment,"{text}"')
    file = folder / "documents.csv"
    file.write_text("\n".join(rows), encoding="utf-8")
    return file


def write_lists(folder: Path) -> tuple[Path, Path]:
    """Writes the lists of diseases and of remedies, and returns their paths."""
    diseases, remedies = folder / "diseases.txt", folder / "remedies.csv"
    diseases.write_text("\n".join(map(disease_name, range(DISEASES))), encoding="utf-8")
    remedies.write_text("name,type\n" + "\n".join(f"{remedy},Drug" for remedy in REMEDIES), encoding="utf-8")
    return diseases, remedies


def is_stated(head: str, tail: str) -> bool:
    """Returns True if the documents state that a remedy treats a disease."""
    return any(disease_name(number) == head and tail in stated_remedies(number) for number in range(DISEASES))
