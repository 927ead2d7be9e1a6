"""Jobs: runs that are asked beside the page and go on when it is closed.

Local models run one at a time in a process of their own, which can be killed. Services and baselines share a second process,
in which each run has a thread. Jobs wait for their turn in the lane of their kind of model. Answers go to the database; pages
poll a job's snapshot for the rest, whose version shows whether it has changed.
"""

from medfact.runs.jobs.job import Snapshot
from medfact.runs.jobs.manager import Jobs

__all__ = ["Jobs", "Snapshot"]
