"""Small files in the format of the UMLS."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

ALBUTEROL, ASTHMA, COUGH, ASPIRIN, FEVER = "C0001927", "C0004096", "C0010200", "C0004057", "C0015967"
"""Concept identifiers (CUI)."""


def mrconso_row(cui: str, name: str, preferred: str = "P PF Y", **columns: str) -> str:
    """Returns a row of MRCONSO, the names of concepts: `name` for the concept `cui`.

    preferred: its TS, STT and ISPREF. columns: lat, aui, sab or suppress, if they differ from the usual ones.
    """
    ts, stt, ispref = preferred.split()
    values = {"lat": "ENG", "aui": "A0", "sab": "MSH", "suppress": "N"} | columns
    first = f"{cui}|{values['lat']}|{ts}|L1|{stt}|S1|{ispref}|{values['aui']}||M1|D1"
    return f"{first}|{values['sab']}|MH|D1|{name}|0|{values['suppress']}|256|"


def mrrel_row(head: str, relation: str, tail: str, sab: str = "MED-RT", suppress: str = "N") -> str:
    """Returns a row of MRREL, the relations of concepts: the head has the relation, such as "may_treat", to the tail.

    head, tail: CUIs; in the file, the head is CUI2 and the tail CUI1. sab: source. suppress: "N" for a row in use.
    """
    return f"{tail}|A1|AUI|RO|{head}|A2|AUI|{relation}|R1||{sab}|{sab}||Y|{suppress}||"


NAMES = [
    mrconso_row(ALBUTEROL, "albuterol"),
    mrconso_row(ASTHMA, "asthma"),
    mrconso_row(COUGH, "cough"),
    mrconso_row(ASPIRIN, "aspirin"),
    mrconso_row(FEVER, "fever"),
]
"""Rows of MRCONSO: a name for each concept."""

TREATS = [mrrel_row(ALBUTEROL, "may_treat", ASTHMA)]
"""Rows of MRREL: one relation."""


def write_umls(folder: Path, mrrel: Iterable[str] = TREATS, mrconso: Iterable[str] = NAMES, **others: Iterable[str]) -> Path:
    """Writes MRREL.RRF and MRCONSO.RRF, and any other files, to a folder, and returns the folder.

    mrrel, mrconso: their rows. others: rows of another file by its name, such as MRSTY=[…] for MRSTY.RRF.
    """
    for name, rows in {"MRREL": mrrel, "MRCONSO": mrconso, **others}.items():
        (folder / f"{name}.RRF").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8", newline="\n")
    return folder
