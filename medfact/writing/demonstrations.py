"""The demonstrations of rephrased statements are rephrased too, so that a run of prototypes differs in rephrasing alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medfact.prototypes import Pool
from medfact.runs.demonstrations import Groups
from medfact.runs.start import partners_of
from medfact.store import Asked, Plan
from medfact.writing.sentences import Sentence

SHOWN = ""
"""The group of a statement that is written to be shown as a demonstration: none stand before it, and it is not asked."""


def with_demonstrations(planned: Plan, pool: Pool) -> Plan:
    """The plan with the statements that are shown, after those that are asked: both are rephrased."""
    asked = {item.shots_of for item in planned.statements}
    texts = {shot.text for group, shots in planned.demonstrations.items() if group in asked for shot in shots}
    aside = list(pool.statements(planned.aside)) if texts else []
    shown = {one.text: Asked(one, SHOWN) for one in aside if one.text in texts}
    statements = (*planned.statements, *shown.values())
    return replace(planned, statements=statements, partners=(*planned.partners, *partners_of(statements, aside)))


def rephrased_shots(groups: Groups, shown: Sequence[Sentence]) -> Groups:
    """The demonstrations in the words that were written for them; those whose rephrasings were stopped, as they are."""
    words = {sentence.prototype.text: sentence.text or sentence.prototype.text for sentence in shown}
    return {
        group: tuple(replace(shot, text=words.get(shot.text, shot.text)) for shot in shots) for group, shots in groups.items()
    }
