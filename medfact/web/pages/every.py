"""All pages of the site: whatever module of this folder declares a `PAGE`."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module

from medfact.web import pages
from medfact.web.pages import Page


def declared_in(folders: Iterable[str], package: str) -> dict[str, Page]:
    """The pages that the modules in some folders of a package declare, by name, in the order of the navigation."""
    modules = (import_module(f"{package}.{module.name}") for module in pkgutil.iter_modules(folders) if module.name != "every")
    found = [module.PAGE for module in modules if isinstance(getattr(module, "PAGE", None), Page)]
    return {page.name: page for page in sorted(found, key=lambda page: (page.place, page.name))}


PAGES = declared_in(pages.__path__, pages.__name__)
"""By name, in the order of the navigation."""
