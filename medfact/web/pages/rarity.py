"""The section "Where knowledge runs out" of runs: right answers against the frequencies in a table that the visitor brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from medfact.caching import shared_cache
from medfact.datasets.isolated import fails_again, read_frequencies_isolated
from medfact.errors import MedfactError
from medfact.results import plots
from medfact.results.findings import of_rarity
from medfact.results.live import Live, Version
from medfact.results.rarity import FactPoint, Rarity, rarity_of
from medfact.results.text import RARITY_OF, describe_slope
from medfact.results.wording import counted
from medfact.views.fragments import render
from medfact.web.pages import Action, Message, Visitor
from medfact.web.services import Services


def rarity(visitor: Visitor, show: Any, lives: Mapping[str, Live]) -> Markup:
    """The section; how to bring frequencies as long as there are none."""
    if not any(live.report.answered for live in lives.values()):
        return Markup()
    sections, problem = [], ""
    if show.frequencies:
        try:
            file = visitor.services.uploads.of(visitor.owner, show.frequencies)
            _frequencies(file)
            sections = [_section(visitor.services, name, live, file) for name, live in lives.items()]
        except MedfactError as error:
            problem = error.public
    return render(
        "rarity",
        name=Path(show.frequencies).name if show.frequencies and not problem else "",
        problem=problem,
        sections=sections,
        fits={name: title for name, title in RARITY_OF.items() if not name.startswith("by_together")},  # a table cannot tell
        slope=describe_slope,
        run=next(iter(lives.values())).run.run,
    )


def _section(services: Services, name: str, live: Live, file: Path) -> dict[str, Any]:
    """What is drawn of a run: its view and its plot, or why there is none."""
    if live.going:
        return {"name": name, "why": "The line is drawn when the run has ended.", "view": None, "plot": {}, "finding": ""}
    try:
        view, points = _made(services, live.run.run, file, live.version)
    except MedfactError as error:
        return {"name": name, "why": error.public, "view": None, "plot": {}, "finding": ""}
    return {"name": name, "why": "", "view": view, "plot": plots.rarity(view, points), "finding": of_rarity(name, view)}


_frequencies = shared_cache(8, is_permanent=fails_again)(read_frequencies_isolated)


@shared_cache(16)
def _made(services: Services, run: str, file: Path, _: Version) -> tuple[Rarity, Sequence[FactPoint]]:
    """Kept for each version of a run's answers. The folder of an uploaded file is named by its content."""
    return rarity_of(services.store, run, _frequencies(file), services.reports.board(run))


def take_frequencies(visitor: Visitor, show: Any, action: Action) -> tuple[Any, Message]:
    """Takes an uploaded table of terms and counts."""
    file = visitor.services.uploads.of(visitor.owner, action.about)
    found = _frequencies(file)
    left_out = f"; {counted(len(found.problems), 'row')} left out, the first: {found.problems[0]}" if found.problems else ""
    message = Message(f"{file.name}: {counted(len(found.counts), 'name')} with a frequency{left_out}.", "good")
    return show.model_copy(update={"frequencies": visitor.services.uploads.name_of(file)}), message
