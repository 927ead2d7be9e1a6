"""Links that were handed out when all of an evaluation was at the server's own address, and a comparison had a page."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from medfact.web.pages import MOST_VALUES

MOVED = {"run": "evaluate", "writing": "evaluate", "drafts": "evaluate", "studio": "evaluate"}
"""A field of the first page's address → the page that has it now."""

COMPARE, GALLERY = "/compare", "/gallery"
"""The page of runs beside each other, which is the page of an evaluation with several now, and that of published runs."""

DEMONSTRATIONS = {"tour": "tour", "game": "game"}


def moved(path: str, query: str) -> str | None:
    """Where an old link leads now, as seen from it; None for an address that is no such link."""
    page = path.rstrip("/") or "/"
    if page == GALLERY:
        there: str | None = "runs?of=published"
    elif page == COMPARE:
        there = _compared(_told(query).get("runs", ""))
    else:
        there = _first(_told(query)) if page == "/" else None
    return there and f"{'../' if path not in ('/', page) else ''}{there}"


def _told(query: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(query, max_num_fields=MOST_VALUES))
    except ValueError:  # there are more
        return {}


def _compared(runs: str) -> str:
    return f"evaluate?{urlencode({'run': runs, 'tab': 'facts'}, safe=',')}" if runs else "runs"


def _first(told: dict[str, str]) -> str | None:
    page = next((MOVED[name] for name in MOVED if name in told), DEMONSTRATIONS.get(told.pop("demo", "")))
    return page and f"{page}{'?' if told else ''}{urlencode(told, safe=',:')}"
