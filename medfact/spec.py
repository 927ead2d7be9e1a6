"""Names and numbers that say what a run is, without behaviour."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from medfact.models import HERE, Placement, ServiceSettings
from medfact.models.services.settings import DEFAULTS


@dataclass(frozen=True)
class Protocol:
    """A named way of asking: a paper's, or the project's own.

    pools:       the prototype pools that it takes; the first that has a relation states it.
    negatives:   negative facts per positive one.
    shots:       demonstrations before each statement.
    heads_aside: heads per relation that are kept aside for the demonstrations, whatever the number of shots.
    question:    the question format, by its name. reading: how replies are read, by its name.
    first:       names of the figures that are shown first.
    rephrases:   whether the method has its prototypes rephrased; without that a run is -LMReph (PretextTrans, Table 13).
    services:    how models behind a service were decoded in the paper: greedily, or by the service's default settings.
    one_tail:    whether one tail per head and relation is tested (a seeded draw) of the many that are known.
    """

    name: str
    title: str
    explanation: str
    pools: tuple[str, ...]
    negatives: int
    shots: int
    heads_aside: int
    question: str = "paper"
    reading: str = "committed"
    first: tuple[str, ...] = ("average_accuracy", "joint_accuracy", "pair_joint_accuracy", "yes_bias")
    rephrases: bool = True
    rephraser: str | None = None
    services: str = "greedy"
    one_tail: bool = False


PROTOCOLS = {
    "medfact": Protocol(
        name="medfact",
        title="medfact",
        explanation=(
            "The project's own: eight statements of equal strength per fact, five demonstrations, and one false partner that "
            "no known source holds true. A reply is read by the answer that it commits to."
        ),
        pools=("medfact",),
        negatives=1,
        shots=5,
        heads_aside=5,
    ),
    "pretexttrans": Protocol(
        name="pretexttrans",
        title="PretextTrans",
        explanation=(
            "The PretextTrans paper's: its published sentences, one tail per head and relation with one false partner, five "
            "demonstrations, and replies read by keywords. The paper had a model rephrase the sentences; without that this is "
            "its ablation \u2212LMReph."
        ),
        pools=("pretexttrans-medlama", "pretexttrans-disek"),
        negatives=1,
        shots=5,
        heads_aside=5,
        reading="keyword",
        rephraser="Llama3-70B-Instruct",
        services="default",
        one_tail=True,
    ),
    "tpeval": Protocol(
        name="tpeval",
        title="TPEval",
        explanation=(
            "The TPEval paper's: eight truth-preserving expressions (S1 to S8) of one fact per disease and relation, with one "
            "false partner. Five demonstrations of the same expression come from five other diseases; the paper also ran "
            "without any."
        ),
        pools=("tpeval",),
        negatives=1,
        shots=5,
        heads_aside=5,
        reading="keyword",
        rephrases=False,
        services="default",
        one_tail=True,
    ),
    "mkj": Protocol(
        name="mkj",
        title="MKJ",
        explanation=(
            "The MKJ paper's: one statement per fact, ready-made in its data, with three false partners of the same semantic "
            "type and no demonstrations. The last \u201ctrue\u201d or \u201cfalse\u201d of a reply counts."
        ),
        pools=("mkj",),
        negatives=3,
        shots=0,
        heads_aside=0,
        question="mkj",
        reading="last-word",
        rephrases=False,
        first=("mkj_accuracy", "positive_accuracy", "negative_accuracy", "accuracy_gap"),
    ),
}

RETRIEVALS = ("none",)
LOCAL_OWNER = "local"


@dataclass(frozen=True)
class RunSpec:
    """All that decides what one model is asked. `facts` is a file or folder; it goes before `dataset`.

    columns: our column names and the file's. rela, sab, language: of a UMLS folder, which relations, sources and language.
    templates: a file of a benchmark's own templates, for the pool `origin`. question: a question format, None for the
    protocol's. shot_draws: how often each statement is asked, each time with other demonstrations. demonstrations: a file of
    them, in place of drawn ones. placement: how a local model is loaded.
    service: how a model behind a service is asked; its key goes into no record. budget: USD that it may cost, None for any sum.
    reuse: whether answers of earlier runs to identical prompts are taken.

    limit and per_relation count positive facts that have all their negatives. None for pool, negatives or shots means the
    protocol's own.
    """

    model: str
    dataset: str = "clinical-core"
    facts: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    rela: tuple[str, ...] = ()
    sab: tuple[str, ...] = ()
    language: str = "ENG"
    protocol: str = "medfact"
    pool: str | None = None
    limit: int | None = None
    per_relation: int | None = None
    negatives: int | None = None
    shots: int | None = None
    seed: int = 0
    shot_seed: int | None = None
    shot_draws: int = 1
    demonstrations: str | None = None
    templates: str | None = None
    question: str | None = None
    retrieval: str = "none"
    service: ServiceSettings = DEFAULTS
    budget: float | None = None
    reuse: bool = False
    placement: Placement = HERE

    def to_record(self) -> dict[str, Any]:
        """A JSON-ready record, from which `from_record` makes an equal spec; a service's key is never part of it."""
        record = dataclasses.asdict(self)
        del record["service"]["key"]
        return record

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> RunSpec:
        columns = tuple((str(ours), str(theirs)) for ours, theirs in record.get("columns", ()))
        chosen = {name: tuple(record.get(name, ())) for name in ("rela", "sab")}
        made = {
            "columns": columns,
            "placement": Placement.from_record(record.get("placement")),
            "service": ServiceSettings(**(record.get("service") or {})),
        }
        older = {name: value for name, value in record.items() if name != "base_url"}
        return cls(**{**older, **chosen, **made})


def method_label(protocol: str, pool: str, rephraser: str | None) -> str:
    """What a run is called beside the papers' figures: "PretextTrans −LMReph" where nothing rephrased its sentences."""
    made = PROTOCOLS[protocol]
    if pool == "origin":
        return f"{made.title}, Origin"
    if rephraser:
        return f"{made.title}, rephrased by {rephraser}"
    return f"{made.title} \u2212LMReph" if made.rephrases else made.title
