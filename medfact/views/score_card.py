"""The card of one run or two as a picture: PNG, 1200 × 630, drawn here with Pillow and its own font."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont, PngImagePlugin

from medfact.metrics.uncertainty import Estimate
from medfact.results.score_card import NOT_COMPETENCE, CardScore, ScoreCard
from medfact.results.wording import NO_VALUE, TOO_FEW, counted, marked, percent, points

WIDTH, HEIGHT = 1200, 630
_SCALE = 2
"""Everything is drawn so much larger and then reduced: smooth edges."""

LEFT, RIGHT = 64, 1136
BARS = ((300, 780), (404, 540))
"""Left and right end of a bar, from 0 to 1: of one run, and of two. Scores end at 780; beyond stands the falling line."""

BOX = (876, 240, RIGHT, 420)
"""The falling line's area: left, top, right and bottom."""

MOST_BLOCKS = 2
"""Scores that have a heading and large figures; of more, each run has a row."""

ROW = (524, 790)
"""Left and right end of the bar of a row."""

INK, QUIET, PAPER, GRID = "#1b1f24", "#4b5563", "#ffffff", "#d7dce2"
COLOURS = ("#0072B2", "#D55E00")
WARN = "#8f2f00"

MOST_LINES = 4
"""Lines below the figures; what goes beyond is cut off with an ellipsis, and stands in the picture's description."""

_SPARE_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "NotoSansCJK-Regular.ttc", "Arial Unicode.ttf", "arial.ttf")
"""Fonts of the machine for names that Pillow's own font cannot draw."""

_ALIKE = str.maketrans({"–": "-", "−": "-", "—": "-", "·": "|", "×": "x", "→": ">", "\u00a0": " "})
"""Signs that Pillow's own font lacks, and what says the same."""

_NOTHING = "\uffff"
"""No character: what a font draws for it, it draws for all that it lacks."""


@dataclass(frozen=True)
class CardText:
    """A text on the card: its left edge (or, at_right, its right one) and its top."""

    x: int
    y: int
    text: str
    size: int
    colour: str = INK
    bold: bool = False
    at_right: bool = False


@dataclass(frozen=True)
class CardBar:
    """A score on a line: its interval, and a coin's score. place: of its run, 0 or 1. ends: of the line, which begins at
    `least` and ends at 1.
    """

    y: int
    ends: tuple[int, int]
    estimate: Estimate
    chance: float | None
    place: int
    least: float = 0.0


@dataclass(frozen=True)
class CardCurve:
    """The falling lines, one a run, in BOX: shares from 0 to 1 with their intervals."""

    lines: tuple[tuple[Estimate, ...], ...]


def png_of(card: ScoreCard) -> bytes:
    """The picture. It carries what it says as text, too, in the entry "Description"."""
    picture = Image.new("RGB", (WIDTH * _SCALE, HEIGHT * _SCALE), PAPER)
    pen = ImageDraw.Draw(picture)
    face = _face_for(card)
    pen.rectangle((0, 0, 20 * _SCALE, HEIGHT * _SCALE), fill=COLOURS[0])
    for piece in layout(card, face):
        if isinstance(piece, CardBar):
            _draw_bar(pen, piece)
        elif isinstance(piece, CardCurve):
            _draw_curve(pen, piece)
        else:
            _draw_line(pen, piece, face)
    described = PngImagePlugin.PngInfo()
    described.add_itxt("Description", card.words)
    file = BytesIO()
    picture.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS).save(file, "PNG", pnginfo=described, optimize=True)
    return file.getvalue()


# ------------------------------------------------------------------------------------------------ what stands where


