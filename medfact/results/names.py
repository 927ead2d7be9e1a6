"""What models, runs and pools are called, once for the page, the command line and reports; and the mark of a run from a file,
which stands wherever its figures do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from medfact.models import provider_of
from medfact.prototypes import load_pool, pool_names
from medfact.results.report import Report
from medfact.spec import NO_RETRIEVAL
from medfact.store import Run


def model_name(spec: str) -> str:
    """What to call a model: the last part of a folder or repository, a service's own name, a baseline in words."""
    return provider_of(spec).title_of(spec)


FROM_FILE = "from a file"
"""What is said wherever figures stand that were not measured here: anybody may have written the file."""

_TURNING = dict.fromkeys(map(ord, "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))
"""Signs that turn the letters after them round."""


def marked(name: str, imported: bool) -> str:
    """A name with the mark of a run from a file, which no name can hide."""
    return f"{' '.join(name.translate(_TURNING).split())} ({FROM_FILE})" if imported else name


def own_name(run: Run) -> str:
    """What its owner calls a run, else its model's name; without the mark of a run from a file."""
    return run.name or model_name(run.model)


def run_name(run: Run) -> str:
    """What to call a run: its own name, else its model's."""
    return marked(own_name(run), run.imported)


def short_name(run: Run) -> str:
    """The same, with a long name cut."""
    return marked(shortened(own_name(run)), run.imported)


def model_of(report: Report) -> str:
    """What to call the model of a report."""
    return marked(model_name(report.model), report.imported)


def names_of_runs(runs: Sequence[Run]) -> list[str]:
    """What to call runs beside each other: where two would be alike, with what tells them apart: their sentences, their
    passages, or else the beginning of the id.
    """
    return [marked(name, run.imported) for name, run in zip(_told_apart(runs), runs, strict=True)]


def _told_apart(runs: Sequence[Run]) -> list[str]:
    names = [own_name(run) for run in runs]
    for trait in (_sentences_of, _passages_of):
        often = Counter(names)
        told = [f"{name}, {trait(run)}" if often[name] > 1 else name for name, run in zip(names, runs, strict=True)]
        names = told if len(set(map(trait, runs))) > 1 else names
    often = Counter(names)
    return [name if often[name] == 1 else f"{name} ({run.run[:8]})" for name, run in zip(names, runs, strict=True)]


def _sentences_of(run: Run) -> str:
    """What a run asks, in a word or two."""
    if run.pool == "llmeval":
        return "LLMEval"
    return "rephrased" if run.spec.writer else "one plain sentence" if run.pool == "origin" else "templates"


def _passages_of(run: Run) -> str:
    """Whether a run shows passages, and in which setting."""
    spec = run.spec
    if spec.retrieval == NO_RETRIEVAL:
        return "without passages"
    return f"{spec.retrieval} passages, fact left out" if spec.leave_out else f"{spec.retrieval} passages"


def shortened(text: str, most: int = 60) -> str:
    """A text cut to so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def pool_title(pool: str) -> str:
    """A name for people of a pool that comes with the project; any other one's own. A run's file may name whatever it likes."""
    return load_pool(pool).title if pool in pool_names() else PurePath(pool).name
