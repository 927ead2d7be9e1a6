"""Imports of the process from which commands are forked; see `processes.py`."""

from importlib import import_module

from medfact.datasets import load_bundled
from medfact.prototypes import load_pool

for name in ("cli.evaluate", "runs.jobs", "models.services.client", "models.local.loading", "results.report", "runs.run"):
    import_module(f"medfact.{name}")

load_bundled("clinical-core")
load_pool("medfact")
