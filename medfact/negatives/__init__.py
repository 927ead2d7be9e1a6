"""Negative facts (false partners of true facts): safe to call false, and of known difficulty.

A random tail of the same relation is often true of the head, even if no fact lists it: `rules` excludes such candidates.
`difficulty` distinguishes near from far ones. `draw` balances the draws, so that a tail's frequency gives no hint of the label.
"""

from medfact.negatives.difficulty import CLOSEST, DIFFICULTIES, FAR, JUDGED, NEAR
from medfact.negatives.draw import ANY, PREFERENCES, PUBLISHED, closest_negative, difficulty_of, draw_negatives
from medfact.negatives.rules import RULES, ExclusionCounts, count_exclusions

__all__ = [
    "ANY",
    "CLOSEST",
    "DIFFICULTIES",
    "FAR",
    "JUDGED",
    "NEAR",
    "PREFERENCES",
    "PUBLISHED",
    "RULES",
    "ExclusionCounts",
    "closest_negative",
    "count_exclusions",
    "difficulty_of",
    "draw_negatives",
]
