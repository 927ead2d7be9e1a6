"""The memory of this machine."""

from __future__ import annotations

from pathlib import Path

import psutil

SHORT_SHARE = 0.03
"""Share of the machine's memory below which an unused model is not kept."""

_CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Free bytes, within the container's limit if there is one."""
    free = int(psutil.virtual_memory().available)
    try:
        limit, used = ((_CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return min(free, int(limit) - int(used)) if limit.isdecimal() else free
    except (OSError, ValueError):
        return free


def memory_is_short() -> bool:
    """Whether too little memory is free to keep an unused model."""
    return bool(free_memory() < SHORT_SHARE * psutil.virtual_memory().total)
