"""In how many articles PubMed finds a term, through NCBI's E-utilities (https://www.ncbi.nlm.nih.gov/books/NBK25497/)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from medfact.errors import ReferenceDown
from medfact.references.reference import Reference

ADDRESS = "https://eutils.ncbi.nlm.nih.gov"
SEARCH = "/entrez/eutils/esearch.fcgi"

REQUESTS_A_SECOND, REQUESTS_A_SECOND_WITH_KEY = 3, 10
"""What NCBI allows without a key and with one."""

HINT = "Counts so far are kept. Try again later, or bring frequencies as a file."


class PubMed:
    """PubMed, asked politely: each term once, no faster than NCBI allows.

    kept: the file of its answers; None keeps them in memory. Its address is that of NCBI, or `MEDFACT_PUBMED_URL` (a mirror).
    `NCBI_API_KEY` lets it ask faster; the key is sent, and neither kept nor shown.
    asked, from_file: how many terms were asked about, and of how many the count was known already.
    """

    def __init__(self, kept: Path | None = None) -> None:
        key = os.environ.get("NCBI_API_KEY", "").strip()
        self._private = {"api_key": key} if key else {}
        pause = 1 / (REQUESTS_A_SECOND_WITH_KEY if key else REQUESTS_A_SECOND)
        self._reference = Reference("PubMed", os.environ.get("MEDFACT_PUBMED_URL") or ADDRESS, pause, HINT, kept)
        self.asked = self.from_file = 0

    @property
    def host(self) -> str:
        """Who is asked."""
        return urlsplit(self._reference.base_url).netloc or self._reference.base_url

    def count(self, term: str) -> int:
        """The articles that hold this phrase. Raises ReferenceDown where PubMed cannot be asked or gives no count."""
        before = self._reference.asked
        count = self.count_together(term)
        self.asked += 1
        self.from_file += self._reference.asked == before
        return count

    def count_together(self, *terms: str) -> int:
        """The articles that hold all of these phrases. Raises as `count` does.

        A phrase outside its index would be searched as single words: such phrases are asked by words beside each other.
        """
        phrases = [*map(_phrase, terms)]
        found = self._search(" AND ".join(phrases))
        if (found.get("warninglist") or {}).get("quotedphrasesnotfound"):
            found = self._search(" AND ".join(f"{phrase}[Title/Abstract:~0]" for phrase in phrases))
        return int(found["count"])

    def _search(self, query: str) -> Mapping[str, Any]:
        params = {"db": "pubmed", "term": query, "retmode": "json", "retmax": "0", "tool": "medfact"}
        answer = self._reference.get(SEARCH, params, self._private, usable=lambda answer: _result(answer) is not None)
        found = _result(answer)
        if found is None:
            raise ReferenceDown("PubMed answered without a count.", HINT)
        return found


def _phrase(term: str) -> str:
    return '"' + " ".join(term.replace('"', " ").split()) + '"'


def _result(answer: Any) -> Mapping[str, Any] | None:
    """What a search found, if the answer says how many."""
    found = answer.get("esearchresult") if isinstance(answer, dict) else None
    if not isinstance(found, dict) or not isinstance(found.get("warninglist") or {}, dict):
        return None
    count = str(found.get("count", ""))
    return found if count.isascii() and count.isdigit() and len(count) < 16 else None
