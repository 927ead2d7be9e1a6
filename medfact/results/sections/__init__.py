"""The sections of results, each told once: a function from figures to blocks, in a registry that every renderer loops over."""

from medfact.results.sections import answers as answers
from medfact.results.sections import beside as beside
from medfact.results.sections import pressure as pressure
from medfact.results.sections import probabilities as probabilities
from medfact.results.sections import scores as scores
from medfact.results.sections import withdrawn as withdrawn
from medfact.results.sections.registry import (
    NOTEBOOK,
    PAGE,
    PAPER,
    REPORT,
    SECTIONS,
    TERMINAL,
    Beside,
    Figures,
    all_sections,
    section,
    sections_of,
    tabs,
)

__all__ = [
    "NOTEBOOK", "PAGE", "PAPER", "REPORT", "SECTIONS", "TERMINAL", "Beside", "Figures", "all_sections", "section",
    "sections_of", "tabs",
]  # fmt: skip
