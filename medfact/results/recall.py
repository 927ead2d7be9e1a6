"""How often retrieval found the fact under test, and in which of the two settings (MKJ, Section 4.6)."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from medfact.metrics.records import Records
from medfact.metrics.uncertainty import NOTHING, Estimate, mean_interval
from medfact.retrieval import DENSE
from medfact.spec import NO_RETRIEVAL, RunSpec
from medfact.store import Run, Store

READ, RELATED = "passages that may contain the answer", "passages that do not"
SETTINGS = {
    READ: "Can it read? The corpus may state the fact under test, as in the MKJ paper: high scores show reading.",
    RELATED: "Can it use related knowledge? Passages that state the fact under test, or name both its ends, are left out.",
}
"""What a run with passages is called, and what it asks of a model."""


@dataclass(frozen=True)
class Evidence:
    """How passages were retrieved for a run, and how often the gold fact was among them.

    corpus: the documents' name, "known facts" without any. passages: shown with a statement, at most. setting: a name of
    SETTINGS. encoder: of dense retrieval. statements: how many have their passages so far.
    recall_at: for i from 1 to `passages`, the share of the statements about true facts for which the fact is among the first i;
    in documents, a passage that names its head and its tail. recall: the last of them. partner_recall: the same over statements
    about false facts, for the true fact that each belongs to.
    """

    retrieval: str
    corpus: str
    passages: int
    setting: str
    encoder: str | None
    statements: int
    recall: Estimate
    partner_recall: Estimate
    recall_at: tuple[Estimate, ...]


def setting_of(run: Run) -> str:
    """Which of SETTINGS a run with passages has."""
    return RELATED if run.spec.leave_out else READ


def retrieval_in_words(run: Run) -> str:
    """How passages are retrieved for a run: "none", or its settings."""
    spec = run.spec
    if spec.retrieval == NO_RETRIEVAL:
        return NO_RETRIEVAL
    return f"{spec.retrieval}, {spec.passages} of {corpus_name(spec)}: {setting_of(run)}"


def corpus_name(spec: RunSpec) -> str:
    """What people call a spec's corpus; of a file, its name alone."""
    return re.split(r"[\\/]", spec.corpus.rstrip("\\/"))[-1] if spec.corpus else "known facts"


def evidence_of(run: Run, records: Records, store: Store) -> Evidence | None:
    """The evidence of a run; None where nothing is retrieved."""
    spec = run.spec
    if spec.retrieval == NO_RETRIEVAL:
        return None
    ranks = store.answers.gold_ranks(run.run, len(records.fact))

    def share(positive: bool, first: int) -> Estimate:
        rows = np.flatnonzero((ranks >= 0) & (records.positive == positive))
        found = ((ranks[rows] > 0) & (ranks[rows] <= first)).astype(float)
        return mean_interval(found, records.clusters(rows)) if len(rows) else NOTHING

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
