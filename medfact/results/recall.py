"""Recall of retrieval: the share of statements with the fact under test among their passages, in either of two settings (MKJ,
Section 4.6)."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from medfact.metrics.records import Records
from medfact.metrics.uncertainty import NOTHING, Estimate, mean_interval
from medfact.retrieval import DENSE
from medfact.spec import NO_RETRIEVAL, RunSpec
from medfact.store import Run, Store
from medfact.words import say

READ, RELATED = "passages that may contain the answer", "passages that do not"


@dataclass(frozen=True)
class Evidence:
    """Retrieval of a run, and its recall: shares of statements whose fact is among their passages.

    In documents, a passage that names head and tail counts as the fact.
    """

    retrieval: str
    corpus: str  # the documents' name, "known facts" without any
    passages: int  # with a statement, at most
    setting: str  # READ or RELATED
    encoder: str | None  # of dense retrieval
    statements: int  # that have their passages so far
    recall: Estimate  # over statements about true facts
    partner_recall: Estimate  # over statements about false facts, for the true fact that each belongs to
    recall_at: tuple[Estimate, ...]  # recall among the first passage, the first two, …, all of them


def setting_of(run: Run) -> str:
    """READ or RELATED, of a run with passages."""
    return RELATED if run.spec.leave_out else READ


def about_setting(setting: str) -> str:
    """The question that a setting asks of a model."""
    return say(f"passages.settings.{'read' if setting == READ else 'related'}")


def retrieval_in_words(run: Run) -> str:
    """Retrieval of a run: "none", or its settings."""
    spec = run.spec
    if spec.retrieval == NO_RETRIEVAL:
        return NO_RETRIEVAL
    return f"{spec.retrieval}, {spec.passages} of {corpus_name(spec)}: {setting_of(run)}"


def corpus_name(spec: RunSpec) -> str:
    """Name of a spec's corpus; of a file without its folders."""
    return re.split(r"[\\/]", spec.corpus.rstrip("\\/"))[-1] if spec.corpus else "known facts"


def evidence_of(run: Run, records: Records, store: Store) -> Evidence | None:
    """The evidence of a run; None where nothing is retrieved."""
    spec = run.spec
    if spec.retrieval == NO_RETRIEVAL:
        return None
    ranks = store.answers.gold_ranks(run.run, len(records.fact))

    def share(positive: bool, first: int) -> Estimate:
        rows = np.flatnonzero((ranks >= 0) & (records.positive == positive))
        hits = ((ranks[rows] > 0) & (ranks[rows] <= first)).astype(float)
        return mean_interval(hits, records.clusters(rows)) if len(rows) else NOTHING

    recall_at = tuple(share(True, first) for first in range(1, spec.passages + 1))
    return Evidence(
        retrieval=spec.retrieval,
        corpus=corpus_name(spec),
        passages=spec.passages,
        setting=setting_of(run),
        encoder=spec.encoder if spec.retrieval == DENSE else None,
        statements=int((ranks >= 0).sum()),
        recall=recall_at[-1],
        partner_recall=share(False, spec.passages),
        recall_at=recall_at,
    )
