"""Methods paragraph for a paper, from what runs recorded, and the BibTeX entries that it cites.

The paragraph's text is `assets/methods.jinja`, with citations as `[@key]`. Papers' entries are in `assets/citations.bib`:
authors, title, year, and the arXiv number if a paper prints one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import PurePath

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from medfact.assets import ASSETS
from medfact.datasets import bundled_names
from medfact.metrics.records import THESE
from medfact.metrics.uncertainty import FEWEST_HEADS
from medfact.models.pressure import CONTROL
from medfact.results.report import Report
from medfact.results.text import escaped
from medfact.results.wording import count, counted, first_scores, marked, model_name, names_of_runs, pool_title
from medfact.runs.demonstrations import shots_rephrased
from medfact.runs.pool import protocol_of
from medfact.runs.racing import of_one_race
from medfact.store import Run
from medfact.version import VERSION
from medfact.words import say, sayings


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
        names = [
            name if model_name(run.model) in name else f"{model_name(run.model)} ({name})"
            for run, name in zip(runs, names_of_runs(runs), strict=True)
        ]
        named = [f"{_without_citations(name)}: {text}" for name, text in zip(names, texts, strict=True)]
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
    return rf"""\paragraph{{Methods.}} {latex_citations(text)}

% for \bibliography{{medfact}}; written when LaTeX runs
\begin{{filecontents*}}[overwrite]{{medfact.bib}}
{bibtex(text, runs)}
\end{{filecontents*}}
"""


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


# ------------------------------------------------------------------------------------------------ citations

_PAPERS = {
    "medfact": "zhou2024pretexttrans",
    "pretexttrans": "zhou2024pretexttrans",
    "tpeval": "tpeval",
    "mkj": "li2025fact",
}  # protocol, or beginning of a pool's name → paper

_CITATION = re.compile(r"\[@([\w, @-]+)\]")


@cache
def entries() -> Mapping[str, str]:
    """Key of a paper → its BibTeX entry."""
    texts = (ASSETS / "citations.bib").read_text(encoding="utf-8").strip().split("\n\n")
    return {text[text.index("{") + 1 : text.index(",")]: text for text in texts}


def papers_of(run: Run) -> tuple[str, ...]:
    """Keys of the papers whose method and sentences a run uses."""
    pool_papers = (key for name, key in _PAPERS.items() if run.pool.startswith(name))
    return tuple(dict.fromkeys((_PAPERS[run.spec.protocol], *pool_papers)))


def data_key(run: Run) -> str:
    """Key of a run's facts."""
    return f"{re.sub(r'[^a-z0-9-]', '', run.dataset.lower())}-{_fingerprint(run)[:6]}"


def _fingerprint(run: Run) -> str:
    """Letters and digits of the facts' fingerprint, which may be any text in an imported run."""
    return re.sub(r"[^A-Za-z0-9]", "", run.dataset_fingerprint)


def _keys(group: str) -> list[str]:
    return [key.strip(" @") for key in group.split(",")]


def cited(text: str) -> list[str]:
    """Keys that a text cites, as `[@one, @two]`, in their order."""
    return list(dict.fromkeys(key for group in _CITATION.findall(text) for key in _keys(group)))


def plain_citations(text: str, runs: Sequence[Run]) -> str:
    """Replaces citations by authors and year, "(Wilson, 1927)", and those of facts by their fingerprint."""
    names = {key: _authors_and_year(key, entry) for key, entry in entries().items()}
    names |= {data_key(run): f"fingerprint {_fingerprint(run)}" for run in runs}
    text = text.replace(" [@medfact]", "")
    return _CITATION.sub(lambda match: f"({'; '.join(names[key] for key in _keys(match[1]))})", text)


def _authors_and_year(key: str, entry: str) -> str:
    fields = dict(re.findall(r"^  (\w+) = {(.*)},?$", entry, re.MULTILINE))
    families = [author.partition(",")[0] for author in fields["author"].split(" and ")]
    names = " and ".join(families) if len(families) < 3 else f"{families[0]} et al."
    names = names.replace(r"{\l}", "ł").replace(r"{\"o}", "ö")
    return f"{names}, {fields['year']}" if "year" in fields else f"{names} (TPEval)" if key == "tpeval" else names


def latex_citations(text: str) -> str:
    r"""The text as LaTeX, with its citations as `\cite{…}`."""
    return _CITATION.sub(lambda match: rf"\cite{{{','.join(_keys(match[1]))}}}", escaped(text))


def bibtex(text: str, runs: Sequence[Run]) -> str:
    """BibTeX entries that a text cites, with those of the facts and the software."""
    software = {"key": "medfact", "title": say("citation.software"), "note": f"Software, version {VERSION}"}
    misc = {"medfact": software} | {data_key(run): _data_fields(run) for run in runs}
    written = {
        key: f"@misc{{{key},\n  " + ",\n  ".join(f"{name} = {{{value}}}" for name, value in fields.items()) + "\n}"
        for key, fields in misc.items()
    }
    return "\n\n".join(written.get(key) or entries()[key] for key in cited(text))


def _data_fields(run: Run) -> dict[str, str]:
    """Fields of the entry for a run's facts. Every brace has its partner: BibTeX counts escaped ones too."""
    name = escaped(PurePath(run.dataset).name).replace(r"\{", r"\textbraceleft{}").replace(r"\}", r"\textbraceright{}")
    sources, is_bundled = sayings("data_source"), run.dataset in bundled_names()
    source = sources.get(run.dataset, sources["written"]) if is_bundled else sources["own"]
    published = {"howpublished": f"Bundled with medfact {VERSION}"} if is_bundled else {}
    note = f"{source}; fingerprint {_fingerprint(run)}"
    return {"key": name, "title": say("citation.facts", name=name), **published, "note": note}
