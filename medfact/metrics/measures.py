"""The registry of measures, and the figures of a run by their names.

Each measure is registered beside its computation. `record_of` turns figures into what JSON can hold, `read_record` and
`read_figures` read that back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from pydantic import TypeAdapter

from medfact.metrics.uncertainty import Estimate

Estimates = Mapping[str, Estimate]


@dataclass(frozen=True)
class Share:
    """A share with its interval, and something of its own beside them."""

    value: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def estimate(self) -> Estimate:
        return Estimate(self.value, self.low, self.high, self.n)


@dataclass(frozen=True)
class Harm(Share):
    """Share of harmful answers."""

    by_relation: Estimates


@dataclass(frozen=True)
class TypeAccuracy(Share):
    """Accuracy over facts whose tail has one semantic type."""

    facts: int  # of the type, with an answer


@dataclass(frozen=True)
class Bin:
    """The statements whose P(True) lies from `low` to `high`: how many, their mean P(True), and the share that is true.

    least, most: where that share lies in 95 of 100 tests of a calibrated model (`metrics.probability`); None where there are no
    statements, or with too few heads to say.
    """

    low: float
    high: float
    n: int
    mean_p_true: float | None
    positive_rate: float | None
    least: float | None
    most: float | None


@dataclass(frozen=True)
class Calibration:
    """Agreement of P(True) with truth (`metrics.probability.calibration`)."""

    n: int  # statements with a P(True) that counts
    coverage: float | None
    ece: float | None
    ece_floor: float | None
    ece_floor_coherent: float | None
    ece_confidence: float | None
    brier: float | None
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class Couples:
    """Number of couples of a statement and its negation in a bin of both probabilities. Bins are 0.05 wide."""

    p_true: float  # bin centre
    p_negated: float  # bin centre
    n: int


@dataclass(frozen=True)
class Coherence:
    """Shares of couples of a statement and its negation that a model affirms both, or denies both."""

    n: int  # couples with both answers
    affirms_both: float | None
    denies_both: float | None
    probability_gap: float | None  # mean of |P(s) + P(¬s) − 1|
    couples: tuple[Couples, ...]  # P(s) and P(¬s) together, in at most 400 bins


@dataclass(frozen=True, kw_only=True)
class Measures:
    """Every figure of a run by its name. Shares and their intervals are from 0 to 1; None is "no value"."""

    figures: Mapping[str, Any] = field(metadata={"spread": True})

    # Types of the figures that code reads as attributes. The names of the others are in `MEASURES` alone.
    statements: ClassVar[int]
    facts: ClassVar[int]  # true and false ones, each once
    answered: ClassVar[int]
    unreadable: ClassVar[int]
    failed: ClassVar[int]
    standing: ClassVar[int]  # facts without a wrong answer so far
    average_accuracy: ClassVar[Estimate]
    joint_accuracy: ClassVar[Estimate]
    pair_joint_accuracy: ClassVar[Estimate]
    positive_accuracy: ClassVar[Estimate]
    negative_accuracy: ClassVar[Estimate]
    chance: ClassVar[Mapping[str, float | None]]
    curves: ClassVar[Mapping[str, tuple[Estimate, ...]]]  # accuracy with 1, 2, … statements a fact
    by_variant: ClassVar[Estimates]
    by_polarity: ClassVar[Estimates]
    by_form: ClassVar[Estimates]
    by_tail_type: ClassVar[Mapping[str, TypeAccuracy]]
    by_difficulty: ClassVar[Mapping[str, Mapping[str, Any]]]
    calibration: ClassVar[Calibration]
    coherence: ClassVar[Coherence]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name not in (figures := self.__dict__.get("figures", {})):
                raise AttributeError(name)
            return figures[name]

    def measure(self, name: str) -> Estimate:
        """A registered score of the run."""
        estimate: Estimate = self.figures[name]
        return estimate


def figures_of(measures: Any) -> dict[str, Any]:
    """All fields of a record by name, with a run's figures in their place; without those that are absent where unknown."""
    figures: dict[str, Any] = {}
    for column in fields(measures):
        value = getattr(measures, column.name)
        if column.metadata.get("spread"):
            figures |= value
        elif value is not None or not column.metadata.get("if_known"):
            figures[column.metadata.get("key", column.name)] = value
    return figures


def record_of(value: Any) -> Any:
    """A record of this module, or anything that holds such, as dicts and lists for JSON."""
    if isinstance(value, Estimate):
        return value._asdict()
    if is_dataclass(value) and not isinstance(value, type):
        value = figures_of(value)
    if isinstance(value, Mapping):
        return {name: record_of(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [record_of(part) for part in value]
    return value


Kind = TypeVar("Kind")


def read_record(kind: type[Kind], record: Mapping[str, Any]) -> Kind:
    """The record of a kind from what `record_of` gave. Raises pydantic's ValidationError where a field is missing or wrong."""
    return cast(Kind, _reader(cast(Any, kind)).validate_python(record))


@lru_cache
def _reader(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)  # it takes 25 ms to make one


# ------------------------------------------------------------------------------------------------ the registry

Compute = TypeVar("Compute", bound=Callable[..., Any])

# Score that a fair coin is expected to get; where it depends on the run, a function of (records, facts).
Coin = float | Callable[..., float | None] | None


@dataclass(frozen=True)
class Measure:
    """A figure of a run. Scores have a heading, and are estimates."""

    name: str  # in JSON, and as an attribute of `Measures`
    heading: str  # over its column
    explained: str  # its term in the papers, a colon, and what it counts
    of: str  # what n counts
    compute: Callable[..., Any]  # (records, facts) → the figure
    coin: Coin  # score of a fair coin, or the function that computes it
    signed: bool  # may be below zero
    always: bool  # shown of every run, whatever scores the run's method shows first
    kind: Any  # type of the figure, as which a stored report has it
    derived: bool  # computed from the figures before it by their names, instead of (records, facts)


MEASURES: dict[str, Measure] = {}  # every measure by its name, in the order of reports


def measured(
    name: str,
    heading: str = "",
    explained: str = "",
    of: str = "statement",
    coin: Coin = 0.5,
    signed: bool = False,
    always: bool = False,
    kind: Any = Estimate,
    derived: bool = False,
) -> Callable[[Compute], Compute]:
    """Registers a measure, which is in reports under its name."""

    def register(compute: Compute) -> Compute:
        MEASURES[name] = Measure(name, heading, explained, of, compute, coin, signed, always, kind, derived)
        return compute

    return register


def read_figures(record: Mapping[str, Any]) -> dict[str, Any]:
    """Every registered figure of a stored report. Raises KeyError and ValidationError where one is missing or wrong."""
    return {name: _reader(measure.kind).validate_python(record[name]) for name, measure in MEASURES.items()}
