"""The settings of a run: protocols, and every option with its metadata."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from medfact.assets import ENGLISH, language_names
from medfact.errors import Mistake
from medfact.models import HERE, Placement, ServiceSettings, encoders_in_help
from medfact.models.effort import EFFORTS
from medfact.models.encoder import ENCODER
from medfact.models.pressure import PRESSURES
from medfact.models.services.addresses import without_secrets
from medfact.models.services.settings import DEFAULTS
from medfact.negatives import ANY, NEAR, PREFERENCES
from medfact.retrieval.index import DENSE, RETRIEVERS
from medfact.setting import (
    ADDRESS,
    FACTS,
    LAST_PART,
    METHOD,
    NOTHING,
    OF_MODEL,
    RETRIEVAL,
    SEEDS,
    SERVICE,
    UMLS,
    Bounds,
    Need,
    Setting,
    setting,
    setting_metadata,
    settings_by_name,
)


@dataclass(frozen=True)
class Protocol:
    """A named evaluation method: a paper's, or the project's own."""

    name: str
    title: str
    explanation: str
    pools: tuple[str, ...]  # names of prototype pools; the first one with a relation states it
    negatives: int  # negative facts per positive one
    shots: int  # demonstrations before each statement
    held_out_heads: int  # heads per relation held out for demonstrations; without shots they are tested last
    question: str = "paper"  # key of `answers.FORMATS`
    reading: str = "committed"  # key of `answers.READINGS`
    headline_metrics: tuple[str, ...] = ("average_accuracy", "joint_accuracy", "pair_joint_accuracy", "yes_bias")
    rephrases: bool = True  # the paper rephrases statements; a run without it is the ablation -LMReph (PretextTrans, Table 13)
    rephraser: str | None = None  # model that rephrased the prototypes in the paper
    services: str = "greedy"  # decoding of commercial models in the paper: "greedy", or "default" for their own settings
    one_tail: bool = False  # tests one tail per head and relation (a seeded draw) instead of all
    negative_difficulty: str = ANY  # key of `negatives.PREFERENCES`: the negatives that are drawn first

    @property
    def summary_metrics(self) -> tuple[str, ...]:
        """Metrics for small displays: mastery and average accuracy if they are headline metrics, else all headline metrics."""
        few = ("joint_accuracy", "average_accuracy")
        return few if set(few) <= set(self.headline_metrics) else self.headline_metrics


PROTOCOLS = {
    "medfact": Protocol(
        name="medfact",
        title="medfact",
        explanation=(
            "The project's own method: eight statements of equal strength per fact, five worked examples, and one false "
            "partner that no known source calls true, most often a near one: true of another condition of the same specialty. "
            "A reply counts as the answer that it commits to."
        ),
        pools=("medfact",),
        negatives=1,
        shots=5,
        held_out_heads=5,
        rephrases=False,
        negative_difficulty=NEAR,
    ),
    "pretexttrans": Protocol(
        name="pretexttrans",
        title="PretextTrans",
        explanation=(
            "The PretextTrans paper's method: its published sentences, one tail per head and relation with one false partner, "
            "five worked examples, and replies read by keywords. In the paper a model rephrased the sentences; without that, "
            "this is its ablation \u2212LMReph."
        ),
        pools=("pretexttrans-medlama", "pretexttrans-disek"),
        negatives=1,
        shots=5,
        held_out_heads=5,
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
            "with one false partner. Five worked examples of the same expression come from five other diseases; the paper also "
            "ran without any."
        ),
        pools=("tpeval",),
        negatives=1,
        shots=5,
        held_out_heads=5,
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
            "semantic type and no worked examples. The last \u201ctrue\u201d or \u201cfalse\u201d of a reply counts."
        ),
        pools=("mkj",),
        negatives=3,
        shots=0,
        held_out_heads=0,
        question="mkj",
        reading="last-word",
        rephrases=False,
        headline_metrics=("mkj_accuracy", "positive_accuracy", "negative_accuracy", "accuracy_gap"),
    ),
}

LOCAL_OWNER = "local"  # owner of the runs of command line and notebook

NO_RETRIEVAL = "none"
ORIGIN_POOL = "origin"


def _parse_column(text: str) -> tuple[str, str]:
    """Parses OURS=YOURS of --column to medfact's column and the file's column."""
    ours, separator, theirs = text.partition("=")
    if not separator or not theirs:
        raise Mistake(f"--column {text!r} names no column.", "Write it as --column head=YOUR_COLUMN.")
    role, colon, name = ours.strip().partition(":")
    return f"{role.lower()}{colon}{name}", theirs


def _parse_usd(text: str) -> float:
    """Parses --budget, a positive amount in US dollars."""
    usd = float(text)
    if not 0 < usd < 1e9:
        raise Mistake(f"--budget {usd:g} is not an amount to spend.", "Write it in US dollars, such as --budget 5.00.")
    return usd


# fmt: off
_NEEDS_RETRIEVAL = Need(
    lambda spec: spec.retrieval != NO_RETRIEVAL,
    "{flag} is for retrieval, and there is none.", "Leave it out, or add --retrieval sparse or dense.",
)
_DOCUMENTS_NEED_RETRIEVAL = Need(
    lambda spec: spec.retrieval != NO_RETRIEVAL,
    "Documents are given, and no way to retrieve them.", f"Add --retrieval {' or '.join(RETRIEVERS)}.", everywhere=True,
)
# fmt: on


@dataclass(frozen=True)
class RunSpec:
    """Settings of one run of one model, in the order in which a run records them.

    None for pool, negatives, negative_difficulty, shots or question means the protocol's default.
    """

    # fmt: off
    model: str

    dataset: str = setting(
        "clinical-core", "--dataset", "NAME", "a bundled data set", group=FACTS, is_source=True, label="Facts"
    )
    facts: str | None = setting(  # replaces `dataset`
        None, "--facts", "FILE", "your own facts: a table, hf:NAME, or a MedLAMA, MKJ, DiseK or UMLS folder",
        group=FACTS, excludes="spec.dataset", is_source=True, export_policy=LAST_PART,
    )
    columns: tuple[tuple[str, str], ...] = setting(  # (our name, the file's)
        (), "--column", "OURS=YOURS", "column of FILE, such as head=disease; OURS==TEXT fills in TEXT",
        group=FACTS, parse=_parse_column,
        needs=Need(
            lambda spec: spec.facts is not None,
            "{flag} names a column of a file of facts, and none is given.", "Add --facts FILE.",
        ),
        is_source=True,
    )
    rela: tuple[str, ...] = setting((), "--rela", "NAME", "a relation to read", group=UMLS, is_source=True)
    sab: tuple[str, ...] = setting((), "--sab", "NAME", "a source to read (default: all)", group=UMLS, is_source=True)
    language: str = setting(
        "ENG", "--language", "LAT", "language of the names", group=UMLS, is_source=True, shares="spec.asked_in"
    )

    protocol: str = setting(
        "medfact", "--protocol", "NAME", f"one of: {', '.join(PROTOCOLS)}",
        group=METHOD, place=0, choices=PROTOCOLS, noun="protocol", label="Method",
    )
    pool: str | None = setting(
        None, "--pool", "NAME-OR-FILE", "prototype pool (default: the protocol's)",
        group=METHOD, place=0, export_policy=LAST_PART, label="Sentence templates",
    )
    reviewed: bool = setting(
        False, "--reviewed", "", "test only facts that reviewers have confirmed, with their false partners", group=FACTS
    )
    sourced: bool = setting(
        False, "--sourced", "", "test only facts that a source states, with their false partners", group=FACTS
    )
    limit: int | None = setting(  # positive facts, with all their negatives
        None, "--limit", "N", "test N true facts and their false partners",
        group=FACTS, bounds=Bounds(1, 10_000_000, "limit"), label="True facts, each with its false ones",
    )
    per_relation: int | None = setting(
        None, "--per-relation", "N", "test N true facts of each relation",
        group=FACTS, bounds=Bounds(1, 10_000_000, "number per relation"),
    )
    negatives: int | None = setting(
        None, "--negatives", "K", "false partners per true fact (default: the protocol's)",
        group=FACTS, bounds=Bounds(0, 1_000, "number of negatives"),
    )
    negative_difficulty: str | None = setting(
        None, "--negative-difficulty", "NAME",
        f"which false partners come first: {', '.join(PREFERENCES)} (default: the protocol's)",
        group=FACTS, choices=PREFERENCES, noun="difficulty of negatives", label="False partners",
    )
    shots: int | None = setting(
        None, "--shots", "N", "worked examples (demonstrations) before each statement (default: the protocol's)",
        group=METHOD, bounds=Bounds(0, 100, "number of shots"),
        label="Worked examples shown to the model before each statement",
        info="None is the default here, so that a first look is quick.",
    )
    seed: int = setting(0, "--seed", "S", "seed of all random draws", group=FACTS, bounds=SEEDS)
    shot_seed: int | None = setting(
        None, "--shot-seed", "S", "seed of the demonstrations (default: --seed)",
        group=METHOD, bounds=SEEDS._replace(noun="shot seed"),
    )
    shot_draws: int = setting(
        1, "--shot-draws", "N", "ask each statement with N different draws of demonstrations",
        group=METHOD, bounds=Bounds(1, 20, "number of shot draws"),
        needs=Need(
            lambda spec: shot_count(spec) and not spec.demonstrations,
            "Several draws of demonstrations need drawn demonstrations.", "Give --shots, and no --demonstrations.",
            everywhere=True,
        ),
        compared="draws of demonstrations",
    )
    demonstrations: str | None = setting(
        None, "--demonstrations", "FILE", "your own: a table of relation, variant, statement, label",
        group=METHOD,
        needs=Need(
            lambda spec: spec.shots != 0,
            "No shots, and a file of demonstrations: only one can be meant.", "Leave out one of the two options.",
            everywhere=True,
        ),
        export_policy=LAST_PART,
    )
    templates: str | None = setting(
        None, "--templates", "FILE", "a benchmark's own sentences (prompts.csv) for --pool origin",
        group=METHOD, place=2,
        needs=Need(
            lambda spec: spec.pool == ORIGIN_POOL,
            f"{{flag}} gives the sentences of the pool `{ORIGIN_POOL}`, which is not chosen.", f"Add --pool {ORIGIN_POOL}.",
        ),
        export_policy=LAST_PART,
    )
    question: str | None = setting(
        None, "--question", "FORMAT", "paper, code or mkj (default: the protocol's)", group=METHOD, place=2
    )
    accept_drafts: bool = setting(
        False, "--accept-drafts", "", "ask sentences that a language model drafted and nobody has accepted",
        group=METHOD, place=1,
    )

    task: str | None = None  # instruction for a text (`answers.INSTRUCTIONS`); None asks whether statements are true
    entailment: str | None = setting(  # a guard over written sentences, besides those over words
        None, "--entailment", "SPEC", "a model for inference (hf:FOLDER) as a further guard", export_policy=LAST_PART
    )
    writing: str | None = None  # id of the run whose written sentences are asked, or rewritten
    writer: str | None = None  # model that wrote the sentences
    retrieval: str = setting(
        NO_RETRIEVAL, "--retrieval", "NAME", "none, sparse (shared words, BM25) or dense (meaning, sentence vectors)",
        group=RETRIEVAL, choices=(NO_RETRIEVAL, *RETRIEVERS), noun="retrieval", label="Passages are looked up",
    )
    corpus: str | None = setting(  # None for the known facts in plain sentences
        None, "--corpus", "FILE", "your documents: text, a table, or a folder (default: the known facts)",
        group=RETRIEVAL, needs=_DOCUMENTS_NEED_RETRIEVAL, export_policy=LAST_PART,
    )
    corpus_column: str | None = setting(
        None, "--corpus-column", "NAME", "column of a table with the text (default: text)",
        group=RETRIEVAL, needs=_NEEDS_RETRIEVAL,
    )
    passages: int = setting(
        5, "--passages", "K", "passages shown with a statement",
        group=RETRIEVAL, bounds=Bounds(1, 20, "number of passages"), needs=_NEEDS_RETRIEVAL,
    )
    leave_out: bool = setting(
        False, "--leave-out-fact", "", "leave out passages that state the fact or name both its ends",
        group=RETRIEVAL, needs=_DOCUMENTS_NEED_RETRIEVAL,
    )
    encoder: str = setting(
        f"hf:{ENCODER}", "--encoder", "SPEC", f"for dense: {encoders_in_help()}",
        group=RETRIEVAL, needs=_NEEDS_RETRIEVAL, export_policy=OF_MODEL,
        label="Sentence encoder for “by meaning”: a Hugging Face repository, or a folder on this machine",
    )
    encoder_url: str | None = setting(
        None, "--encoder-url", "URL", "address of that service (default: that of --base-url)",
        group=RETRIEVAL, needs=_NEEDS_RETRIEVAL, export_policy=ADDRESS,
    )
    service: ServiceSettings = DEFAULTS  # its key is never recorded
    budget: float | None = setting(
        None, "--budget", "USD", "stop a run once it has cost this much; `resume` continues it",
        group=SERVICE, place=1, parse=_parse_usd, bounds=Bounds(1e-6, 1_000_000_000, "budget"),
        resumable=True, affects_answers=False, label="spending limit in US dollars (0: none)",
    )
    reuse: bool = setting(
        False, "--reuse", "", "reuse answers of earlier runs to identical prompts", group=SERVICE, affects_answers=False
    )
    batch: bool = setting(
        False, "--batch", "", "send all calls as one batch, which services answer within a day, many at half the price",
        group=SERVICE, place=1, affects_answers=False,
    )
    placement: Placement = HERE
    effort: str | None = setting(
        None, "--effort", "LEVEL", f"reasoning effort: {', '.join(EFFORTS)} (default: the model's own)",
        group=METHOD, place=3, choices=EFFORTS, noun="effort", compared="effort", label="Reasoning effort", has_input=True,
        info="Of models that think before they answer.",
    )
    stated: bool = setting(
        False, "--stated", "", "P(True) as the model states it: a second turn asks “How sure are you, 0 to 100?”",
        group=METHOD, place=3,
        needs=Need(
            lambda spec: not spec.service.repeats,
            "P(True) is either stated or comes from repeated answers.", "Leave out --stated or --repeats.", everywhere=True,
        ),
        compared="stated P(True)", label="Ask each time how sure the model is",
        has_input=True, info="A second question after each answer: its P(True) is then what the model states.",
    )

    pressure: tuple[str, ...] = setting(  # a control condition comes with them
        (), "--pressure", "KINDS",
        f"push against each answer in two further turns, and ask again: {', '.join(PRESSURES)}, with commas",
        group=METHOD, place=3, choices=PRESSURES, noun="kind of pressure", compared="pressure",
        label="Pressure: ask again after “Are you sure?”", has_input=True,
        info="Two more calls a sentence for each kind, and for a control that is merely asked again.",
    )
    asked_in: str = setting(
        ENGLISH, "--language", "CODES",
        f"language of statements, question and answers: {', '.join(language_names())}; several, with commas or "
        "repeated, make a run each (of a UMLS folder: that of its names, such as SPA)",
        group=METHOD, place=1, choices=language_names(), noun="language",
        needs=Need(
            lambda spec: spec.protocol == "medfact" and not (
                spec.pool or spec.question or spec.templates or spec.stated or spec.pressure or spec.task or spec.writer
                or spec.retrieval != NO_RETRIEVAL
            ),
            "Only the method medfact, with its own sentences and question, is worded in other languages than English; "
            "passages, pushes, rephrasing and its guards are not.",
            "Leave out --language, or the other method, pool, question, --retrieval, --stated, --pressure.", everywhere=True,
        ),
        compared="language", several=True,
        label="Language of statements and answers", has_input=True,
        info="Tick several to compare them over the same facts, a run each; none for the language of the facts.",
    )

    race: str | None = None  # id of a race: its runs are asked in step, disease by disease, until one model leads
    racers: int = setting(0, bounds=Bounds(0, 100, "number of racers"))
    imported: tuple[str, ...] = setting((), compare=False, export_policy=NOTHING)  # fields that come from a run's file
    # fmt: on

    @property
    def writes(self) -> bool:
        """Returns True if the model writes texts (`task`) instead of judging statements."""
        return self.task is not None

    @property
    def is_batched(self) -> bool:
        """Returns True if calls go to the service in batches. An imported value is ignored."""
        return self.batch and "batch" not in self.imported

    def trusted_value(self, name: str) -> Any:
        """Returns a field's value that names a file or address to open. Raises Mistake if it was imported from a run's file."""
        value = getattr(self, name)
        if name in self.imported and value != getattr(RunSpec, name, None):
            raise Mistake(
                f"A run's file names {str(value)[:100]!r}, and what such a file names is never opened.",
                "Start a new run with your own files and models.",
            )
        return value

    def override(self, **values: Any) -> RunSpec:
        """A copy with other values, which are trusted even if the rest of the spec is imported."""
        return replace(self, **values, imported=tuple(name for name in self.imported if name not in values))

    def as_imported(self) -> RunSpec:
        """A copy that marks all fields as imported from a run's file, so that `trusted_value` refuses them."""
        return replace(self, imported=tuple(field.name for field in dataclasses.fields(self) if field.name != "imported"))

    def to_record(self) -> dict[str, Any]:
        """Converts the spec to a dict for JSON, without the service's key and without secrets in addresses."""
        record = dataclasses.asdict(self)
        service = record["service"]
        del service["key"], service["effort"]  # a spec has its own effort
        service["base_url"] = without_secrets(service["base_url"])
        return {**record, "encoder_url": without_secrets(self.encoder_url)}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> RunSpec:
        """Restores a spec from the dict of `to_record`. Missing fields have their defaults."""
        lists = [field for field in dataclasses.fields(cls) if field.default == () and field.name in record]
        converted = {
            **{field.name: _to_tuples(record[field.name], are_pairs="tuple[tuple" in str(field.type)) for field in lists},
            "placement": Placement.from_record(record.get("placement", {})),
            "service": ServiceSettings(**record.get("service", {})),
        }
        return cls(**{**record, **converted})


