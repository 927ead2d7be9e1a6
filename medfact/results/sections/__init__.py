"""The sections of results: each is a function from figures to blocks, in a registry that every renderer loops over."""

from medfact.results.sections import answers, beside, pressure, probabilities, withdrawn
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
    "NOTEBOOK", "PAGE", "PAPER", "REPORT", "SECTIONS", "TERMINAL", "Beside", "Figures", "all_sections", "answers", "beside",
    "pressure", "probabilities", "section", "sections_of", "tabs", "withdrawn",
]  # fmt: skip
