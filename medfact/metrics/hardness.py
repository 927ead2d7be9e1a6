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

_LEARNED_FROM = 3_000
"""Facts from whose heads the variances are learned; of fewer, all."""

_NEWTON = 12
"""Steps to the mode where the variances are known; each doubles the digits."""


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


class _Answers(NamedTuple):
    """right, asked: models × facts, statements. head: of each fact, from 0, of `heads`."""

    right: Floats
    asked: Floats
    head: Codes
    heads: int

    def of(self, facts: Codes) -> _Answers:
        """The answers to some facts, whole heads of them."""
        head = np.unique(self.head[facts], return_inverse=True)[1].astype(np.int64)
        return _Answers(self.right[:, facts], self.asked[:, facts], head, int(head.max()) + 1)

    def by_head(self, values: Floats) -> Floats:
        """Models × heads: sums over the facts of each head. values: models × facts."""
        return np.stack([np.bincount(self.head, weights=row, minlength=self.heads) for row in values])


class _Mode(NamedTuple):
    """The ability of each model, difficulties of facts and testlets (models × heads) at the mode, and the variances of both."""

    ability: Floats
    difficulty: Floats
    testlet: Floats
    of_difficulty: Floats
    of_testlet: Floats


def rasch(right: Floats, asked: Floats, heads: Codes) -> Rasch:
    """The model of some answers. right, asked: models × facts, statements; asked may be 0 where a model did not answer.

    heads: of each fact. Needs two models and two facts at least. Of very many facts, some heads give the variances.
    """
    head = np.unique(heads, return_inverse=True)[1].astype(np.int64)
    answers = _Answers(right, asked, head, int(head.max()) + 1)
    mode, variances = _learned(answers if len(head) <= _LEARNED_FROM else answers.of(_some(answers)))
    if len(mode.difficulty) < len(head):
        mode = _settled(answers, mode.ability, variances)
    return Rasch(
        difficulty=mode.difficulty,
        error=np.sqrt(mode.of_difficulty),
        ability=mode.ability,
        spread=variances.difficulty**0.5,
        testlet=variances.testlet**0.5,
        dispersion=variances.dispersion,
        reliability=float(np.clip(1 - mode.of_difficulty.mean() / variances.difficulty, 0, 1)),
    )


def _some(answers: _Answers) -> Codes:
    """Facts of heads that are drawn evenly, so many as give the variances well enough."""
    share = _LEARNED_FROM / len(answers.head)
    chosen = np.random.default_rng(0).permutation(answers.heads) < max(2, round(share * answers.heads))
    return np.flatnonzero(chosen[answers.head]).astype(np.int64)


def _start(answers: _Answers, ability: Floats) -> _Mode:
    none = np.zeros((len(ability), answers.heads))
    facts = np.zeros(len(answers.head))
    return _Mode(ability, facts, none, facts, none)


def _learned(answers: _Answers) -> tuple[_Mode, Variances]:
    variances = Variances(1.0, 0.25, 2.0)
    mode = _start(answers, special.logit((answers.right.sum(axis=1) + 0.5) / (answers.asked.sum(axis=1) + 1)))
    for _ in range(_STEPS):
        mode = _step(answers, mode, variances)
        before, variances = variances, _variances(answers, mode, variances)
        if all(abs(new - old) <= _CLOSE * new for new, old in zip(variances, before, strict=True)):
            break
    return mode, variances


def _settled(answers: _Answers, ability: Floats, variances: Variances) -> _Mode:
    mode = _start(answers, ability)
    for _ in range(_NEWTON):
        mode = _step(answers, mode, variances)
    return mode


def _expected(answers: _Answers, mode: _Mode) -> Floats:
    """Models × facts: the chance of a right answer."""
    return np.asarray(special.expit(mode.ability[:, None] - mode.difficulty + mode.testlet[:, answers.head]))


def _step(answers: _Answers, mode: _Mode, variances: Variances) -> _Mode:
    """One step of Newton's towards the mode, and the variances there: the inverse of minus the second derivatives.

    Given the testlets, facts say nothing of each other: with w the weights of answers, d = Σ w + 1/σ² of each fact, what is
    left of a head is one number a model, S = diag(Σ w + 1/τ²) − Σ w w' / d.
    """
    p = _expected(answers, mode)
    residual = (answers.right - answers.asked * p) / variances.dispersion
    weight = answers.asked * p * (1 - p) / variances.dispersion
    of_fact = weight.sum(axis=0) + 1 / variances.difficulty
    slope = -residual.sum(axis=0) - mode.difficulty / variances.difficulty
    leaning = weight / of_fact
    left = np.stack([-answers.by_head(weight * row) for row in leaning])
    models = np.arange(len(p))
    left[models, models] += answers.by_head(weight) + 1 / variances.testlet
    inverse = np.linalg.inv(left.transpose(2, 0, 1))
    along = answers.by_head(residual + leaning * slope) - mode.testlet / variances.testlet
    testlet = np.einsum("hmn,nh->mh", inverse, along)
    difficulty = slope / of_fact + (leaning * testlet[:, answers.head]).sum(axis=0)
    gain = residual.sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-9)
    return _Mode(
        ability=mode.ability + gain.clip(-1, 1),
        difficulty=mode.difficulty + difficulty.clip(-2, 2),
        testlet=mode.testlet + testlet.clip(-2, 2),
        of_difficulty=1 / of_fact + np.einsum("mf,fmn,nf->f", leaning, inverse[answers.head], leaning),
        of_testlet=np.diagonal(inverse, axis1=1, axis2=2).T,
    )


def _variances(answers: _Answers, mode: _Mode, before: Variances) -> Variances:
    """The next variances: the mean of squares as they are expected, and what answers differ by beyond chance."""
    p = _expected(answers, mode)
    spread = np.maximum(answers.asked * p * (1 - p), 1e-6)
    there = answers.asked > 0
    off = float((np.square(answers.right - answers.asked * p) / spread)[there].sum())
    degrees = (1 - mode.of_difficulty / before.difficulty).sum() + (1 - mode.of_testlet / before.testlet).sum()
    dispersion = off / max(float(there.sum() - degrees - len(p)), 1.0)
    difficulty = float((mode.difficulty**2 + mode.of_difficulty).mean())
    testlet = float((mode.testlet**2 + mode.of_testlet).mean())
    return Variances(max(difficulty, 1e-4), max(testlet, 1e-4), max(1.0, dispersion))
