"""The visitor's own file of facts, where one is chosen on the page Evaluate."""

from __future__ import annotations

from medfact.web.pages import Visitor
from medfact.web.services import OWN_DATA as OWN_DATA
from medfact.web.services import Source


def own_source(visitor: Visitor) -> Source | None:
    """The visitor's own file, if it is what Evaluate was last given."""
    choice = visitor.services.choices.of(visitor.owner)
    return choice.source if choice and "facts" in choice.source else None


def own_name(source: Source) -> str:
    """What to call it: the file's name, without its folder."""
    return f"your file {str(source['facts']).replace(chr(92), '/').rpartition('/')[2]}"
