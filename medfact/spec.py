"""What defines a run, as names and numbers without behaviour."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from medfact.bounds import BOUNDS, check_number
from medfact.errors import Mistake
from medfact.models import HERE, Placement, ServiceSettings
from medfact.models.encoder import ENCODER
from medfact.models.services.addresses import without_secrets
from medfact.models.services.settings import DEFAULTS
from medfact.negatives import ANY, NEAR


@dataclass(frozen=True)
class Protocol:
    """A named method: a paper's, or the project's own.

    pools:       its prototype pools; a relation is stated by the first pool that has it.
    negatives:   negative facts per positive one.
    shots:       demonstrations before each statement.
    heads_aside: heads per relation kept aside for the demonstrations; where none are drawn, a limit may reach them, last.
    question:    the name of the question format. reading: the name of the rule that reads replies.
    first:       names of the figures shown first.
    rephrases:   whether the method rephrases its prototypes; a run that does not is -LMReph (PretextTrans, Table 13).
    rephraser:   the model that rephrased them in the paper.
    services:    how the paper decoded models behind a service: greedily, or with the service's default settings.
    one_tail:    whether to test one tail per head and relation (a seeded draw) instead of all.
    negative_difficulty: which negatives are drawn first (`negatives.PREFERENCES`).
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
    negative_difficulty: str = ANY

    @property
    def headline(self) -> tuple[str, ...]:
        """The figures where there is room for few: mastery and right answers if it shows them first, else all that it does."""
        few = ("joint_accuracy", "average_accuracy")
        return few if set(few) <= set(self.first) else self.first


