"""What a paper should cite: entries of BibTeX for the facts, the methods, the software and the statistics of runs.

The entries hold authors, title and year, and an arXiv number where the papers print one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import PurePath

from medfact.assets import ASSETS
from medfact.datasets import bundled_names
from medfact.results.latex import escaped
from medfact.store import Run
from medfact.version import VERSION

_SOURCES = {
    "rare-core": "Derived from the Human Phenotype Ontology, release 2025-01-16; licence: see its data card",
    "was-true": "Written by the medfact project from decisions of drug authorities, guidelines and trials; see its data card",
    "clinical-relations": "From pages of US institutes in MedQuAD (CC BY 4.0) and rules of the CDC; see its data card",
    "safety-core": "From drug labels of the FDA, rules of the CDC and the ANSM's thesaurus of 2020; see its data card",
    "not-indicated": "From drug labels of the FDA, among others; see its data card",
}
"""Bundled data set → what it was made from, where others made that."""

_WRITTEN = "Written by the medfact project, licence Apache-2.0; no clinician has reviewed it yet"

_PAPERS = {
    "medfact": ("zhou2024pretexttrans",),
    "pretexttrans": ("zhou2024pretexttrans",),
    "tpeval": ("tpeval",),
    "mkj": ("li2025fact",),
}
"""Protocol → whose method it is."""

_CITED = re.compile(r"\[@([\w, @-]+)\]")


@cache
def entries() -> Mapping[str, str]:
    """Key → the entry of BibTeX for a paper, from `assets/citations.bib`."""
    texts = (ASSETS / "citations.bib").read_text(encoding="utf-8").strip().split("\n\n")
    return {text[text.index("{") + 1 : text.index(",")]: text for text in texts}


def _field(entry: str, name: str) -> str:
    """What an entry has in a field, "" where it has none."""
    found = re.search(rf"^  {name} = {{(.*)}},?$", entry, re.MULTILINE)
    return found[1] if found else ""


def papers_of(run: Run) -> tuple[str, ...]:
    """The keys of the papers whose method and sentences a run uses."""
    of_pool = tuple(key for name, keys in _PAPERS.items() if run.pool.startswith(name) for key in keys)
    return tuple(dict.fromkeys((*_PAPERS[run.spec.protocol], *of_pool)))


def data_key(run: Run) -> str:
    """The key of the facts of a run."""
    return re.sub(r"[^a-z0-9-]", "", run.dataset.lower()) + f"-{_fingerprint(run)[:6]}"


def _fingerprint(run: Run) -> str:
    """The fingerprint of a run's facts, which is a word whatever a run's file says."""
    return re.sub(r"[^A-Za-z0-9]", "", run.dataset_fingerprint)


def cited(text: str) -> list[str]:
    """The keys that a text cites, as `[@one, @two]`, in their order."""
    found = (key.strip(" @") for group in _CITED.findall(text) for key in group.split(","))
    return list(dict.fromkeys(found))


def plain_citations(text: str, runs: Sequence[Run]) -> str:
    """The text with its citations in words: "(Wilson, 1927)"."""
    names = {data_key(run): f"fingerprint {_fingerprint(run)}" for run in runs}

    def said(key: str) -> str:
        if key not in entries():
            return names[key]
        authors, year = _field(entries()[key], "author"), _field(entries()[key], "year")
        families = [one.partition(",")[0] for one in authors.split(" and ")]
        plain = " and ".join(families) if len(families) < 3 else f"{families[0]} et al."
        plain = plain.replace(r"{\l}", "ł").replace(r"{\"o}", "ö")
        return f"{plain}, {year}" if year else f"{plain} (TPEval)" if key == "tpeval" else plain

    return _CITED.sub(
        lambda found: f"({'; '.join(said(key.strip(' @')) for key in found[1].split(','))})", text.replace(" [@medfact]", "")
    )


def latex_citations(text: str) -> str:
    r"""The text as LaTeX, with its citations as `\cite{…}`."""
    parts = _CITED.split(text)
    keys = (",".join(key.strip(" @") for key in group.split(",")) for group in parts[1::2])
    return "".join(
        part
        for pair in zip(map(_escaped, parts[::2]), [*(rf"\cite{{{key}}}" for key in keys), ""], strict=True)
        for part in pair
    )


def _escaped(text: str) -> str:
    """Escaped, with the spaces at its ends."""
    before, after = text[: len(text) - len(text.lstrip())] and " ", text[len(text.rstrip()) :] and " "
    return f"{before}{escaped(text)}{after}" if text.strip() else text


def bibtex(text: str, runs: Sequence[Run]) -> str:
    """The entries of BibTeX that a text cites, those of the facts and the software among them."""
    facts = {data_key(run): run for run in runs}
    return "\n\n".join(_entry(key, facts) for key in cited(text))


def _entry(key: str, facts: Mapping[str, Run]) -> str:
    if key == "medfact":
        title = "medfact: does a language model know a medical fact, or only one way of saying it?"
        return _written(key, [f"key = {{{key}}}", f"title = {{{title}}}", f"note = {{Software, version {VERSION}}}"])
    if key in facts:
        return _written(key, list(_facts_entry(facts[key])))
    return entries()[key]


def _facts_entry(run: Run) -> Iterator[str]:
    name, fingerprint = _balanced(escaped(PurePath(run.dataset).name)), _fingerprint(run)
    yield f"key = {{{name}}}"
    yield f"title = {{{name}: facts for testing language models}}"
    if run.dataset in bundled_names():
        yield f"howpublished = {{Bundled with medfact {VERSION}}}"
        yield f"note = {{{_SOURCES.get(run.dataset, _WRITTEN)}; fingerprint {fingerprint}}}"
    else:
        yield f"note = {{Facts of the authors' own choice; fingerprint {fingerprint}}}"


def _balanced(text: str) -> str:
    """LaTeX in which every brace has its partner: BibTeX counts escaped ones too."""
    return text.replace(r"\{", r"\textbraceleft{}").replace(r"\}", r"\textbraceright{}")


def _written(key: str, fields: Sequence[str]) -> str:
    return f"@misc{{{key},\n  " + ",\n  ".join(fields) + "\n}"
