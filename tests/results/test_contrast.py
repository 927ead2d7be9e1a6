"""The colours of figures can be seen in both modes: text by 4.5 : 1, marks by 3 : 1, as WCAG 2 computes contrast."""

import re

import pytest

from medfact.results.plots import _OF_PARTS, COLOURS, ON_BARS, SYMBOLS
from medfact.views.fragments import GLYPHS
from medfact.web.layout import style, theme


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def lines_of(selector: str) -> list[str]:
    """The colours of lines that the style declares for a mode."""
    (rule,) = re.findall(rf"^{re.escape(selector)} {{([^}}]*--mf-line-0[^}}]*)}}", style(), re.MULTILINE)
    found = dict(re.findall(r"(--mf-line-\d): (#[0-9A-F]{6})", rule))
    return [found[f"--mf-line-{place}"] for place in range(len(COLOURS))]


MODES = {
    "light": (lines_of(":root"), ["#ffffff", theme().neutral_50], theme().neutral_800),
    "dark": (lines_of(".dark"), [theme().neutral_950, theme().neutral_900], theme().neutral_100),
}


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("mode", MODES)
def test_marks_and_text_of_figures_can_be_seen(mode: str) -> None:
    lines, grounds, text = MODES[mode]
    for ground in grounds:
        assert [line for line in lines if contrast(line, ground) < 3] == []
        assert contrast(text, ground) >= 4.5
    on_bars = [lines[place] for place, _ in _OF_PARTS]
    assert [line for line in on_bars if contrast(line, ON_BARS) < 4.5] == []


def test_the_page_knows_the_colours_that_figures_are_sent_with() -> None:
    assert tuple(lines_of(":root")) == COLOURS
    assert len(set(map(str.lower, lines_of(":root") + lines_of(".dark")))) == 2 * len(COLOURS) == 2 * len(GLYPHS)
    assert len(GLYPHS) == len(SYMBOLS)
