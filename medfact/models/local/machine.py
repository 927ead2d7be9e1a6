"""The memory of this machine."""

from __future__ import annotations

from pathlib import Path

import psutil

SHORT = 0.03
"""The share of the machine's memory below which too little is free to keep a model that nobody uses."""

_CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Bytes that are free, within the limit of the container where there is one."""
    free = int(psutil.virtual_memory().available)
    try:
        limit, used = ((_CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return min(free, int(limit) - int(used)) if limit.isdecimal() else free
    except (OSError, ValueError):
        return free


def memory_is_short() -> bool:
    """Whether hardly any memory is free."""
    return bool(free_memory() < SHORT * psutil.virtual_memory().total)
