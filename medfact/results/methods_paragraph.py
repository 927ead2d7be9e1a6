"""Methods paragraph for a paper, from what runs recorded; its text is `assets/methods.jinja`, with citations as `[@key]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from medfact.assets import ASSETS
from medfact.metrics.records import THESE
from medfact.metrics.uncertainty import FEWEST_HEADS
from medfact.models.pressure import CONTROL
from medfact.results.citations import bibtex, data_key, latex_citations, papers_of
from medfact.results.report import Report
from medfact.results.wording import count, counted, first_scores, marked, model_name, pool_title
from medfact.runs.demonstrations import shots_rephrased
from medfact.runs.pool import protocol_of
from medfact.runs.racing import of_one_race
from medfact.store import Run
from medfact.version import VERSION


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(ASSETS), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, auto_reload=False
    )
    environment.filters |= {"count": count, "counted": counted, "plain": _without_citations, "model": _model}
    return environment.get_template(
        "methods.jinja",
        globals={
            "data_key": data_key,
            "decoding_values": _decoding_values,
            "lacks_demonstrations": _lacks_demonstrations,
            "papers_of": papers_of,
            "pool_title": pool_title,
            "protocol_of": protocol_of,
            "shots_rephrased": shots_rephrased,
            "ways_of": lambda run: len({key for forms in run.pool_text.values() for key in forms}) or 1,
            "control": CONTROL,
            "medfact_version": VERSION,
            "min_heads": FEWEST_HEADS,
        },
    )


def methods_paragraph(runs: Sequence[Run], reports: Sequence[Report]) -> str:
    """Renders the paragraph of at least one run and of their reports, in the same order."""

    def each(describe: Callable[[Run, Report], str]) -> str:
        texts = [" ".join(describe(run, report).split()) for run, report in zip(runs, reports, strict=True)]
        named = [f"{_model(run.model, run)}: {text}" for run, text in zip(runs, texts, strict=True)]
        return texts[0] if len(set(texts)) == 1 else "; ".join(named)

    revisions = (f" (revision {run.model_revision})" if run.model_revision else "" for run in runs)
    days = sorted(filter(None, (at[:10] for run in runs for at in (run.started_at, run.finished_at or ""))))
    sources = (report.p_true_source for report in reports if report.calibration.n)
    text = _template().render(
        runs=runs,
        each=each,
        models=dict.fromkeys(f"{_model(run.model, run)}{revision}" for run, revision in zip(runs, revisions, strict=True)),
        days=(days[0], days[-1]),
        scores=first_scores(reports),
        probability_sources=dict.fromkeys(source if source in {"repeats", "stated"} else "measured" for source in sources),
        pushes=[push for report in reports if report.pressure for push in report.pressure.after],
        is_finite=reports[0].estimand == THESE,
        is_race=of_one_race(runs),
    )
    return " ".join(text.split())


def latex_methods(runs: Sequence[Run], reports: Sequence[Report]) -> str:
    r"""The paragraph as LaTeX, and what it cites as BibTeX, which LaTeX writes into a file for `\bibliography{medfact}`."""
    text = methods_paragraph(runs, reports)
    return "\n".join(
        [
            r"\paragraph{Methods.} " + latex_citations(text),
            "",
            r"% for \bibliography{medfact}; written when LaTeX runs",
            r"\begin{filecontents*}[overwrite]{medfact.bib}",
            bibtex(text, runs),
            r"\end{filecontents*}",
            "",
        ]
    )


def _without_citations(text: str) -> str:
    """Text of a user, in which nothing counts as a citation."""
    return text.replace("[@", "[ @")


def _model(spec: str, run: Run) -> str:
    """Name of a model of a run: the model itself, or its writer."""
    return _without_citations(marked(model_name(spec), run.imported))


def _lacks_demonstrations(run: Run) -> bool:
    """Returns True if some statements had fewer demonstrations, as a note of the run says (`demonstrations.shot_notes`)."""
    least = re.findall(r"groups have fewer than \d+ shots, at least (\d+)\.", "\n".join(run.notes))
    return any(int(shots) < run.shots for shots in least)


def _decoding_values(run: Run) -> list[str]:
    """Recorded decoding settings that have a value, such as "temperature 0.0"."""
    values = {name: value for name, value in run.decoding.items() if isinstance(value, str | int | float)}
    return [f"{name.replace('_', ' ')} {value}" for name, value in values.items() if name != "greedy"]