def _to_tuples(values: Iterable[Any], are_pairs: bool) -> tuple[Any, ...]:
    """Converts a list of texts, or of pairs of texts, to tuples."""
    return tuple((str(ours), str(theirs)) for ours, theirs in values) if are_pairs else tuple(values)


# ------------------------------------------------------------------------------------------------ the settings of a run


RECORDS = {"spec": RunSpec, "service": ServiceSettings, "placement": Placement}
"""First part of a field's path → the dataclass with the field."""

FIELDS: Mapping[str, dataclasses.Field[Any]] = {
    f"{name}.{field.name}": field for name, record in RECORDS.items() for field in dataclasses.fields(record)
}
"""All fields by path: "spec.limit", "service.timeout"."""

SETTINGS: Mapping[str, Setting] = {path: setting_metadata(field) for path, field in FIELDS.items()}
"""All fields' metadata, by path."""
COMPARED: Mapping[str, Setting] = {name: setting for name, setting in settings_by_name(RunSpec).items() if setting.compared}
"""Name → setting of the fields in which comparable runs agree."""

BOUNDS: Mapping[str, Bounds] = {path: setting.bounds for path, setting in SETTINGS.items() if setting.bounds}
"""Path of a numeric field → its bounds."""


def bounded_numbers(spec: RunSpec) -> Iterator[tuple[str, Any]]:
    """Yields path and value of each field in BOUNDS."""
    for path in BOUNDS:
        part, _, name = path.partition(".")
        yield path, getattr(spec if part == "spec" else getattr(spec, part), name)


