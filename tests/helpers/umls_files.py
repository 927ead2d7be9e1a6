"""Small files in the format of the UMLS."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

ALBUTEROL, ASTHMA, COUGH, ASPIRIN, FEVER = "C0001927", "C0004096", "C0010200", "C0004057", "C0015967"


def mrconso_row(cui: str, name: str, preferred: str = "P PF Y", **columns: str) -> str:
    """Returns a row of MRCONSO. preferred: its TS, STT and ISPREF."""
    ts, stt, ispref = preferred.split()
    values = {"lat": "ENG", "aui": "A0", "sab": "MSH", "suppress": "N"} | columns
    first = f"{cui}|{values['lat']}|{ts}|L1|{stt}|S1|{ispref}|{values['aui']}||M1|D1"
    return f"{first}|{values['sab']}|MH|D1|{name}|0|{values['suppress']}|256|"


def mrrel_row(head: str, relation: str, tail: str, sab: str = "MED-RT", suppress: str = "N") -> str:
    """Returns a row of MRREL. The second concept (CUI2) has the relation to the first (CUI1)."""
    return f"{tail}|A1|AUI|RO|{head}|A2|AUI|{relation}|R1||{sab}|{sab}||Y|{suppress}||"


NAMES = [
    mrconso_row(ALBUTEROL, "albuterol"),
    mrconso_row(ASTHMA, "asthma"),
    mrconso_row(COUGH, "cough"),
    mrconso_row(ASPIRIN, "aspirin"),
    mrconso_row(FEVER, "fever"),
]


TREATS = [mrrel_row(ALBUTEROL, "may_treat", ASTHMA)]


def write_umls(folder: Path, links: Iterable[str] = TREATS, names: Iterable[str] = NAMES, **others: Iterable[str]) -> Path:
    """Writes files with these rows, and returns the folder. others: rows by the file's name without its suffix."""
    for name, rows in {"MRREL": links, "MRCONSO": names, **others}.items():
        (folder / f"{name}.RRF").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8", newline="\n")
    return folder
