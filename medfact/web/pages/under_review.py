"""What reviewers say of the runs on the page Evaluate: scores under their verdicts, reliability of the labels, agreement."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from medfact.kept import keep
from medfact.results.live import Live, Version
from medfact.reviews.summary import Summary, summary
from medfact.reviews.text import FIGURES, SCORES, agreed, changes, where
from medfact.views.fragments import render
from medfact.web.pages import Visitor
from medfact.web.services import Services


def under_review(visitor: Visitor, lives: Mapping[str, Live]) -> Markup:
    """The section "Under review" of runs; where nobody has judged a fact of theirs, only the way to do so."""
    last = visitor.services.store.verdicts.version()
    found = {
        name: _summary(visitor.services, live.run.run, visitor.reviewers, last, live.version) for name, live in lives.items()
    }
    return render(
        "under_review",
        summaries={name: made for name, made in found.items() if made is not None and made.facts_reviewed},
        ids=",".join(live.run.run for live in lives.values()),
        scores=SCORES,
        figures=FIGURES,
        changes=changes,
        where=where,
        agreed=agreed,
        everybody=not visitor.reviewers,
    )


@keep(64)
def _summary(services: Services, run: str, owners: tuple[str, ...], _: tuple[int, int, str], __: Version) -> Summary | None:
    """Kept for each version of the run's answers, and until there is another verdict; None where there is none yet."""
    return summary(services.store, run, owners) if services.store.verdicts.is_judged(run, owners) else None