def check_numbers(spec: RunSpec) -> None:
    """Raises Mistake if a numeric field is out of its bounds."""
    for path, value in bounded_numbers(spec):
        BOUNDS[path].check(value)


def check_choices(spec: RunSpec) -> None:
    """Raises UnknownName if a value is not among the choices of its setting."""
    for name, declared in settings_by_name(spec).items():
        declared.check_choice(getattr(spec, name))


def changed_settings(spec: RunSpec) -> Iterator[tuple[str, Any, Setting]]:
    """Yields name, value and metadata of the fields that differ from their defaults."""
    for field in dataclasses.fields(spec):
        if (value := getattr(spec, field.name)) != field.default and value is not None:
            yield field.name, value, setting_metadata(field)


def check_needs(spec: RunSpec) -> None:
    """Raises Mistake if a changed setting lacks the other settings that it needs (`Setting.needs`)."""
    for _, _, option in changed_settings(spec):
        if option.needs and option.needs.everywhere and not option.needs.is_met(spec):
            raise Mistake(option.needs.problem, option.needs.hint)


def reproducing_settings(spec: RunSpec) -> Iterator[tuple[str, Any, Setting]]:
    """Yields name, value and metadata of each changed setting that a command needs to repeat the answers of a run.

    It leaves out settings without an effect in this run, and the addresses of services, which need a key.
    """
    for name, value, option in changed_settings(spec):
        is_used = option.needs is None or option.needs.everywhere or option.needs.is_met(spec)
        is_used = is_used and (name != "encoder" or spec.retrieval == DENSE)
        if option.group and option.affects_answers and option.export_policy != ADDRESS and is_used:
            yield name, value, option


