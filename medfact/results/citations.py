"""Citations of a paper about runs: BibTeX entries for the facts, the methods, the software and the statistics.

Papers' entries are in `assets/citations.bib`: authors, title, year, and the arXiv number if a paper prints one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import PurePath

from medfact.assets import ASSETS
from medfact.datasets import bundled_names
from medfact.results.latex import escaped
from medfact.store import Run
from medfact.version import VERSION
from medfact.words import say, sayings

_PAPERS = {
    "medfact": "zhou2024pretexttrans",
    "pretexttrans": "zhou2024pretexttrans",
    "tpeval": "tpeval",
    "mkj": "li2025fact",
}
"""Protocol, or beginning of a pool's name → paper."""

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
    families = [author.partition(",")[0] for author in _field(entry, "author").split(" and ")]
    names = " and ".join(families) if len(families) < 3 else f"{families[0]} et al."
    names = names.replace(r"{\l}", "ł").replace(r"{\"o}", "ö")
    return f"{names}, {year}" if (year := _field(entry, "year")) else f"{names} (TPEval)" if key == "tpeval" else names


def _field(entry: str, name: str) -> str:
    """Value of an entry's field; "" without it."""
    match = re.search(rf"^  {name} = {{(.*)}},?$", entry, re.MULTILINE)
    return match[1] if match else ""


def latex_citations(text: str) -> str:
    r"""The text as LaTeX, with its citations as `\cite{…}`."""
    return _CITATION.sub(lambda match: rf"\cite{{{','.join(_keys(match[1]))}}}", escaped(text))


def bibtex(text: str, runs: Sequence[Run]) -> str:
    """BibTeX entries that a text cites, with those of the facts and the software."""
    software = {"key": "medfact", "title": say("citation.software"), "note": f"Software, version {VERSION}"}
    written = {"medfact": _format_entry("medfact", software)}
    written |= {data_key(run): _format_entry(data_key(run), _data_fields(run)) for run in runs}
    return "\n\n".join(written.get(key) or entries()[key] for key in cited(text))


def _format_entry(key: str, fields: Mapping[str, str]) -> str:
    return f"@misc{{{key},\n  " + ",\n  ".join(f"{name} = {{{value}}}" for name, value in fields.items()) + "\n}"


def _data_fields(run: Run) -> dict[str, str]:
    """Fields of the entry for a run's facts. Every brace has its partner: BibTeX counts escaped ones too."""
    name = escaped(PurePath(run.dataset).name).replace(r"\{", r"\textbraceleft{}").replace(r"\}", r"\textbraceright{}")
    sources, is_bundled = sayings("data_source"), run.dataset in bundled_names()
    source = sources.get(run.dataset, sources["written"]) if is_bundled else sources["own"]
    published = {"howpublished": f"Bundled with medfact {VERSION}"} if is_bundled else {}
    note = f"{source}; fingerprint {_fingerprint(run)}"
    return {"key": name, "title": say("citation.facts", name=name), **published, "note": note}
