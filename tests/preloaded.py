"""What the processes find imported that tests kill; see `processes.py`."""

import medfact.cli.runs
import medfact.jobs
import medfact.models.api
import medfact.models.loading
import medfact.report
from medfact.datasets import load_bundled
from medfact.prototypes import load_pool

load_bundled("clinical-core")
load_pool("medfact")
