"""Answers of one model to the same facts in several languages.

Only facts with all statements answered in every language count, in each draw of demonstrations, so that no language gains from
what another failed to answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from medfact.metrics.clusters import Bools, Codes
from medfact.metrics.comparison import FACT, STATEMENT, Contrast, RunRecords, Values, aligned, family_of
from medfact.metrics.records import facts_of
from medfact.metrics.uncertainty import Estimate, mean_interval


@dataclass(frozen=True)
class OverLanguages:
    """Shares of the facts that count, from 0 to 1, with 95% intervals clustered as those of a run."""

    languages: tuple[str, ...]  # the first one is compared with each of the others
    everywhere: Estimate  # facts with all answers right in all languages
    each: Mapping[str, Estimate]  # in one language
    couples: Mapping[tuple[str, str], Estimate]  # in both of two
    alone: Mapping[str, Estimate]  # in this language and in no other
    less: Mapping[str, Contrast]  # language less the first one: a family
    by_relation: Mapping[str, Mapping[str, Contrast]]  # the same within a relation: all relations and languages are a family
    by_variant: Mapping[str, Mapping[str, Estimate]]  # right answers by way of asking and language
    consistent: Estimate  # statements readable in all languages that get the same answer in all, right or wrong

    @property
    def facts(self) -> int:
        """Number of facts that count."""
        return self.everywhere.n


def over_languages(runs: Mapping[str, RunRecords]) -> OverLanguages:
    """Figures of one model's runs. runs: by language; the first one is compared with the others (English)."""
    first, *others = runs
    facts = {language: facts_of(records) for language, (records, _) in runs.items()}
    rows = dict(zip(runs, aligned([*runs.values()], FACT), strict=True))
    whole = np.logical_and.reduce([facts[language].complete[at] for language, at in rows.items()])
    rows = {language: at[whole] for language, at in rows.items()}
    mastered = {language: facts[language].mastered[at] for language, at in rows.items()}
    clusters = facts[first].clusters.of(rows[first])
    count = np.sum([*mastered.values()], axis=0)

    def share(holds: Bools) -> Estimate:
        return mean_interval(holds.astype(np.float64), clusters)

    def sides(language: str, chosen: Bools) -> Values:
        return mastered[language][chosen].astype(float), mastered[first][chosen].astype(float), clusters.of(chosen)

    records = runs[first].records
    relations = records.relations[records.first_of_fact[rows[first]]]
    present = sorted({relations.names[code] for code in relations.code.tolist()})
    within = family_of(
        {(relation, language): sides(language, relations.among([relation])) for relation in present for language in others}
    )
    return OverLanguages(
        languages=tuple(runs),
        everywhere=share(count == len(runs)),
        each={language: share(right) for language, right in mastered.items()},
        couples={(a, b): share(mastered[a] & mastered[b]) for a, b in combinations(runs, 2)},
        alone={language: share(right & (count == 1)) for language, right in mastered.items()},
        less=family_of({language: sides(language, np.ones(len(count), dtype=bool)) for language in others}),
        by_relation={relation: {language: within[relation, language] for language in others} for relation in present},
        by_variant=_by_variant(runs, rows),
        consistent=_consistent([*runs.values()]),
    )


def _by_variant(runs: Mapping[str, RunRecords], facts: Mapping[str, Codes]) -> dict[str, dict[str, Estimate]]:
    """Right answers by way and language. facts: indices of those that count."""
    variants = sorted({name for records, _ in runs.values() for name in records.variants.names})
    return {
        variant: {
            language: records.share(records.right, np.isin(records.fact, facts[language]) & records.variants.among([variant]))
            for language, (records, _) in runs.items()
        }
        for variant in variants
    }


def _consistent(sides: Sequence[RunRecords]) -> Estimate:
    """Share of the statements that are readable in every language with the same answer in all; it needs no label."""
    rows = aligned(sides, STATEMENT)
    readable = np.logical_and.reduce([records.readable[at] for (records, _), at in zip(sides, rows, strict=True)])
    first, *others = (records.answer[at[readable]] for (records, _), at in zip(sides, rows, strict=True))
    alike = np.logical_and.reduce([first == answers for answers in others])
    return mean_interval(alike.astype(np.float64), sides[0].records.clusters(rows[0][readable]))
