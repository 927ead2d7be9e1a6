"""In which relations what is known keeps a pair from being called false in another one.

Of two conditions one of which is a symptom of the other, neither is drawn as the other's cause: what holds in one relation
holds in the other, or comes too close. That a drug is contraindicated in a condition is no reason to think that it treats it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from medfact.facts import name_key

_TREATS = (
    "therapeutic drugs",
    "may treat",
    "may prevent",
    "may be prevented by",
    "first choice for",
    "drugs used in pregnancy",
)
_HARMS = (
    "contraindicated in",
    "must not be combined with",
    "contraindicated vaccines",
    "adverse effects",
    "caused by",
    "risk factors",
)

_CLOSE = (
    (*_TREATS, "surgical procedures"),
    ("surgical procedures", "diagnosed by"),
    _HARMS,
    (
        "symptoms", "disease may have finding", "disease may have associated disease", "associated morphology of",
        "disease has abnormal cell", "occurs after", "caused by", "risk factors", "adverse effects", "diagnosed by",
    ),
    (
        "affected sites", "disease has associated anatomic site", "disease has normal tissue origin",
        "disease has normal cell origin", "disease has abnormal cell",
    ),
    (
        "disease mapped to gene", "disease has associated gene", "disease may have molecular abnormality",
        "related to genetic biomarker", "caused by", "risk factors", "diagnosed by",
    ),
    (
        "gene encodes gene product", "gene product has associated anatomy", "gene product has biochemical function",
        "gene product plays role in biological process",
    ),
    ("has physiologic effect", "adverse effects"),
)  # fmt: skip
"""Relations of which one implies the other, from whichever end it is said, or comes too close to it: a biopsy may cure, and a
risk factor may be called a cause.
"""

_ONE_WAY = dict.fromkeys(_HARMS, _TREATS)
"""Relation → those that come close to it, while it does not come close to them. A drug may do harm in the very illness that it
treats: those for an arrhythmia cause others. A contraindication alone does not make a treatment true.
"""


def _barring() -> Mapping[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for group in _CLOSE:
        for one in group:
            found[name_key(one)].update(map(name_key, group))
    for one, close in _ONE_WAY.items():
        found[name_key(one)].update(map(name_key, close))
    return {name: frozenset(close) for name, close in found.items()}


_BARRING = _barring()


def keeps_from_false(known_in: str, relation: str) -> bool:
    """Whether a pair that is known in one relation must not be called false in another: in one that is close to it, and in one
    whose name is not known here.
    """
    close, known = _BARRING.get(name_key(relation)), name_key(known_in)
    return close is None or known not in _BARRING or known in close
