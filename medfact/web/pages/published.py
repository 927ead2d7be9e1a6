"""The published runs on the page Runs: those that whoever runs the server shows to all, in groups that were asked the same."""

from __future__ import annotations

import time
from collections import Counter

from markupsafe import Markup

from medfact.caching import KeyedLock, shared_cache
from medfact.errors import MedfactError
from medfact.results.compare import Side
from medfact.results.gallery import Shown, gallery
from medfact.results.live import POLL_SECONDS, Live, Version
from medfact.store import Published, Run
from medfact.views.fragments import render
from medfact.web.pages import Visitor
from medfact.web.services import Services
from medfact.web.upload_gate import NotNow

LOOKED_UP_SECONDS = 3.0
"""How long a page may go on without the link to the first run that was just published."""

WAIT_SECONDS, AGAIN_SECONDS = 2.0, 3
"""How long a look waits for another that compares the runs, and when to ask again where that takes longer."""

_alone = KeyedLock()


def published(visitor: Visitor) -> tuple[Markup, float | None]:
    """All that is published, and when to look again. Raises NotNow where others wait for it too."""
    services = visitor.services
    try:
        with _alone.acquire(timeout=WAIT_SECONDS):  # one visitor's look serves all who wait for it
            lives = _published(services)
            fragment = _drawn(services, tuple((publication, live.version) for publication, live in lives))
    except TimeoutError:
        raise NotNow("The published runs are being compared.", AGAIN_SECONDS) from None
    going = any(live.going or live.behind for _, live in lives)
    return fragment, max(POLL_SECONDS, services.reports.pace()) if going else None


def runs_of_all(services: Services) -> list[Run]:
    """The runs that the host shows to all."""
    return [live.run for _, live in _published(services)]


def _published(services: Services) -> list[tuple[Published, Live]]:
    found = []
    for publication in services.store.publications.published():
        try:
            found.append((publication, services.reports.live(publication.run)))
        except MedfactError:  # it was deleted just now
            continue
    return found


@shared_cache(4)
def _drawn(services: Services, versions: tuple[tuple[Published, Version], ...]) -> Markup:
    """Kept until a run is published or withdrawn, or one of them changes."""
    groups = gallery([_shown(services, publication) for publication, _ in versions])
    shared = [Counter(entry.place.first for entry in group.entries if entry.place) for group in groups]
    return render("runs_published", groups=list(zip(groups, shared, strict=True)))


def _shown(services: Services, publication: Published) -> Shown:
    reports, live = services.reports, services.reports.live(publication.run)
    return Shown(publication, Side(live.run, reports.board(publication.run)), live.report)


def is_open(services: Services) -> bool:
    """Whether anything is published, as of a moment ago."""
    return bool(_ids(services, int(time.monotonic() / LOOKED_UP_SECONDS)))


def is_published(services: Services, run: str) -> bool:
    """Whether a run is published, as of a moment ago."""
    return run in _ids(services, int(time.monotonic() / LOOKED_UP_SECONDS))


@shared_cache(4)
def _ids(services: Services, _: int) -> frozenset[str]:
    return frozenset(one.run for one in services.store.publications.published())
