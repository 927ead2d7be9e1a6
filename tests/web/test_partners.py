"""The page “Are these really false?” over HTTP: what is said there is one's own, and text stays text."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from strangers import laptop, laptop_home, open_store  # noqa: F401
from visitors import Visitor

HOSTILE = '<img src=x onerror=alert(1)> "pox"'
TABLE = "head,relation,tail\n" + "".join(
    f"{head},symptoms,{tail}\n"
    for head, tails in (
        ('"' + HOSTILE.replace('"', '""') + '"', ("blue toes", "${alert(1)}")),
        ("zebra pox", ("stripes", "hoof pain")),
        ("lion pox", ("mane loss", "roaring")),
    )
    for tail in tails
)


@pytest.fixture
def ann(laptop: str) -> Iterator[Visitor]:  # noqa: F811
    with Visitor(laptop, as_host=False) as visitor:
        visitor.press_button("take_file", visitor.upload("pox.csv", TABLE.encode()))
        yield visitor


def buttons(fragment: str) -> dict[str, str]:
    """Action of a button → what it is about."""
    found = (json.loads(html.unescape(text)) for text in re.findall(r'data-action="([^"]+)"', fragment))
    return {one["name"]: one["about"] for one in found if "about" in one}


def test_what_is_said_is_ones_own(ann: Visitor, laptop: str, laptop_home: Path) -> None:  # noqa: F811
    first = ann.fetch_page("partners")["fragments"]["partners"]
    assert "1 of 6" in first
    about = buttons(first)["can_be_true"]
    with Visitor(laptop, as_host=False) as ben:
        assert "nothing to check" in ben.fetch_page("partners")["fragments"]["partners"]
        for name in ("keep_false", "can_be_true"):
            assert "needs no check any more" in ben.press_button(name, about, page_name="partners")["fragments"]["said"]
        after = ann.press_button("can_be_true", about, page_name="partners")["fragments"]
        assert "will not be called false" in after["said"]
        assert "2 of 7" in after["partners"]
        assert buttons(after["partners"])["can_be_true"] != about
        ben.press_button("back", about, page_name="partners")  # of Ann's
        assert open_store(laptop_home, ben.owner).decisions.on_partners() == []
    (said,) = open_store(laptop_home, ann.owner).decisions.on_partners()
    assert (f"{said.fact_id}:{said.tail}", said.relation, said.confirmed) == (about, "symptoms", False)
    assert "1 of 6" in ann.press_button("back", about, page_name="partners")["fragments"]["partners"]
    assert (
        "needs no check any more"
        in ann.press_button("keep_false", "of no fact:itch", page_name="partners")["fragments"]["said"]
    )


def test_the_end_counts_what_was_said_and_names_stay_text(ann: Visitor) -> None:
    """Six cards and one that was drawn anew, hostile names among them, until none is left."""
    preview = ann.fetch_page()["fragments"]["facts"]
    assert "Nobody has checked 6 of 6 false facts." in preview
    assert "PRESUMED FALSE (test statement)" in preview
    shown = ann.fetch_page("partners")["fragments"]["partners"]
    rejected = ann.press_button("can_be_true", buttons(shown)["can_be_true"], page_name="partners")["fragments"]["partners"]
    seen = [shown, rejected]
    while "keep_false" in buttons(seen[-1]):
        seen.append(
            ann.press_button("keep_false", buttons(seen[-1])["keep_false"], page_name="partners")["fragments"]["partners"]
        )
    assert len(seen) == 8
    assert "6 kept as false, 1 rejected: 1 of them drawn anew" in " ".join(seen[-1].split())
    assert any("&lt;img src=x onerror=alert(1)&gt;" in one for one in seen)
    assert not any("<img" in one for one in seen)
    assert "Nobody has checked" not in ann.fetch_page()["fragments"]["facts"]
    assert "PRESUMED" not in ann.fetch_page("facts")["fragments"]["cards"]