def layout(card: ScoreCard, face: str = "") -> Iterator[CardText | CardBar | CardCurve]:
    """All that is drawn. face: the font, "" for Pillow's own."""
    card = _drawable(card, face)
    two = len(card.names) > 1
    yield CardText(LEFT, 28, "medfact", 26, COLOURS[0], bold=True)
    yield CardText(LEFT + 118, 28, "Does a model know a medical fact, or only one way of saying it?", 26, QUIET)
    title = "Two models, the same facts" if two else _fitted_name(card, 0, 50, RIGHT - LEFT, face)
    yield CardText(LEFT, 76, title, 50, bold=True)
    yield CardText(LEFT, 142, fitted(card.about, 25, RIGHT - LEFT, face), 25, QUIET)
    if len(card.figures) > MOST_BLOCKS:
        yield from _table(card, face)
    for number, figure in enumerate(card.figures if len(card.figures) <= MOST_BLOCKS else ()):
        names = [_fitted_name(card, place, 20, 215, face) for place in range(len(card.names))] if two else []
        yield from _block(figure, names, 194 + number * 140)
    if len(card.figures) <= MOST_BLOCKS and any(len(line) > 1 for line in card.falls):
        yield from _falling(card.falls)
    below = [(line, INK) for line in wrapped(card.difference, 20, RIGHT - LEFT, face)]
    below += [(line, WARN) for line in wrapped(". ".join(card.marks), 20, RIGHT - LEFT, face)]
    for number, (text, colour) in enumerate(below[:MOST_LINES]):
        last = number == MOST_LINES - 1 and len(below) > MOST_LINES
        yield CardText(LEFT, 472 + number * 25, fitted(f"{text} …", 20, RIGHT - LEFT, face) if last else text, 20, colour)
    yield CardText(LEFT, 579, f"{NOT_COMPETENCE}.", 27, bold=True)
    yield CardText(RIGHT, 582, card.made, 22, QUIET, at_right=True)


def _falling(lines: tuple[tuple[Estimate, ...], ...]) -> Iterator[CardText | CardCurve]:
    """The share of facts still right after one way of asking, two, … all."""
    left, top, right, bottom = BOX
    yield CardText(left - 60, 194, "Facts still right after 1, 2, ... ways", 20, bold=True)
    yield from (CardText(left - 14, y - 11, text, 18, QUIET, at_right=True) for y, text in ((top, "100%"), (bottom, "0%")))
    yield CardText(left, bottom + 10, "1 way of asking", 18, QUIET)
    yield CardText(right, bottom + 10, str(max(map(len, lines))), 18, QUIET, at_right=True)
    yield CardCurve(lines)


def _fitted_name(card: ScoreCard, place: int, size: int, width: int, face: str) -> str:
    """A run's name, cut so that it fits together with the mark of a run from a file."""
    mark = marked("", card.imported[place])
    return marked(fitted(card.names[place], size, int(width - width_of(mark, size, face)), face), card.imported[place])


def _block(figure: CardScore, names: Sequence[str], top: int) -> Iterator[CardText | CardBar]:
    """A score: its heading, and a row for each run."""
    yield CardText(LEFT, top, f"{figure.title[0].upper()}{figure.title[1:]}", 27, bold=True)
    if figure.chance is not None:
        yield CardText(BARS[0][1], top + 4, f"thin line: a coin, {100 * figure.chance:.2g}%", 20, QUIET, at_right=True)
    for place, estimate in enumerate(figure.estimates):
        y = top + 40 + place * 46
        if estimate is None:
            continue
        if names:
            yield CardText(LEFT, y + 7, names[place], 20)
            if estimate.value is not None:
                yield CardText(BARS[1][0] - 22, y, percent(estimate.value), 30, COLOURS[place], bold=True, at_right=True)
            yield CardText(BARS[0][1], y + 8, f"{_interval(estimate)}, n = {estimate.n:,}", 17, QUIET, at_right=True)
            yield CardBar(y + 19, BARS[1], estimate, figure.chance, place)
            continue
        yield CardText(LEFT, y - 4, percent(estimate.value), 60, COLOURS[0], bold=True)
        doubt = f"95% interval {_interval(estimate)}" if estimate.low is not None else _interval(estimate)
        yield CardText(BARS[0][0], y + 36, f"{doubt}, of {counted(estimate.n, figure.of)}", 20, QUIET)
        yield CardBar(y + 16, BARS[0], estimate, figure.chance, place)


