"""Records what the witness set expects: `python tests/witness/record.py` writes `expected/`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "helpers")]


def main() -> None:
    """Writes the text of each output as it is now, and removes those of outputs that are gone."""
    from witness_outputs import outputs
    from witness_runs import record_runs

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=HERE / "expected", help="another folder to write to")
    parser.add_argument("--runs", nargs="*", help="first ask these runs anew (none named: all), after a change of facts")
    options = parser.parse_args()
    if options.runs is not None:
        record_runs(options.runs)
    for file in options.into.glob("*.txt"):
        file.unlink()
    for name, text in outputs().items():
        (options.into / f"{name}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
