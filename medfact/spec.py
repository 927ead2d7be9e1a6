"""Names and numbers that say what a run is, without behaviour."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Protocol:
    """A named way of asking: a paper's, or the project's own.

    pools:       the prototype pools that it takes; the first that has a relation states it.
    negatives:   negative facts per positive one.
    shots:       demonstrations before each statement.
    heads_aside: heads per relation that are kept aside for the demonstrations, whatever the number of shots.
    one_tail:    whether one tail per head and relation is tested (a seeded draw) of the many that are known.
    rephraser:   who rewrote the prototypes; None is PretextTrans' own ablation, -LMReph (its Table 13).
    """

    name: str
    title: str
    explanation: str
    pools: tuple[str, ...]
    negatives: int
    shots: int
    heads_aside: int
    one_tail: bool = False
    rephraser: str | None = None


PROTOCOLS = {
    "medfact": Protocol(
        name="medfact",
        title="medfact",
        explanation=(
            "The project's own: eight statements of equal strength per fact, five demonstrations, and false facts that no "
            "known source holds true. The prototypes are not rephrased (-LMReph)."
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
            "The PretextTrans paper's: its published sentences, one tail per head and relation with one false partner, and "
            "five demonstrations. The paper rephrased the sentences; without a rephraser this is its ablation -LMReph."
        ),
        pools=("pretexttrans-medlama", "pretexttrans-disek"),
        negatives=1,
        shots=5,
        heads_aside=5,
        one_tail=True,
    ),
    "tpeval": Protocol(
        name="tpeval",
        title="TPEval",
        explanation=(
            "The TPEval paper's: eight truth-preserving expressions of a fact about a disease, with one false partner and five "
            "demonstrations from other diseases."
        ),
        pools=("tpeval",),
        negatives=1,
        shots=5,
        heads_aside=5,
    ),
    "mkj": Protocol(
        name="mkj",
        title="MKJ",
        explanation=(
            "The MKJ paper's: one sentence per fact, ready-made in its data, with three false partners of the same semantic "
            "type, and no demonstrations. Facts without a ready sentence are stated by our own pool."
        ),
        pools=("medfact",),
        negatives=3,
        shots=0,
        heads_aside=0,
    ),
}

RETRIEVALS = ("none",)
LOCAL_OWNER = "local"


@dataclass(frozen=True)
class RunSpec:
    """All that decides what one model is asked. `facts` is a file or folder; it goes before `dataset`.

    columns: our column names and the file's. rela, sab, language: of a UMLS folder, which relations, sources and language.

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
    retrieval: str = "none"
    base_url: str | None = None

    def to_record(self) -> dict[str, Any]:
        """A JSON-ready record, from which `from_record` makes an equal spec."""
        return dataclasses.asdict(self)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> RunSpec:
        columns = tuple((str(ours), str(theirs)) for ours, theirs in record.get("columns", ()))
        chosen = {name: tuple(record.get(name, ())) for name in ("rela", "sab")}
        return cls(**{**record, **chosen, "columns": columns})