PROTOCOLS = {
    "medfact": Protocol(
        name="medfact",
        title="medfact",
        explanation=(
            "The project's own method: eight statements of equal strength per fact, five demonstrations, and one false partner "
            "that no known source calls true, most often a near one: true of another condition of the same specialty. A reply "
            "counts as the answer that it commits to."
        ),
        pools=("medfact",),
        negatives=1,
        shots=5,
        heads_aside=5,
        rephrases=False,
        negative_difficulty=NEAR,
    ),
    "pretexttrans": Protocol(
        name="pretexttrans",
        title="PretextTrans",
        explanation=(
            "The PretextTrans paper's method: its published sentences, one tail per head and relation with one false partner, "
            "five demonstrations, and replies read by keywords. In the paper a model rephrased the sentences; without that, "
            "this is its ablation \u2212LMReph."
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
            "The TPEval paper's method: eight truth-preserving expressions (S1 to S8) of one fact per disease and relation, "
            "with one false partner. Five demonstrations of the same expression come from five other diseases; the paper also "
            "ran without any."
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
            "The MKJ paper's method: one ready statement per fact from its data, with three false partners of the same "
            "semantic type and no demonstrations. The last \u201ctrue\u201d or \u201cfalse\u201d of a reply counts."
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

LOCAL_OWNER = "local"

NO_RETRIEVAL = "none"
"""No passages are retrieved."""


@dataclass(frozen=True)
class RunSpec:
    """Everything that defines what one model is asked. None for pool, negatives, negative_difficulty, shots or question means
    the protocol's own.

    facts:          a file or folder; replaces `dataset`.
    columns:        pairs of our column name and the file's.
    rela, sab, language: the relations, sources and language of a UMLS folder.
    reviewed:       whether to test only facts that reviewers have confirmed, with their false partners.
    limit, per_relation: number of positive facts that have all their negatives, in total and per relation.
    shot_draws:     how often each statement is asked, each time with other demonstrations.
    demonstrations: a file that replaces the drawn demonstrations.
    templates:      a file of a benchmark's own templates, for the pool `origin`.
    accept_drafts:  whether sentences that a language model drafted, and nobody has accepted yet, may be asked.
    task:           what the model is told to write (`answers.INSTRUCTIONS`) instead of being asked; None: it is asked.
    entailment:     a model for inference (`hf:`) that guards what is written, beside the guards over words; None for none.
    writing:        the run whose sentences are asked, or are tried again. writer: the model that wrote those that are asked.
    retrieval:      how passages are retrieved: "none", or a name of `retrieval.RETRIEVERS`.
    corpus:         a file or folder of documents; None means the known facts in plain sentences. corpus_column: of a table.
    passages:       passages shown with a statement, at most.
    leave_out:      whether passages that state the fact under test are left out of the corpus (`runs.corpus`).
    encoder:        of dense retrieval: `hf:` and a repository or folder, or `openai:` and a model at encoder_url.
    encoder_url:    None means the address of the service that answers.
    service:        how a model behind a service is asked; its key is never recorded.
    budget:         USD that the run may cost; None means any sum.
    reuse:          whether to reuse earlier answers to identical prompts.
    placement:      how a local model is loaded.
    race:           an id that the runs of one race share: they are asked side by side, disease by disease, until it is decided.
    racers:         how many models race, 0 where none do.
    imported:       the fields whose values came in a run's file, which may be a stranger's: they are shown, and what they name
                    is never opened (`opened`) and joins no runs. () for a run that was planned here.
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
    reviewed: bool = False
    limit: int | None = None
    per_relation: int | None = None
    negatives: int | None = None
    negative_difficulty: str | None = None
    shots: int | None = None
    seed: int = 0
    shot_seed: int | None = None
    shot_draws: int = 1
    demonstrations: str | None = None
    templates: str | None = None
    question: str | None = None
    accept_drafts: bool = False
    task: str | None = None
    entailment: str | None = None
    writing: str | None = None
    writer: str | None = None
    retrieval: str = NO_RETRIEVAL
    corpus: str | None = None
    corpus_column: str | None = None
    passages: int = 5
    leave_out: bool = False
    encoder: str = f"hf:{ENCODER}"
    encoder_url: str | None = None
    service: ServiceSettings = DEFAULTS
    budget: float | None = None
    reuse: bool = False
    placement: Placement = HERE
    race: str | None = None
    racers: int = 0
    imported: tuple[str, ...] = field(default=(), compare=False)

    def opened(self, name: str) -> Any:
        """The value of a field, for whoever opens or contacts what it names. Raises Mistake where it came in a run's file."""
        value = getattr(self, name)
        if name in self.imported and value != getattr(RunSpec, name, None):
            raise Mistake(
                f"A run's file names {str(value)[:100]!r}, and what such a file names is never opened.",
                "Start a new run with your own files and models.",
            )
        return value

    def chosen(self, **values: Any) -> RunSpec:
        """The spec with values for some fields that somebody has chosen here."""
        return replace(self, **values, imported=tuple(name for name in self.imported if name not in values))

    def from_a_file(self) -> RunSpec:
        """The spec, all of which came in a run's file."""
        return replace(self, imported=tuple(one.name for one in dataclasses.fields(self) if one.name != "imported"))

    def to_record(self) -> dict[str, Any]:
        """A record for JSON, without the service's key and any secret in an address; `from_record` reads it back."""
        record = dataclasses.asdict(self)
        del record["service"]["key"]
        if not self.imported:
            del record["imported"]
        return {**record, "service": _without_secrets(record["service"]), "encoder_url": without_secrets(self.encoder_url)}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> RunSpec:
        """The spec of a record. Old records have fewer fields, and a `base_url` that is no longer read."""
        service = _without_secrets(record.get("service") or {})
        converted = {
            "columns": tuple((str(ours), str(theirs)) for ours, theirs in record.get("columns", ())),
            "rela": tuple(record.get("rela", ())),
            "sab": tuple(record.get("sab", ())),
            "imported": tuple(record.get("imported", ())),
            "placement": Placement.from_record(record.get("placement")),
            "service": ServiceSettings(**service),
            "encoder_url": without_secrets(record.get("encoder_url")),
        }
        return cls(**{name: value for name, value in record.items() if name != "base_url"} | converted)


def _without_secrets(service: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a service without the secrets in its addresses."""
    addresses = {"base_url": without_secrets(service.get("base_url"))} if "base_url" in service else {}
    replicas = tuple(filter(None, (without_secrets(str(address)) for address in service.get("replicas", ()))))
    return {**service, **addresses, "replicas": replicas}


def numbers_of(spec: RunSpec) -> Iterator[tuple[str, Any]]:
    """The numbers of a spec, of its service and of its placement: the path of each and its value."""
    for path in BOUNDS:
        part, _, name = path.partition(".")
        yield path, getattr(spec if part == "spec" else getattr(spec, part), name)


def check_numbers(spec: RunSpec) -> None:
    """Raises Mistake where a number of a spec is out of its bounds."""
    for path, value in numbers_of(spec):
        check_number(path, value)


def method_label(spec: RunSpec, pool: str) -> str:
    """A run's name beside the papers' figures. pool: as it was asked. "PretextTrans −LMReph": without the rephrasing that the
    method includes. "MKJ, sparse retrieval, fact left out": with passages, none of which states the fact.
    """
    if spec.retrieval == NO_RETRIEVAL:
        return _method(spec.protocol, pool, spec.writer)
    left_out = ", fact left out" if spec.leave_out else ""
    return f"{_method(spec.protocol, pool, spec.writer)}, {spec.retrieval} retrieval{left_out}"


def _method(protocol: str, pool: str, writer: str | None) -> str:
    title = PROTOCOLS[protocol].title
    if pool == "llmeval":
        return "LLMEval"
    if pool == "origin":
        return f"{title}, Origin"
    return f"{title} \u2212LMReph" if PROTOCOLS[protocol].rephrases and writer is None else title
