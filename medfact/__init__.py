"""medfact: does a language model know a medical fact, or only one way of saying it?

A fact is a triplet (head, relation, tail). Logical implication gives eight statements; a model judges each one true or
false; the fact is mastered when all eight answers are right. Importing this package loads no model or page library.

In a notebook or a program (docs/notebook.md):

    run = medfact.evaluate("medfact-tiny", limit=20)
    run.answers()
    run.report()
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from medfact.version import VERSION

if TYPE_CHECKING:
    from medfact.notebook import Compared, Evaluated, Facts, Scores, compare, evaluate, load_facts, open_run, statements

__version__ = VERSION

__all__ = ["Compared", "Evaluated", "Facts", "Scores", "compare", "evaluate", "load_facts", "open_run", "statements"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("medfact.notebook"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Module type of the package. Protects the function `statements` from being replaced by the submodule of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "statements" or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
