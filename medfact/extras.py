"""Optional dependencies: an error for a missing one names the command that installs it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from medfact.assets import IS_INSTALLED
from medfact.errors import NotInstalled

EXTRAS = {
    "local": (
        "Models on this machine need",
        ("accelerate", "gguf", "huggingface_hub", "safetensors", "sentence_transformers", "torch", "transformers"),
    ),
    "services": ("Models behind a service, and outside databases, need", ("httpx2", "openai")),
    "app": ("The page needs", ("anyio", "fastapi", "gradio", "httptools", "segno", "starlette", "uvicorn", "uvloop")),
    "notebook": ("Tables and figures need", ("pandas", "plotly")),
    "hub": ("Data sets of the Hugging Face hub need", ("datasets",)),
    "mcp": ("Tools for agents need", ("mcp",)),
    "cluster": ("A run on several machines needs", ("ray",)),
}
"""Extra → start of its error message, and its modules, as in requirements.txt. `app` also installs plotly."""

_FILES = {"cluster": "requirements-cluster.txt", "mcp": "requirements-mcp.txt"}
"""Extra → the requirements file of a checkout, if it is not requirements.txt."""


@contextmanager
def not_installed_errors() -> Iterator[None]:
    """Raises NotInstalled if the body cannot import an optional dependency. Context manager and decorator."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = _not_installed((error.name or "").partition(".")[0])
        if missing is None:
            raise
        raise missing from error


def check_installed(modules: Iterable[str]) -> None:
    """Raises NotInstalled if one of these modules is not installed."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise _not_installed(module) or NotInstalled(f"This needs {module}.", f"Install it: pip install {module}")


def _not_installed(module: str) -> NotInstalled | None:
    """Makes the error for a missing module of an extra; None if no extra has it."""
    for extra, (who_needs, modules) in EXTRAS.items():
        if module in modules:
            return NotInstalled(f"{who_needs} {module}, which is not installed.", f"Install it: {install_command(extra)}")
    return None


def install_command(extra: str) -> str:
    """Shell command that installs an extra, in a checkout or an environment."""
    return f'pip install "medfact[{extra}]"' if IS_INSTALLED else f"pip install -r {_FILES.get(extra, 'requirements.txt')}"
