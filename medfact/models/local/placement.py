"""Where and how a local model is computed. Imports no heavy libraries."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from medfact.errors import Mistake
from medfact.models.effort import NONE, template_arguments
from medfact.setting import LOCAL, NOTHING, TOKENS, Bounds, setting

DTYPES = ("auto", "float32", "bfloat16", "float16", "8bit", "4bit")
DEVICES = ("auto", "cpu", "cuda", "mps")

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def bytes_of(text: str) -> int:
    """The number of bytes in a text such as 8GB, 1.5G or 900MiB. Raises Mistake if it is not one."""
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([kmgt]i?)?b?", text.strip().lower())
    size = int(float(match[1]) * _UNITS[match[2] or ""]) if match else 0
    if not size:
        raise Mistake(f"{text!r} is not an amount of memory.", "Write it as 8GB or 900MB.")
    return size


def _template_argument(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name.strip().isidentifier():
        hint = "Write it as NAME=VALUE, such as reasoning_effort=low."
        raise Mistake(f"--template-argument {text!r} names no argument.", hint)
    return name.strip(), value


@dataclass(frozen=True)
class Placement:
    """How a local model is loaded and prompted."""

    # fmt: off
    dtype: str = setting("auto", "--dtype", "TYPE", f"one of: {', '.join(DTYPES)}", group=LOCAL)
    """auto is bfloat16 on a GPU that supports it, else float32. 8bit and 4bit need bitsandbytes."""

    device: str = setting("auto", "--device", "NAME", f"one of: {', '.join(DEVICES)}", group=LOCAL, export_policy=NOTHING)
    """auto is the GPU if there is one."""

    memory: int | None = setting(
        None, "--memory", "SIZE", "memory limit, such as 8GB (default: free memory)",
        group=LOCAL, place=0, parse=bytes_of, bounds=Bounds(1, 2**50, "memory limit"), export_policy=NOTHING,
    )
    """Most bytes that the model may use, on the GPU if it runs there, else in the process; None for all that is free."""

    remote_code: bool = setting(
        False, "--trust-code", "", "run the Python code that a repository contains", group=LOCAL, export_policy=NOTHING
    )
    any_weights: bool = setting(
        False, "--any-weights", "", "load weights that are not safetensors; they can run code",
        group=LOCAL, export_policy=NOTHING,
    )
    thinking: bool = setting(False, "--thinking", "", "let a model think before it answers", group=LOCAL)
    template: tuple[tuple[str, str], ...] = setting(
        (), "--template-argument", "NAME=VALUE", "argument of the chat template", group=LOCAL, parse=_template_argument
    )
    max_tokens: int | None = setting(
        None, "--max-tokens", "N", "tokens per reply, behind a service too",
        group=LOCAL, along="service.max_tokens", bounds=TOKENS,
    )
    """Most tokens in a reply; None takes the prompt's own limit."""
    # fmt: on

    def __post_init__(self) -> None:
        for name, value, known in (("dtype", self.dtype, DTYPES), ("device", self.device, DEVICES)):
            if value not in known:
                raise Mistake(f"There is no {name} {value!r}.", f"There is: {', '.join(known)}.")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise Mistake(f"A reply cannot have {self.max_tokens} tokens.", "Use --max-tokens 1 or more.")

    def at_effort(self, effort: str | None) -> Placement:
        """The same for a model that is to think so much; None changes nothing."""
        if effort is None:
            return self
        arguments = tuple(template_arguments(effort).items())
        return replace(self, thinking=effort != NONE, template=(*arguments, *self.template))

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Placement:
        """A placement from its JSON record."""
        template = tuple((str(name), str(value)) for name, value in record.get("template", ()))
        return cls(**{**record, "template": template})


HERE = Placement()
"""The default: as it suits this machine."""


def in_bytes(size: float) -> str:
    """A number of bytes as text: 5.2 GB, 430 MB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(size / 1e6, 1):.0f} MB"
