"""The door for notebooks and programs: `import medfact`, then `medfact.evaluate(…)`. docs/notebook.md shows it.

`medfact/__init__.py` hands these names out, each imported when it is first used.
"""

from medfact.notebook.evaluation import Compared, Evaluated, compare, evaluate, open_run
from medfact.notebook.report import Scores
from medfact.notebook.source import Facts, load_facts, statements

__all__ = ["Compared", "Evaluated", "Facts", "Scores", "compare", "evaluate", "load_facts", "open_run", "statements"]