def shot_count(spec: RunSpec) -> int:
    """Number of demonstrations before a statement, at most: the spec's, or the default of its protocol."""
    return PROTOCOLS[spec.protocol].shots if spec.shots is None else spec.shots


def describe_options(spec: RunSpec, shots: int) -> dict[str, str]:
    """Name of a setting → its description for people, for settings without which scores of this run may be misread.

    Settings at their default are left out. shots: number of demonstrations in the run.
    """
    descriptions = {
        "language": f"In {language_names().get(spec.asked_in, spec.asked_in)}" if spec.asked_in != ENGLISH else "",
        "pressure": f"Pushed: {', '.join(PRESSURES.get(kind, kind) for kind in spec.pressure)}" if spec.pressure else "",
        "passages": f"With passages{', the fact left out' * spec.leave_out}" if spec.retrieval != NO_RETRIEVAL else "",
        "shots": f"{shots} worked example{'s' * (shots > 1)}" if shots else "",
        "confidence": "Confidence as stated" if spec.stated else "",
        "effort": f"Reasoning effort {spec.effort}" if spec.effort else "",
    }
    return {name: description for name, description in descriptions.items() if description}


def method_label(spec: RunSpec, pool: str) -> str:
    """Label of a run in a table of the papers' results, such as "MKJ, sparse retrieval, fact left out".

    "−LMReph" marks a run that lacks the rephrasing of its method. pool: name of the run's prototype pool.
    """
    protocol = PROTOCOLS[spec.protocol]
    label = protocol.title
    if pool == "llmeval":
        label = "LLMEval"
    elif pool == ORIGIN_POOL:
        label += ", Origin"
    elif protocol.rephrases and spec.writer is None:
        label += " \u2212LMReph"
    return (
        label if spec.retrieval == NO_RETRIEVAL else f"{label}, {spec.retrieval} retrieval{', fact left out' * spec.leave_out}"
    )
