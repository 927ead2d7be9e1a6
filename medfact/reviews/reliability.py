"""How reliable the labels are: of statements that reviewers judged without seeing the label, how many are labelled wrongly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from medfact.metrics.clusters import effective_number
from medfact.metrics.records import codes
from medfact.metrics.uncertainty import NOTHING, Estimate, wilson
from medfact.reviews.verdicts import ADJUDICATOR, FALSE, RANDOM, TRUE, Opinion
from medfact.statements import PROTOTYPE, VARIANTS, Statement


@dataclass(frozen=True)
class Row:
    """Labels of a relation in a way of asking. wrong, unclear: shares of `n` verdicts, with intervals."""

    relation: str
    form: str
    """"" where the row is of all forms."""
    negated: bool
    wrong: Estimate
    unclear: Estimate


def counts_for_reliability(opinion: Opinion) -> bool:
    """Whether a verdict tells of labels without flattering them: the label was hidden, the fact came at random, and it was
    judged by itself, and so were the exceptions among its statements. Who sees the label or others' verdicts, reviews what
    models dispute, or decides in bulk, flatters or blames it.
    """
    return all(
        one.blind and one.queue == RANDOM and one.role != ADJUDICATOR and not one.bulk
        for one in (opinion.fact, *opinion.statements.values())
    )


def reliability(statements: Iterable[Statement], reviewed: Mapping[str, Mapping[str, Opinion]]) -> tuple[Row, ...]:
    """A row for each relation, form and polarity that was reviewed, in the order of the forms; and one of all, named "".

    A relation has one row, without a form, where all its forms have the same shares: verdicts on whole facts count in each.
    """
    found: defaultdict[tuple[str, str, bool], list[tuple[str, bool, bool]]] = defaultdict(list)
    for statement in statements:
        variant = VARIANTS[statement.variant]
        for opinion in reviewed.get(statement.fact.fact_id, {}).values():
            truth = opinion.truth(statement) if counts_for_reliability(opinion) else None
            if truth is not None:
                verdict = statement.fact.head, truth != statement.label, opinion.is_unclear(statement)
                found[statement.fact.relation, variant.form, variant.negated].append(verdict)
    order = {key: place for place, key in enumerate(VARIANTS)}
    keys = sorted(found, key=lambda key: (key[0], order[key[1]], key[2]))
    every = [one for of in found.values() for one in of]
    rows = [Row(*key, *_shares(found[key])) for key in keys]
    merged = (row for _, forms in groupby(rows, lambda row: row.relation) for row in _merged([*forms]))
    return (*merged, Row("", "", False, *_shares(every)))


def _merged(forms: list[Row]) -> list[Row]:
    alike = len(forms) > 1 and len({(row.wrong, row.unclear) for row in forms}) == 1
    return [replace(forms[0], form="", negated=False)] if alike else forms


@dataclass(frozen=True)
class Sentences:
    """Sentences of one origin: prototypes, or what a language model rephrased or wrote.

    misstated: of the verdicts on them, the share that holds a sentence to say something else than its fact, whether or not that
    holds (PretextTrans, Figure 1: errors that a writer brings in). unclear: the share that finds the wording bad.
    """

    origin: str
    misstated: Estimate
    unclear: Estimate


def by_origin(statements: Iterable[Statement], reviewed: Mapping[str, Mapping[str, Opinion]]) -> tuple[Sentences, ...]:
    """The error rates of sentences by who wrote them, prototypes first; () where all are prototypes, or none is judged."""
    found: defaultdict[str, list[tuple[str, bool, bool]]] = defaultdict(list)
    for statement in statements:
        for opinion in filter(counts_for_reliability, reviewed.get(statement.fact.fact_id, {}).values()):
            if (truth := opinion.truth(statement)) is not None:
                other = truth != _follows(statement, opinion)
                origin = statement.origin.partition(";")[0]
                found[origin].append((statement.fact.head, other, opinion.is_unclear(statement)))
    origins = sorted(found, key=lambda origin: (origin != PROTOTYPE, origin))
    return tuple(Sentences(origin, *_shares(found[origin])) for origin in origins) if found.keys() - {PROTOTYPE} else ()


def _follows(statement: Statement, opinion: Opinion) -> bool:
    """What a statement should be by the reviewer's own verdict on its fact; by its label where the fact was not judged."""
    if opinion.fact.verdict not in (TRUE, FALSE):
        return statement.label
    return (opinion.fact.verdict == TRUE) == (statement.label == statement.fact.positive)


def _shares(verdicts: list[tuple[str, bool, bool]]) -> tuple[Estimate, Estimate]:
    """Wilson's intervals, with the heads' worth as n where verdicts of one head stand or fall together."""
    if not verdicts:
        return NOTHING, NOTHING
    heads, *columns = zip(*verdicts, strict=True)
    effective = min(len(verdicts), effective_number(codes(heads)))
    shares = (sum(column) / len(column) for column in columns)
    wrong, unclear = (Estimate(share, *wilson(share, effective), len(verdicts)) for share in shares)
    return wrong, unclear


def most_wrong(checked: int, wrong: int = 0) -> float:
    """The upper bound (95%, Wilson) on the share of wrong labels where `wrong` of `checked` were: 0 of 60 → 0.060."""
    return wilson(wrong / checked, checked)[1]


def statements_to_check(bound: float) -> int:
    """How many statements, all found right, bound the share of wrong ones by so much. Needs 0 < bound < 1."""
    checked = 1
    while most_wrong(checked) > bound:
        checked += 1
    return checked


def ceiling(statements: Iterable[Statement], reviewed: Mapping[str, Mapping[str, Opinion]]) -> Estimate:
    """The highest joint accuracy that a perfect model can reach: of the verdicts on whole facts, the share that hold no label
    wrong. The labels of a fact are wrong together where the fact is, so their shares cannot be multiplied.
    """
    of_fact: defaultdict[str, list[Statement]] = defaultdict(list)
    for statement in statements:
        of_fact[statement.fact.fact_id].append(statement)
    verdicts = []
    for fact_id, of in of_fact.items():
        for opinion in filter(counts_for_reliability, reviewed.get(fact_id, {}).values()):
            right = [None if (truth := opinion.truth(one)) is None else truth == one.label for one in of]
            if None not in right:  # who judged some of its statements alone says nothing of the fact
                verdicts.append((of[0].fact.head, all(right), False))
    return _shares(verdicts)[0]