def _table(card: ScoreCard, face: str) -> Iterator[CardText | CardBar]:
    """More scores than blocks have room for: a row a score and run."""
    shown = [(figure, place, one) for figure in card.figures for place, one in enumerate(figure.estimates) if one is not None]
    yield CardText(RIGHT, 174, "thin lines: a coin", 18, QUIET, at_right=True)
    for number, (figure, place, estimate) in enumerate(shown):
        y = 204 + number * min(56, 264 // len(shown))
        title = figure.title if len(card.names) == 1 else f"{figure.title.partition(',')[0]}: "
        name = _fitted_name(card, place, 20, int(320 - width_of(title, 20, face)), face) if len(card.names) > 1 else ""
        yield CardText(LEFT, y + 2, f"{title[0].upper()}{title[1:]}{name}", 20)
        if estimate.value is not None:
            value = points(estimate.value) if figure.signed else percent(estimate.value)
            yield CardText(ROW[0] - 22, y - 2, value, 28, COLOURS[place], bold=True, at_right=True)
        yield CardText(
            RIGHT, y + 3, f"{_interval(estimate, signed=figure.signed)}, n = {estimate.n:,}", 18, QUIET, at_right=True
        )
        yield CardBar(y + 13, ROW, estimate, figure.chance, place, -1.0 if figure.signed else 0.0)


def _interval(estimate: Estimate, *, signed: bool = False) -> str:
    if estimate.value is None:
        return NO_VALUE
    if signed and estimate.low is not None and estimate.high is not None:
        return f"{points(estimate.low)} to {points(estimate.high)} points"
    return TOO_FEW if estimate.low is None or estimate.high is None else f"{percent(estimate.low)} to {percent(estimate.high)}"


# ------------------------------------------------------------------------------------------------ letters


def _drawable(card: ScoreCard, face: str) -> ScoreCard:
    """A card whose every letter the font has. Accents that it lacks are left out; for a name with other letters stands the
    run's id, and elsewhere "?" stands for each; the card says both."""
    names = [_plain(name, face) for name in card.names]
    shown = [name if _has(face, name) else f"run {run}" for name, run in zip(names, card.ids, strict=True)]
    unread = [run for name, run in zip(names, card.ids, strict=True) if not _has(face, name)]

    def told(text: str) -> str:
        for name, instead in zip(card.names, shown, strict=True):
            text = text.replace(name, instead)
        return "".join(letter if _has(face, letter) else "?" for letter in _plain(text, face))

    said = [f"The name of run {run} has letters that this picture cannot show" for run in unread]
    about = told(card.about)
    if about.count("?") > card.about.count("?"):
        said.append("“?” stands for a letter that this picture cannot show")
    return replace(
        card, names=tuple(shown), about=about, marks=(*map(told, card.marks), *said), difference=told(card.difference)
    )


def _plain(text: str, face: str) -> str:
    """A text without the accents that the font lacks, and with the nearest sign for others."""
    return "".join(letter if _has(face, letter) else _bare(letter) for letter in text.translate(_ALIKE))


def _bare(letter: str) -> str:
    """é → e; what has no accent as it is."""
    parts = unicodedata.normalize("NFKD", letter)
    return "".join(part for part in parts if not unicodedata.combining(part)) or letter


def _face_for(card: ScoreCard) -> str:
    """The font that can draw all names; Pillow's own where none can."""
    names = " ".join(card.names).translate(_ALIKE)
    return next((face for face in ("", *_SPARE_FONTS) if _is_there(face) and _has(face, names)), "")


@cache
def _font(face: str, size: int) -> ImageFont.FreeTypeFont:
    made = ImageFont.truetype(face, size) if face else ImageFont.load_default(size)
    assert isinstance(made, ImageFont.FreeTypeFont)
    return made


@cache
def _is_there(face: str) -> bool:
    try:
        _font(face, 20)
    except OSError:
        return False
    return True


def _has(face: str, text: str) -> bool:
    """Whether a font can draw every character."""
    return all(character.isspace() or _look(face, character) != _look(face, _NOTHING) for character in set(text))


@lru_cache(maxsize=4096)
def _look(face: str, character: str) -> tuple[object, bytes]:
    mask = _font(face, 20).getmask(character)
    return mask.size, bytes(mask)


def width_of(text: str, size: int, face: str) -> float:
    """How wide a text is, in pixels of the card."""
    return _font(face, size * _SCALE).getlength(text.translate(_ALIKE)) / _SCALE


def fitted(text: str, size: int, width: int, face: str = "") -> str:
    """A text cut so that it fits, with an ellipsis where it was cut."""
    if width_of(text, size, face) <= width:
        return text
    while text and width_of(f"{text}…", size, face) > width:
        text = text[:-1]
    return f"{text.rstrip()}…"


def wrapped(text: str, size: int, width: int, face: str = "") -> list[str]:
    """A text in lines that fit."""
    lines: list[str] = []
    for word in text.split():
        if lines and width_of(f"{lines[-1]} {word}", size, face) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(fitted(word, size, width, face))
    return lines


# ------------------------------------------------------------------------------------------------ with ink


def _draw_line(pen: ImageDraw.ImageDraw, line: CardText, face: str) -> None:
    font = _font(face, line.size * _SCALE)
    text = line.text.translate(_ALIKE)
    x = line.x - (width_of(text, line.size, face) if line.at_right else 0)
    # Pillow's font has one weight: a line around the letters makes them heavier
    pen.text((x * _SCALE, line.y * _SCALE), text, font=font, fill=line.colour, stroke_width=int(line.bold))


def _draw_bar(pen: ImageDraw.ImageDraw, bar: CardBar) -> None:
    (left, right), y = bar.ends, bar.y * _SCALE

    def at(share: float) -> float:
        return (left + (share - bar.least) / (1 - bar.least) * (right - left)) * _SCALE

    pen.rounded_rectangle((at(bar.least), y - 7, at(1), y + 7), radius=7, fill=GRID)
    if bar.chance is not None:
        pen.rectangle((at(bar.chance) - 1, y - 26, at(bar.chance) + 1, y + 26), fill=QUIET)
    estimate = bar.estimate
    if estimate.value is None:
        return
    if estimate.low is not None and estimate.high is not None:
        pen.rounded_rectangle((at(estimate.low), y - 9, at(estimate.high), y + 9), radius=9, fill=COLOURS[bar.place])
    _draw_point(pen, at(estimate.value), y, 16, bar.place, 6)


def _draw_point(pen: ImageDraw.ImageDraw, x: float, y: float, radius: int, place: int, width: int) -> None:
    (pen.rectangle if place else pen.ellipse)(
        (x - radius, y - radius, x + radius, y + radius), fill=PAPER, outline=COLOURS[place], width=width
    )


def _draw_curve(pen: ImageDraw.ImageDraw, curve: CardCurve) -> None:
    left, top, right, bottom = (end * _SCALE for end in BOX)
    last = max(map(len, curve.lines)) - 1

    def at(step: int, share: float | None) -> tuple[float, float]:
        return left + (right - left) * step / last, bottom - (bottom - top) * (share or 0.0)

    pen.rectangle((left, top, right, bottom), outline=GRID, width=2)
    for place, line in enumerate(curve.lines):
        pen.line([at(step, point.value) for step, point in enumerate(line)], fill=COLOURS[place], width=6, joint="curve")
        for step, point in enumerate(line):
            (x, y), ends = at(step, point.value), (point.value if end is None else end for end in (point.low, point.high))
            pen.line([at(step, end) for end in ends], fill=COLOURS[place], width=3)
            _draw_point(pen, x, y, 8, place, 4)
