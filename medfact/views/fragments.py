"""HTML fragments of pages and reports, from templates with autoescape."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from medfact.assets import ENGLISH, pool_language
from medfact.datasets.bundled import title
from medfact.datasets.sources import about_source, independent, links_of, sources_of
from medfact.languages import name_in
from medfact.negatives import DIFFICULTIES, PREFERENCES
from medfact.prototypes.grammar import scope_prefix
from medfact.results import wording
from medfact.results.blocks import Section
from medfact.results.plots import plot_of
from medfact.statements import VARIANTS
from medfact.table_formats import linked_endings

GLYPHS = ("●", "■", "◆", "▲", "✚", "✖", "★", "⬟")
"""The symbol of each run in a comparison, as in figures (`results.plots.SYMBOLS`)."""

TEMPLATES = Path(__file__).parent / "templates"


@cache
def environment() -> Environment:
    """The Jinja environment of `templates/`, with filters that format numbers and names."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # it would check the file's date on each use
    )
    environment.filters |= {
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
        "lang": _lang_attribute,
        "numbered": lambda names: list(enumerate(names)),
    }
    environment.globals |= {
        "VARIANTS": VARIANTS,
        "FATES": wording.FATES,
        "GLYPHS": GLYPHS,
        "DIFFICULTIES": DIFFICULTIES,
        "PREFERENCES": PREFERENCES,
        "linked_endings": linked_endings,
        "about_source": about_source,
        "links_of": links_of,
        "bounds_before": scope_prefix,
        "describe_label": wording.describe_label,
        "named": _localized_name,
        "name_in": name_in,
        "ENGLISH": ENGLISH,
        "sources_of": sources_of,
        "independent": independent,
    }
    return environment


def _lang_attribute(pool: str) -> Markup:
    """HTML attribute `lang` for the sentences of a pool; "" for English."""
    code = pool_language(pool)
    return Markup(' lang="{}"').format(code) if code else Markup()


def _localized_name(entity: str, code: str) -> Markup:
    """HTML of an entity's name in a language; in English if the language has no name for it."""
    name = name_in(code, entity)
    if name is None:
        return Markup("<bdi>{}</bdi>").format(entity)
    return Markup('<bdi lang="{}" title="{}">{}</bdi>').format(code, entity, name.text)


def render(template: str, **values: object) -> Markup:
    """Renders a template by its name: `scores` is `templates/scores.html`."""
    return Markup(environment().get_template(f"{template}.html").render(**values))


def render_sections(sections: Iterable[Section], runs: Iterable[str] = ()) -> Markup:
    """Renders sections for a page, whose script draws the figures. runs: the names of the page's runs."""
    return render("blocks", sections=list(sections), plot=partial(plot_of, runs=list(runs)))


def fragment_hash(fragment: str) -> str:
    """Short hash of a fragment, by which a page detects changes."""
    return hashlib.blake2b(fragment.encode(), digest_size=8).hexdigest()
