"""Clients of external databases (PubMed, the UMLS): rate-limited requests, cached answers, an error if the database is down."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from medfact.errors import ReferenceDown
from medfact.facts import digest
from medfact.proxies import check_proxies

_log = logging.getLogger(__package__)

MAX_ATTEMPTS = 3
"""Maximum number of attempts per request, the first included."""

TIMEOUT_SECONDS = 20.0
"""Timeout of an attempt."""

MAX_REPLY_BYTES = 16 << 20
"""Maximum size of a reply; a longer one counts as missing."""

_RETRIED_STATUSES = frozenset({429, 500, 502, 503, 504})


class ReferenceClient:
    """Client of an external database that answers GET requests with JSON.

    The file of cached answers has one JSON array [hash of the request, answer] a line, so a killed process repeats no request.

    Args:
        name: name of the database in messages.
        base_url: an https address, or one on this machine.
        pause: seconds between two requests.
        hint: remedy in messages if the database is down.
        cache: file of cached answers; None caches them in memory.
    """

    def __init__(self, name: str, base_url: str, pause: float, hint: str, cache: Path | None = None) -> None:
        self.name, self.base_url, self.hint = name, base_url.rstrip("/"), hint
        self._pause, self._cache, self._due_at = pause, cache, 0.0
        self._answers = _read_cache(cache) if cache else {}
        self.request_count = 0

    def get(
        self,
        path: str,
        params: Mapping[str, str],
        private: Mapping[str, str] | None = None,
        usable: Callable[[Any], bool] = lambda _: True,
    ) -> Any:
        """Requests the JSON at a path, or returns it from the cache. Returns None for a missing page or too large a reply.

        Args:
            private: parameters such as a key, which are sent, and neither cached nor shown.
            usable: returns False for an answer that must not be cached, such as an error in JSON.

        Raises ReferenceDown without network, on an error status and on invalid JSON; Mistake if a proxy cannot be used.
        """
        request_key = digest(self.base_url, path, json.dumps(params, sort_keys=True))
        if request_key not in self._answers:
            answer = self._fetch(path, {**params, **(private or {})})
            if not usable(answer):
                return answer
            self._append_to_cache(request_key, answer)
            self._answers[request_key] = answer
        return self._answers[request_key]

    def _fetch(self, path: str, params: Mapping[str, str]) -> Any:
        """Sends a request, and repeats it while the database is overloaded or unreachable."""
        import httpx2

        check_proxies()
        for attempt in range(MAX_ATTEMPTS):
            self._wait_until_due(attempt)
            self.request_count += 1
            try:
                reply = httpx2.get(
                    f"{self.base_url}{path}", params=dict(params), timeout=TIMEOUT_SECONDS, follow_redirects=False
                )
            except (httpx2.HTTPError, httpx2.InvalidURL, OSError, UnicodeError):
                _log.debug("A reference database did not answer.", exc_info=True)
                continue
            if reply.status_code not in _RETRIED_STATUSES:
                return self._parse_reply(reply.status_code, reply.content)
        raise ReferenceDown(f"{self.name} cannot be reached.", self.hint)

    def _wait_until_due(self, attempt: int) -> None:
        """Sleeps until the next request is due; longer before each retry."""
        due = max(self._due_at, time.monotonic() + (self._pause * 2**attempt if attempt else 0.0))
        time.sleep(max(0.0, due - time.monotonic()))
        self._due_at = time.monotonic() + self._pause

    def _parse_reply(self, status: int, content: bytes) -> Any:
        """Parses the JSON of a reply by its HTTP status; None for 404 and for too large a reply."""
        if status in (401, 403):
            raise ReferenceDown(f"{self.name} rejected this key (HTTP {status}).", self.hint)
        if status == 404:
            return None
        if status != 200:
            raise ReferenceDown(f"{self.name} refuses the request (HTTP {status}).", self.hint)
        try:
            return json.loads(content) if len(content) <= MAX_REPLY_BYTES else None
        except (ValueError, RecursionError):
            raise ReferenceDown(f"{self.name} answered with something that is not JSON.", self.hint) from None

    def _append_to_cache(self, request_key: str, answer: Any) -> None:
        """Appends an answer to the cache file, if there is one, and waits until it is on the disk."""
        if self._cache is None:
            return
        self._cache.parent.mkdir(parents=True, exist_ok=True)
        with self._cache.open("ab") as file:
            file.write(json.dumps([request_key, answer]).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())


def _read_cache(cache: Path) -> dict[str, Any]:
    """Reads the file of cached answers (hash of a request → answer), and removes an incomplete last line from it."""
    answers: dict[str, Any] = {}
    if not cache.is_file():
        return answers
    whole = 0
    with cache.open("r+b") as file:
        for line in file:
            try:
                request_key, answer = json.loads(line)
            except ValueError:
                break
            if not line.endswith(b"\n"):
                break
            answers[request_key] = answer
            whole += len(line)
        file.truncate(whole)
    return answers


PUBMED_ADDRESS = "https://eutils.ncbi.nlm.nih.gov"
PUBMED_SEARCH_PATH = "/entrez/eutils/esearch.fcgi"

REQUESTS_A_SECOND, REQUESTS_A_SECOND_WITH_KEY = 3, 10
"""Rate limits of NCBI without a key and with one."""

PUBMED_HINT = "Counts so far are kept. Try again later, or bring frequencies as a file."


class PubMed:
    """Client that counts PubMed's articles with a term: one request a term, within NCBI's rate limit.

    The address is that of NCBI, or `MEDFACT_PUBMED_URL` (a mirror). `NCBI_API_KEY` raises the rate; the key is sent, and
    neither cached nor shown. `request_count` is the number of calls of `count`, `cached_count` that of calls that the cache
    answered.

    Args:
        cache: file of cached answers; None caches them in memory.
    """

    def __init__(self, cache: Path | None = None) -> None:
        key = os.environ.get("NCBI_API_KEY", "").strip()
        self._private = {"api_key": key} if key else {}
        pause = 1 / (REQUESTS_A_SECOND_WITH_KEY if key else REQUESTS_A_SECOND)
        self._client = ReferenceClient(
            "PubMed", os.environ.get("MEDFACT_PUBMED_URL") or PUBMED_ADDRESS, pause, PUBMED_HINT, cache
        )
        self.request_count = self.cached_count = 0

    @property
    def host(self) -> str:
        """Host of the database's address, with its port if the address has one."""
        return urlsplit(self._client.base_url).netloc or self._client.base_url

    def count(self, term: str) -> int:
        """Number of articles that contain a phrase. Raises ReferenceDown if PubMed is unavailable or gives no count."""
        before = self._client.request_count
        count = self.count_cooccurrences(term)
        self.request_count += 1
        self.cached_count += self._client.request_count == before
        return count

    def count_cooccurrences(self, *terms: str) -> int:
        """Number of articles that contain all of these phrases. Raises ReferenceDown as `count` does.

        PubMed would search a phrase outside its index as single words; such phrases are searched as adjacent words.
        """
        phrases = [*map(_quote_phrase, terms)]
        result = self._search(" AND ".join(phrases))
        if (result.get("warninglist") or {}).get("quotedphrasesnotfound"):
            result = self._search(" AND ".join(f"{phrase}[Title/Abstract:~0]" for phrase in phrases))
        return int(result["count"])

    def _search(self, query: str) -> Mapping[str, Any]:
        """Searches PubMed with a query in its syntax; returns the result, with its count."""
        params = {"db": "pubmed", "term": query, "retmode": "json", "retmax": "0", "tool": "medfact"}
        answer = self._client.get(
            PUBMED_SEARCH_PATH, params, self._private, usable=lambda answer: _search_result(answer) is not None
        )
        result = _search_result(answer)
        if result is None:
            raise ReferenceDown("PubMed answered without a count.", PUBMED_HINT)
        return result


