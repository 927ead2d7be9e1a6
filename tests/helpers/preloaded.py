"""Imports and read files of the process from which commands are forked; see `processes.py`."""

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from small_facts import make_fact_rows, write_csv

from medfact.prototypes import load_pool
from medfact.runs.plan import plan
from medfact.spec import RunSpec

for name in ("cli.evaluate", "runs.jobs", "models.services.client", "models.local.loading", "results.report", "runs.run"):
    import_module(f"medfact.{name}")

load_pool("medfact")
with TemporaryDirectory() as folder:  # what is known of the facts of a file, and in which language they are
    plan(RunSpec("baseline:random", facts=str(write_csv(Path(folder) / "facts.csv", make_fact_rows())), shots=0))
