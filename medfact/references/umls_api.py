"""The UMLS REST API: a term's concept, its semantic types and its relations. It takes a UMLS licence and its key.

https://documentation.uts.nlm.nih.gov/rest/home.html
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from medfact.errors import ReferenceDown
from medfact.references.reference import Reference

ADDRESS = "https://uts-ws.nlm.nih.gov"
PAUSE = 0.06
"""Seconds between two requests: the API allows 20 a second."""

PAGE_SIZE, MOST_PAGES = 100, 10
"""Relations that one request brings, and requests for one concept."""

HINT = "Check the network and UMLS_API_KEY, or give a UMLS folder with --umls: it needs neither."


class Concept(NamedTuple):
    """types: semantic types in alphabetical order."""

    cui: str
    name: str
    types: tuple[str, ...]


class Relation(NamedTuple):
    """What a concept has to another, as the API names it (`may_be_treated_by`)."""

    relation: str
    cui: str
    name: str


class UmlsApi:
    """Asks the API, or the mirror that MEDFACT_UMLS_URL names. kept: the file of its answers: nothing is asked twice."""

    def __init__(self, kept: Path | None = None) -> None:
        self._key = os.environ.get("UMLS_API_KEY", "").strip()
        if not self._key:
            raise ReferenceDown("The UMLS REST API wants a key, and UMLS_API_KEY is not set.", HINT)
        self.reference = Reference("The UMLS REST API", os.environ.get("MEDFACT_UMLS_URL", ADDRESS), PAUSE, HINT, kept)

    def _get(self, path: str, **params: str) -> Any:
        reply = self.reference.get(f"/rest/{path}", params, {"apiKey": self._key})
        return reply.get("result") if isinstance(reply, dict) else None

    def search(self, term: str) -> str | None:
        """The CUI that the API finds first for a term; None where it finds none."""
        result = self._get("search/current", string=term, pageSize="1")
        found = result.get("results") if isinstance(result, dict) else None
        first = found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else {}
        cui = first.get("ui")
        return cui if isinstance(cui, str) and _is_cui(cui) else None

    def concept(self, cui: str) -> Concept | None:
        """A concept; None where the API has none of that CUI."""
        result = self._get(f"content/current/CUI/{cui}")
        if not isinstance(result, dict) or not isinstance(result.get("name"), str):
            return None
        types = result.get("semanticTypes")
        names = (one.get("name") for one in types if isinstance(one, dict)) if isinstance(types, list) else ()
        return Concept(cui, result["name"], tuple(sorted(name for name in names if isinstance(name, str))))

    def relations(self, cui: str) -> Iterator[Relation]:
        """The relations of a concept to others, in the order of the API."""
        for page in range(1, MOST_PAGES + 1):
            result = self._get(f"content/current/CUI/{cui}/relations", pageNumber=str(page), pageSize=str(PAGE_SIZE))
            listed = result if isinstance(result, list) else []
            for one in listed:
                relation, name, address = (one.get(key) for key in ("additionalRelationLabel", "relatedIdName", "relatedId"))
                other = address.rstrip("/").rpartition("/")[2] if isinstance(address, str) else ""
                if isinstance(relation, str) and relation and isinstance(name, str) and _is_cui(other):
                    yield Relation(relation, other, name)
            if len(listed) < PAGE_SIZE:
                return


def _is_cui(text: str) -> bool:
    return len(text) == 8 and text[0] == "C" and text[1:].isdigit()
