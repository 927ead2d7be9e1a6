"""Fragments: pieces of a page or of a report as HTML, from templates. Autoescape is on, so text from users stays text."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from medfact.assets import ENGLISH, language_of_pool
from medfact.datasets.bundled import title
from medfact.datasets.registers import about_source, links_of
from medfact.datasets.sources import independent, sources_of
from medfact.languages import name_in
from medfact.negatives import DIFFICULTIES, PREFERENCES
from medfact.prototypes.grammar import bounds_before
from medfact.results import wording
from medfact.statements import VARIANTS
from medfact.table_formats import linked_kinds

GLYPHS = ("●", "■", "◆", "▲", "✚", "✖", "★", "⬟")
"""The shape of each run among several, as figures draw it (`results.plots.SYMBOLS`)."""

TEMPLATES = Path(__file__).parent / "templates"


@cache
def environment() -> Environment:
    """The templates of `templates/`, with the wording of numbers and names as filters."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # else each use of a template asks the disk whether its file has changed
    )
    made.filters |= {
        "percent": wording.percent,
        "points": wording.points,
        "count": wording.count,
        "interval": wording.interval,
        "bounds": lambda estimate: wording.bounds_in_points(estimate.low, estimate.high),
        "date": wording.date,
        "counted": wording.counted,
        "run_name": wording.run_name,
        "data_title": title,
        "twice": lambda names: [(name, name) for name in names],
        "lang": in_language,
        "numbered": lambda names: list(enumerate(names)),
    }
    made.globals |= {
        "VARIANTS": VARIANTS,
        "FATES": wording.FATES,
        "GLYPHS": GLYPHS,
        "DIFFICULTIES": DIFFICULTIES,
        "PREFERENCES": PREFERENCES,
        "linked_kinds": linked_kinds,
        "about_source": about_source,
        "links_of": links_of,
        "bounds_before": bounds_before,
        "label_in_words": wording.label_in_words,
        "named": named,
        "name_in": name_in,
        "ENGLISH": ENGLISH,
        "sources_of": sources_of,
        "independent": independent,
    }
    return made


def in_language(pool: str) -> Markup:
    """The attribute that says in which language the sentences of a pool are, for screen readers and fonts; "" for English."""
    code = language_of_pool(pool)
    return Markup(' lang="{}"').format(code) if code else Markup()


def named(entity: str, code: str) -> Markup:
    """An entity as it is called in a language, marked as being in it; in English where the language has no name for it."""
    name = name_in(code, entity)
    if name is None:
        return Markup("<bdi>{}</bdi>").format(entity)
    return Markup('<bdi lang="{}" title="{}">{}</bdi>').format(code, entity, name.text)


def render(template: str, **values: object) -> Markup:
    """The fragment of a template (`scores`: `templates/scores.html`)."""
    return Markup(environment().get_template(f"{template}.html").render(**values))


def fingerprint(fragment: str) -> str:
    """A short hash: a page says with it which fragment it shows."""
    return hashlib.blake2b(fragment.encode(), digest_size=8).hexdigest()
