"""Close relations: a pair that is known in one is never called false in the other.

A symptom of a condition is not drawn as its cause: what holds in one relation holds in the other, or comes too close. But a
contraindication does not make a treatment true, so a contraindicated drug may be drawn as a false treatment.
"""

from __future__ import annotations

from collections import defaultdict

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
"""Groups of relations that imply each other, in either direction, or come too close: a biopsy may cure, and a risk factor may
be called a cause. Treatments also keep harms from being called false, but not the reverse: drugs for one arrhythmia cause
others.
"""

_BARRING: defaultdict[str, set[str]] = defaultdict(set)
"""Relation → the relations in which a known pair keeps it from being called false."""

for _close in _CLOSE:
    for _relation in _close:
        _BARRING[name_key(_relation)].update(map(name_key, _close))
for _relation in _HARMS:
    _BARRING[name_key(_relation)].update(map(name_key, _TREATS))


def keeps_from_false(known_in: str, relation: str) -> bool:
    """Returns True if a pair that is known in one relation must not be called false in another.

    That is the case in close relations, and in relations that are not listed here.
    """
    source, target = name_key(known_in), name_key(relation)
    return target not in _BARRING or source not in _BARRING or source in _BARRING[target]
