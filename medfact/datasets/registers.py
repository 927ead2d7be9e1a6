"""What is known of where facts come from: the sources of the bundled sets by name, and where identifiers can be looked up."""

from __future__ import annotations

import re

from medfact.datasets.bundled import sources
from medfact.facts import Fact

REGISTERS = {
    r"DOID:\d{1,9}": ("Disease Ontology", "https://disease-ontology.org/?id={}"),
    r"DB\d{5}": ("DrugBank", "https://go.drugbank.com/drugs/{}"),
    r"UBERON:\d{7}": ("Uberon, an atlas of anatomy", "https://www.ebi.ac.uk/ols4/search?q={}"),
    r"SYMP:\d{7}": ("Symptom Ontology", "https://www.ebi.ac.uk/ols4/search?q={}"),
    r"https://dailymed\.nlm\.nih\.gov/dailymed/search\.cfm\?labeltype=all&query=[\w%+-]+": (
        "the drug's labels at DailyMed",
        "{}",
    ),
}
"""Shape of an identifier → what it is looked up in, and where. Only what has exactly such a shape becomes a link; nothing else
from a file does."""


def about_source(name: str) -> str:
    """What a source of the bundled sets is; "" of any other."""
    return sources().get(name, "")


def links_of(fact: Fact) -> list[tuple[str, str, str]]:
    """The identifiers of a fact that can be looked up: each with the name of the register, and its address there."""
    identifiers = dict.fromkeys(filter(None, (fact.head_id, fact.tail_id, fact.source_id)))
    return [
        (identifier, register, address.format(identifier))
        for identifier in identifiers
        for shape, (register, address) in REGISTERS.items()
        if re.fullmatch(shape, identifier)
    ]
