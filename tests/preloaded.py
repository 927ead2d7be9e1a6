"""What the processes find imported that tests kill; see `processes.py`."""

from medfact.datasets import load_bundled
from medfact.prototypes import load_pool

load_bundled("clinical-core")
load_pool("medfact")
