"""The statements of a plan as a folder that another tool opens: the Hugging Face library, lm-evaluation-harness, Inspect."""

from medfact.tasks.folder import TOOLS, write_task

__all__ = ["TOOLS", "write_task"]
