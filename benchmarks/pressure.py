"""How often pressure tells equal models apart: those that answer after a push as they do after being asked once more.

    python benchmarks/pressure.py --seeds 500

One JSON line: seeds; how many showed any difference from the control, over 18 comparisons each; and the same of models that
change more of their answers after a push, by 5, 10 and 20 points.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "helpers")]

from null_pushes import shows_difference  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=500, help="random models (default: 500)")
    parser.add_argument("--others", type=int, default=50, help="the same of each size of difference (default: 50)")
    options = parser.parse_args()
    equal = sum(shows_difference(seed) for seed in range(options.seeds))
    apart = {
        f"{yields:g}": sum(shows_difference(seed, yields) for seed in range(options.others)) / options.others
        for yields in (0.05, 0.1, 0.2)
    }
    print(json.dumps({"seeds": options.seeds, "equal told apart": equal / options.seeds, "others": options.others} | apart))


if __name__ == "__main__":
    main()
