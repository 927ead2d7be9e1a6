"""How hard facts are over several models: a Rasch model whose testlets are heads.

Model m has y of the n statements of fact f right. They count as y ~ Binomial(n, p) with the dispersion φ, which takes the
statements of one fact as alike, and logit p = ability(m) − difficulty(f) + testlet(m, head of f): what a model knows of one
disease moves all facts of that disease. Difficulties and testlets are normal around 0 (Rasch 1960; Bradlow, Wainer and Wang
1999); their variances come from EM around the posterior mode (Laplace), φ from Pearson's statistic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from medfact.metrics.clusters import Codes, Floats
from medfact.metrics.uncertainty import Estimate, t_quantile

FEWEST_MODELS = 5
"""With fewer models the answers of one fact say too little of it: with four that answer eight statements, alike as usual, a
difficulty is known no better than to a third of what facts differ by (a reliability under 0.7), and ranks are mostly luck."""

_STEPS, _CLOSE = 200, 1e-4
"""Steps of EM at most, and by how much of itself no variance moves any more at the end."""


@dataclass(frozen=True)
class Rasch:
    """difficulty, error: of each fact, in logits around 0, and its standard error. ability: of each model.

    spread, testlet: standard deviations of difficulties, and of what a model knows of one head beyond its ability. dispersion:
    φ, at least 1. reliability: from 0 to 1, the share of what facts seem to differ by that is no chance.
    """

    difficulty: Floats
    error: Floats
    ability: Floats
    spread: float
    testlet: float
    dispersion: float
    reliability: float

    def middling(self, fact: int, n: int) -> Estimate:
        """The share of a fact's statements that a middling model has right, with its 95% interval. n: answers behind it."""
        logit, half = float(self.ability.mean() - self.difficulty[fact]), t_quantile(np.inf) * float(self.error[fact])
        value, low, high = special.expit([logit, logit - half, logit + half]).tolist()
        return Estimate(value, low, high, n)


class Variances(NamedTuple):
    """Of difficulties and of testlets, and the dispersion φ."""

    difficulty: float
    testlet: float
    dispersion: float


class _Block(NamedTuple):
    """All heads with the same number of facts: heads × facts, places of the facts; models × heads × facts: right, asked."""

    facts: Codes
    right: Floats
    asked: Floats


class _Effects(NamedTuple):
    """Heads × (facts, then models): difficulties and testlets at the mode, and their variances."""

    value: Floats
    variance: Floats


def rasch(right: Floats, asked: Floats, heads: Codes) -> Rasch:
    """The model of some answers. right, asked: models × facts, statements; asked may be 0 where a model did not answer.

    heads: of each fact. Needs two models and two facts at least.
    """
    blocks = _blocks(right, asked, heads)
    models, facts = right.shape
    ability = special.logit((right.sum(axis=1) + 0.5) / (asked.sum(axis=1) + 1))
    variances = Variances(1.0, 0.25, 2.0)
    effects = [_Effects(*np.zeros((2, len(block.facts), block.facts.shape[1] + models))) for block in blocks]
    for _ in range(_STEPS):
        effects = [_step(block, ability, of, variances) for block, of in zip(blocks, effects, strict=True)]
        ability = ability + _gain(blocks, ability, effects)
        before, variances = variances, _variances(blocks, ability, effects, variances)
        if all(abs(new - old) <= _CLOSE * new for new, old in zip(variances, before, strict=True)):
            break
    difficulty, variance = np.zeros((2, facts))
    for block, of in zip(blocks, effects, strict=True):
        count = block.facts.shape[1]
        difficulty[block.facts], variance[block.facts] = of.value[:, :count], of.variance[:, :count]
    return Rasch(
        difficulty=difficulty,
        error=np.sqrt(variance),
        ability=ability,
        spread=variances.difficulty**0.5,
        testlet=variances.testlet**0.5,
        dispersion=variances.dispersion,
        reliability=float(np.clip(1 - variance.mean() / variances.difficulty, 0, 1)),
    )


def _blocks(right: Floats, asked: Floats, heads: Codes) -> list[_Block]:
    order = np.argsort(heads, kind="stable")
    sizes = np.unique(heads, return_counts=True)[1]
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    blocks = []
    for size in np.unique(sizes):
        places = order[first[sizes == size][:, None] + np.arange(size)]
        blocks.append(_Block(places, right[:, places], asked[:, places]))
    return blocks


def _expected(block: _Block, ability: Floats, of: _Effects) -> Floats:
    """Models × heads × facts: the chance of a right answer."""
    count = block.facts.shape[1]
    testlet = of.value[:, count:].T[:, :, None]
    return np.asarray(special.expit(ability[:, None, None] - of.value[:, :count] + testlet))


def _step(block: _Block, ability: Floats, of: _Effects, variances: Variances) -> _Effects:
    """One step of Newton's towards the mode of each head's effects, and the inverse of minus the second derivatives there."""
    heads, count = block.facts.shape
    models = len(ability)
    p = _expected(block, ability, of)
    residual = (block.right - block.asked * p) / variances.dispersion
    weight = block.asked * p * (1 - p) / variances.dispersion
    prior = np.repeat([1 / variances.difficulty, 1 / variances.testlet], [count, models])
    slope = np.concatenate([-residual.sum(axis=0), residual.sum(axis=2).T], axis=1) - of.value * prior
    curve = np.zeros((heads, count + models, count + models))
    curve[:, :count, count:] = -weight.transpose(1, 2, 0)
    curve[:, count:, :count] = -weight.transpose(1, 0, 2)
    diagonal = np.arange(count + models)
    curve[:, diagonal, diagonal] = np.concatenate([weight.sum(axis=0), weight.sum(axis=2).T], axis=1) + prior
    inverse = np.linalg.inv(curve)
    step = np.einsum("hij,hj->hi", inverse, slope)
    return _Effects(of.value + step.clip(-2, 2), inverse[:, diagonal, diagonal])


def _gain(blocks: list[_Block], ability: Floats, effects: list[_Effects]) -> Floats:
    """By how much each model's ability moves in a step of Newton's."""
    slope, curve = np.zeros((2, len(ability)))
    for block, of in zip(blocks, effects, strict=True):
        p = _expected(block, ability, of)
        slope += (block.right - block.asked * p).sum(axis=(1, 2))
        curve += (block.asked * p * (1 - p)).sum(axis=(1, 2))
    return np.asarray((slope / np.maximum(curve, 1e-9)).clip(-1, 1))


def _variances(blocks: list[_Block], ability: Floats, effects: list[_Effects], before: Variances) -> Variances:
    """The next variances: the mean of squares as they are expected, and what answers differ by beyond chance."""
    sums, counts, off, answers, free = np.zeros(2), np.zeros(2), 0.0, 0, 0.0
    for block, of in zip(blocks, effects, strict=True):
        count = block.facts.shape[1]
        for side, part in enumerate((slice(None, count), slice(count, None))):
            sums[side] += (of.value[:, part] ** 2 + of.variance[:, part]).sum()
            counts[side] += of.value[:, part].size
            free += (1 - of.variance[:, part] / before[side]).sum()
        p = _expected(block, ability, of)
        spread = block.asked * p * (1 - p)
        there = block.asked > 0
        off += float((np.square(block.right - block.asked * p)[there] / np.maximum(spread[there], 1e-6)).sum())
        answers += int(there.sum())
    dispersion = off / max(answers - free - len(ability), 1.0)
    difficulty, testlet = np.maximum(sums / counts, 1e-4)
    return Variances(float(difficulty), float(testlet), max(1.0, dispersion))
