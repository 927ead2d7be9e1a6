"""Time and memory of the UMLS reader on an invented Metathesaurus that is shaped like the real one.

    python benchmarks/umls.py --rows 5000000

Writes MRREL, MRCONSO, MRSTY and MRHIER into a temporary folder, loads one relation (every 25th row of MRREL), and prints the
seconds and the peak memory of the process. Nothing in these files comes from UMLS.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.datasets.umls import load_umls

CHOSEN = "may_treat"
OTHERS = ("isa", "inverse_isa", "has_finding_site", "mapped_to", "may_be_treated_by", "")
EVERY = 25
"""Every so many rows of MRREL, one has the chosen relation."""
ATOMS = 5
"""Names per concept: three in English, one in Spanish, one obsolete."""


def generate(folder: Path, rows: int, concepts: int) -> None:
    """Writes a Metathesaurus with `rows` rows of MRREL. `rows` // 25 of them, all different, have the chosen relation.

    The first quarter of the concepts are its heads and the second quarter its tails; the facts use them evenly.
    """
    quarter = concepts // 4
    assert rows // EVERY <= quarter * quarter, "more facts than pairs of concepts"
    _write(folder / "MRREL.RRF", _mrrel(rows, concepts, quarter))
    _write(folder / "MRCONSO.RRF", _mrconso(concepts))
    _write(folder / "MRSTY.RRF", (f"{_cui(i)}|T{i // quarter:03}|A1|type {i // quarter}|AT{i:08}||" for i in range(concepts)))
    parents = ((_cui(i), _aui(i), _aui(i // 10)) for i in range(1, concepts))
    _write(folder / "MRHIER.RRF", (f"{cui}|{aui}|1|{parent}|MSH|isa|{parent}|||" for cui, aui, parent in parents))


def _write(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _cui(number: int) -> str:
    return f"C{number:07}"


def _aui(concept: int, atom: int = 0) -> str:
    return f"A{concept * ATOMS + atom:08}"


def _mrrel(rows: int, concepts: int, quarter: int) -> Iterator[str]:
    for i in range(rows):
        if i % EVERY == 0:
            turn, number = divmod(i // EVERY, quarter)
            head, tail, rela, rel = number, quarter + (number * 3 + turn) % quarter, CHOSEN, "RO"
        else:
            head, tail, rela, rel = i * 7919 % concepts, i * 104729 % concepts, OTHERS[i % len(OTHERS)], "RN"
        yield (
            f"{_cui(tail)}|{_aui(tail)}|SCUI|{rel}|{_cui(head)}|{_aui(head)}|SCUI|{rela}|R{i:09}|{i:011}|MED-RT|MED-RT||Y|N||"
        )


def _mrconso(concepts: int) -> Iterator[str]:
    for i in range(concepts):
        names = (
            ("ENG", "P", "PF", "Y", "MSH", f"invented thing of the body number {i}", "N"),
            ("ENG", "S", "PF", "Y", "SNOMEDCT_US", f"Number {i}, invented thing (body structure)", "N"),
            ("ENG", "S", "VO", "N", "MTH", f"INVENTED BODY THING {i} NOS", "N"),
            ("SPA", "P", "PF", "Y", "MSHSPA", f"cosa inventada número {i}", "N"),
            ("ENG", "S", "PF", "N", "SNOMEDCT_US", f"old invented thing {i}", "O"),
        )
        for atom, (lat, ts, stt, ispref, sab, name, suppress) in enumerate(names):
            columns = f"{_cui(i)}|{lat}|{ts}|L{i:07}|{stt}|S{i:07}|{ispref}|{_aui(i, atom)}"
            yield f"{columns}|||D{i:06}|{sab}|PT|D{i:06}|{name}|0|{suppress}|256|"


def _peak_megabytes() -> float:
    """Peak memory of this process in MB (Linux counts in KiB, macOS in bytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def main() -> None:
    """Writes the files, loads one relation, and prints seconds and memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of MRREL")
    parser.add_argument("--concepts", type=int, default=400_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        generate(folder, options.rows, options.concepts)
        for file in sorted(folder.iterdir()):
            print(f"{file.name:<12}{file.stat().st_size / 1e6:>8.0f} MB")
        before = _peak_megabytes()
        begun = time.perf_counter()
        collection = load_umls(folder, [CHOSEN])
        seconds = time.perf_counter() - begun
    print(f"{len(collection.facts)} facts, {len(collection.known.synonyms)} groups of names, {len(collection.known.is_a)} is_a")
    print(f"{seconds:.1f} s to load; peak memory {_peak_megabytes():.0f} MB ({before:.0f} MB before loading)")


if __name__ == "__main__":
    main()