def _quote_phrase(term: str) -> str:
    """Quotes a term as a phrase in PubMed's syntax."""
    return '"' + " ".join(term.replace('"', " ").split()) + '"'


def _search_result(answer: Any) -> Mapping[str, Any] | None:
    """Selects the search result from PubMed's JSON; None if it has no valid count."""
    result = answer.get("esearchresult") if isinstance(answer, dict) else None
    if not isinstance(result, dict) or not isinstance(result.get("warninglist") or {}, dict):
        return None
    count = str(result.get("count", ""))
    return result if count.isascii() and count.isdigit() and len(count) < 16 else None


UMLS_ADDRESS = "https://uts-ws.nlm.nih.gov"
UMLS_PAUSE_SECONDS = 0.06
"""Seconds between two requests: the API allows 20 a second."""

PAGE_SIZE, MAX_PAGES = 100, 10
"""Relations per request, and maximum number of requests per concept."""

UMLS_HINT = "Check the network and UMLS_API_KEY, or give a UMLS folder with --umls: it needs neither."


class Concept(NamedTuple):
    """A concept of the UMLS. types: semantic types in alphabetical order."""

    cui: str
    name: str
    types: tuple[str, ...]


class Relation(NamedTuple):
    """A relation to another concept, `cui` with its preferred `name`. relation: as in the API, such as `may_be_treated_by`."""

    relation: str
    cui: str
    name: str


