"""Paired contrasts: how much better a fact is answered in one way of asking than in another.

Both sides are of the same facts, so that how hard a fact is falls out of the difference; its interval is that of a paired
comparison, clustered by head and tail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from medfact.metrics.averages import IMPLICATION_SETS
from medfact.metrics.clusters import Bools, Clusters, Floats, unsampled_fraction
from medfact.metrics.differences import Bounded, holm, paired_difference
from medfact.metrics.records import Records
from medfact.metrics.uncertainty import is_known
from medfact.statements import IMPLICATIONS, TRUTH_PRESERVING, Variant

Name = TypeVar("Name")


class Contrast(NamedTuple):
    """One way of asking, or several, against another. first, less: variants; sides: their names, for people. paper: source of
    the figure, "" where no paper has it.
    """

    name: str
    first: tuple[str, ...]
    less: tuple[str, ...]
    sides: tuple[str, str]
    paper: str = ""


@dataclass(frozen=True)
class Contrasted(Bounded):
    """A contrast over facts with every statement of both sides answered: first − less, shares of right answers by fact.

    value: the difference, from −1 to 1; low, high: its 95% interval. low_all, high_all: the interval for all contrasts of a
    run, or of all runs that are compared, which decides. p: as of paired runs; p_holm: after Holm over them. n: facts.
    """

    first: float | None
    less: float | None
    value: float | None
    low: float | None
    high: float | None
    n: int
    p: float | None
    p_holm: float | None
    low_all: float | None
    high_all: float | None


def _of_method(variants: Mapping[str, Variant], paper: str) -> Iterator[Contrast]:
    """The contrasts of a method with eight ways of asking, of which the first is the plain one."""
    plain, *others = variants
    affirmed, denied = (tuple(key for key, one in variants.items() if one.negated is side) for side in (False, True))
    yield Contrast("plain_less_all", (plain,), tuple(variants), ("asked plainly", "in all eight ways"), paper)
    yield Contrast("affirmed_less_denied", affirmed, denied, ("affirmed", "denied"))
    for key in others:
        yield Contrast(f"{key}_less_plain", (key,), (plain,), (variants[key].plain, "plain"))


_PLAIN, _DENIED, _REVERSED, _ALL = IMPLICATION_SETS.values()
_STEPS = "PretextTrans, Tables 5 and 14"  # its arrows start from the plain statement

CONTRASTS = (
    *_of_method(IMPLICATIONS, "PretextTrans, Tables 4 and 13: −LogImp less the method"),
    Contrast("none_less_+dn", _PLAIN, _DENIED, ("plain", "with denied"), _STEPS),
    Contrast("+dn_less_+dn+inv", _DENIED, _REVERSED, ("plain and denied", "with reversed")),
    Contrast("+dn+inv_less_+all", _REVERSED, _ALL, ("plain, reversed and their denials", "in all eight ways")),
    Contrast("none_less_+dn+inv", _PLAIN, _REVERSED, ("plain", "with denied and reversed"), _STEPS),
    *_of_method(TRUTH_PRESERVING, "TPEval, Table 1: K = 1 less K = 8"),
)
"""Every contrast within a run, in the order in which it is shown; a run has those whose ways it asks."""


def contrasts(records: Records) -> dict[str, Contrasted]:
    """The contrasts of a run; none where it asks facts in one way."""
    asked = set(records.variants.names)
    chosen = [one for one in CONTRASTS if asked.issuperset({*one.first, *one.less})]
    found = {one.name: _within(records, one, len(chosen)) for one in chosen}
    return adjusted({name: one for name, one in found.items() if one.n})


def _within(records: Records, contrast: Contrast, family: int) -> Contrasted:
    (whole, first), (whole_too, less) = (_by_fact(records, keys) for keys in (contrast.first, contrast.less))
    facts = np.flatnonzero(whole & whole_too)
    return contrasted(first[facts], less[facts], records.clusters(records.first_of_fact[facts]), family)


def _by_fact(records: Records, keys: Sequence[str]) -> tuple[Bools, Floats]:
    """Of each fact, whether all its statements of these variants are answered, and the share of them that is right."""
    rows = records.variants.among(keys) & records.scored
    count = len(records.first_of_fact)
    answered = np.bincount(records.fact[rows], minlength=count)
    right = np.bincount(records.fact[rows], weights=records.right[rows], minlength=count)
    return np.asarray(answered == len(keys), dtype=bool), right / len(keys)


def contrasted(first: Floats, less: Floats, clusters: Clusters, family: int) -> Contrasted:
    """The contrast of shares of right answers of the same facts. family: how many contrasts are looked at together.

    About a finite population there is no p, and the interval is as much narrower as less of it was not asked.
    """
    n = len(first)
    if not n:
        return Contrasted(None, None, None, None, None, 0, None, None, None, None)
    sides, value = (float(first.mean()), float(less.mean())), float((first - less).mean())
    if is_known(clusters):
        return Contrasted(*sides, value, value, value, n, None, None, value, value)
    found = paired_difference(first - less, clusters.heads, clusters.tails, clusters.draws, family=family)
    left = unsampled_fraction(clusters) ** 0.5
    low, high, low_all, high_all = (
        None if end is None else value + left * (end - value) for end in (found.low, found.high, found.low_all, found.high_all)
    )
    p = found.p if clusters.unseen is None else None
    return Contrasted(*sides, value, low, high, n, p, None, low_all, high_all)


def adjusted(found: Mapping[Name, Contrasted]) -> dict[Name, Contrasted]:
    """The same contrasts, with p after Holm."""
    after = holm([one.p for one in found.values()])
    return {name: replace(one, p_holm=p) for (name, one), p in zip(found.items(), after, strict=True)}
