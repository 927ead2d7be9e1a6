"""The command about rarity: a run's right answers against how often the names in its facts occur."""

from __future__ import annotations

import argparse
from pathlib import Path

from medfact.cli import OK, print_data, say
from medfact.cli.rows import check_output, emit, kept
from medfact.datasets.frequencies import Frequencies, counts_in, couple_of, read_frequencies
from medfact.datasets.table_writer import json_line
from medfact.errors import Mistake
from medfact.facts import name_key
from medfact.metrics import record_of
from medfact.references import REQUESTS_A_SECOND, REQUESTS_A_SECOND_WITH_KEY, PubMed
from medfact.results.rarity import HOW_TO_BRING, couples_of, names_of, rarity_of
from medfact.results.text import rarity_text
from medfact.store import Store, home


def rarity(options: argparse.Namespace) -> int:
    """Shows right answers against frequency."""
    if not (options.frequencies or options.corpus or options.pubmed):
        raise Mistake("Rarity needs to know how often each name occurs.", HOW_TO_BRING)
    if options.column and not options.corpus:
        raise Mistake("--column names a column of a corpus.", "Use it with --corpus FILE.")
    if options.together and options.frequencies:
        raise Mistake("A table of terms does not say how often two stand together.", "Use --together with --pubmed.")
    check_output(options.output)
    store = kept(options.db)
    run = store.run(options.run).run
    made, points = rarity_of(store, run, _frequencies(options, store, run))
    if options.output:
        emit((point.row() for point in points), options.output)
    if options.json:
        print_data(json_line(record_of(made)))
    else:
        print(rarity_text(made))
    return OK


def _frequencies(options: argparse.Namespace, store: Store, run: str) -> Frequencies:
    if options.frequencies:
        return read_frequencies(Path(options.frequencies))
    names = names_of(store, run)
    if options.corpus:
        return counts_in(Path(options.corpus), names, options.column or "text", couples_of(store, run))
    return _from_pubmed(names, couples_of(store, run) if options.together else [])


def _from_pubmed(names: list[str], couples: list[tuple[str, str]]) -> Frequencies:
    """Counts of articles, of each name in one of its spellings, and of each head with its tail."""
    terms = {key: name for name in reversed(names) if (key := name_key(name))}
    pubmed = PubMed(home() / "references" / "pubmed.jsonl")
    pace = f"{REQUESTS_A_SECOND} requests a second, {REQUESTS_A_SECOND_WITH_KEY} with NCBI_API_KEY"
    say(f"asking {pubmed.host} how many articles name each of {len(terms):,} terms (at most {pace})")
    try:
        counts = {key: pubmed.count(term) for key, term in terms.items()}
        both = {couple_of(*couple): couple for couple in couples}
        if both:
            say(f"asking how many articles name both of each of {len(both):,} heads and tails")
        together = {key: pubmed.count_cooccurrences(*couple) for key, couple in both.items()}
    finally:
        say(f"{pubmed.request_count:,} of {len(terms):,} counts are here, {pubmed.cached_count:,} of them from earlier answers")
    return Frequencies("PubMed", counts, (), ("Counts are articles in PubMed that hold the name as a phrase.",), together)