class UmlsApi:
    """Client of the UMLS REST API, or of the mirror in MEDFACT_UMLS_URL. cache: file of cached answers."""

    def __init__(self, cache: Path | None = None) -> None:
        self._key = os.environ.get("UMLS_API_KEY", "").strip()
        if not self._key:
            raise ReferenceDown("The UMLS REST API wants a key, and UMLS_API_KEY is not set.", UMLS_HINT)
        self._client = ReferenceClient(
            "The UMLS REST API", os.environ.get("MEDFACT_UMLS_URL", UMLS_ADDRESS), UMLS_PAUSE_SECONDS, UMLS_HINT, cache
        )

    def _get(self, path: str, **params: str) -> Any:
        """Requests a path of the API; returns `result` of its JSON, None without one."""
        reply = self._client.get(f"/rest/{path}", params, {"apiKey": self._key})
        return reply.get("result") if isinstance(reply, dict) else None

    def search(self, term: str) -> str | None:
        """Searches a term; returns the CUI of the first result, None without results."""
        result = self._get("search/current", string=term, pageSize="1")
        hits = result.get("results") if isinstance(result, dict) else None
        first = hits[0] if isinstance(hits, list) and hits and isinstance(hits[0], dict) else {}
        cui = first.get("ui")
        return cui if isinstance(cui, str) and _is_cui(cui) else None

    def concept(self, cui: str) -> Concept | None:
        """Requests a concept by its CUI; None if the API has none."""
        result = self._get(f"content/current/CUI/{cui}")
        if not isinstance(result, dict) or not isinstance(result.get("name"), str):
            return None
        types = result.get("semanticTypes")
        names = (entry.get("name") for entry in types if isinstance(entry, dict)) if isinstance(types, list) else ()
        return Concept(cui, result["name"], tuple(sorted(name for name in names if isinstance(name, str))))

    def relations(self, cui: str) -> Iterator[Relation]:
        """Yields the relations of a concept to others, in the order of the API."""
        for page in range(1, MAX_PAGES + 1):
            result = self._get(f"content/current/CUI/{cui}/relations", pageNumber=str(page), pageSize=str(PAGE_SIZE))
            listed = result if isinstance(result, list) else []
            for entry in listed:
                relation, name, address = (entry.get(key) for key in ("additionalRelationLabel", "relatedIdName", "relatedId"))
                other = address.rstrip("/").rpartition("/")[2] if isinstance(address, str) else ""
                if isinstance(relation, str) and relation and isinstance(name, str) and _is_cui(other):
                    yield Relation(relation, other, name)
            if len(listed) < PAGE_SIZE:
                return


def _is_cui(text: str) -> bool:
    return len(text) == 8 and text[0] == "C" and text[1:].isdigit()
