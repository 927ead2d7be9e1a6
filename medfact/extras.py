"""The large libraries behind parts of medfact: importing them quickly, and naming the command that brings a missing one."""

from __future__ import annotations

import atexit
import gc
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from medfact.assets import IS_INSTALLED
from medfact.errors import PartMissing

PARTS = {
    "local": (
        "Models on this machine need",
        ("accelerate", "gguf", "huggingface_hub", "safetensors", "sentence_transformers", "torch", "transformers"),
    ),
    "services": ("Models behind a service, and outside databases, need", ("httpx2", "openai")),
    "app": ("The page needs", ("anyio", "fastapi", "gradio", "httptools", "segno", "starlette", "uvicorn", "uvloop")),
    "notebook": ("Tables, figures and pictures need", ("pandas", "PIL", "plotly")),
    "hub": ("Data sets of the Hugging Face hub need", ("datasets",)),
    "mcp": ("Tools for agents need", ("mcp",)),
    "cluster": ("A run on several machines needs", ("ray",)),
}
"""Extra → what needs it, and the modules that it brings: those of requirements.txt. `app` brings PIL and plotly, too."""

_FILES = {"cluster": "requirements-cluster.txt", "mcp": "requirements-mcp.txt"}
"""Extra → the file of a checkout that lists it, where that is not requirements.txt."""


_own_process = False


def run_in_own_process() -> None:
    """Says that this process is medfact's alone and ends with its command: nothing that is imported, or left at its end, is
    looked through for garbage again.
    """
    global _own_process
    _own_process = True
    atexit.register(gc.freeze)


@contextmanager
def looking_for_no_garbage() -> Iterator[None]:
    """Meanwhile Python looks for no garbage, in any thread: for a few seconds of work whose many objects stay. Also a
    decorator, as `looking_for_no_garbage()`. Where several threads are within it, the last one that found it on turns it on.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def importing() -> Iterator[None]:
    """Meanwhile Python looks for no garbage. What a large library makes while it is imported stays, and looking through it
    again and again takes a fifth of the time of a short run (`benchmarks/README.md`).
    """
    holds_no_model = "torch" not in sys.modules
    with looking_for_no_garbage():
        try:
            yield
        finally:
            if _own_process and holds_no_model:  # a model that is garbage would never be freed
                gc.freeze()


@contextmanager
def named_if_missing() -> Iterator[None]:
    """Turns a failed import of a part that is not installed into PartMissing. Also a decorator, as `named_if_missing()`."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = _part_missing((error.name or "").partition(".")[0])
        if missing is None:
            raise
        raise missing from error


def check_installed(modules: Iterable[str]) -> None:
    """Raises PartMissing where one of these modules is not installed."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise _part_missing(module) or PartMissing(f"This needs {module}.", f"Install it: pip install {module}")


def _part_missing(module: str) -> PartMissing | None:
    for extra, (who_needs, modules) in PARTS.items():
        if module in modules:
            return PartMissing(f"{who_needs} {module}, which is not installed.", f"Install it: {install_command(extra)}")
    return None


def install_command(extra: str) -> str:
    """Shell command that installs an extra, in a checkout or an environment."""
    return f'pip install "medfact[{extra}]"' if IS_INSTALLED else f"pip install -r {_FILES.get(extra, 'requirements.txt')}"
