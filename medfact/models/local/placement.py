"""Where and how a local model is computed. Imports no heavy libraries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from medfact.errors import Mistake

DTYPES = ("auto", "float32", "bfloat16", "float16", "8bit", "4bit")
DEVICES = ("auto", "cpu", "cuda", "mps")

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@dataclass(frozen=True)
class Placement:
    """How a local model is loaded and prompted.

    dtype:       one of DTYPES; auto is bfloat16 on a GPU that supports it, else float32. 8bit and 4bit need bitsandbytes.
    device:      one of DEVICES; auto is the GPU if there is one.
    memory:      most bytes that the model may use, on the GPU if it runs there, else in the process; None for all that is free.
    remote_code: run a repository's own code.
    any_weights: load weights in other formats than safetensors (a pickle can run code).
    thinking:    let a model think before it answers, if it can.
    template:    (name, value) of further arguments of the chat template.
    max_tokens:  most tokens in a reply; None takes the prompt's own limit.
    """

    dtype: str = "auto"
    device: str = "auto"
    memory: int | None = None
    remote_code: bool = False
    any_weights: bool = False
    thinking: bool = False
    template: tuple[tuple[str, str], ...] = ()
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        for name, value, known in (("dtype", self.dtype, DTYPES), ("device", self.device, DEVICES)):
            if value not in known:
                raise Mistake(f"There is no {name} {value!r}.", f"There is: {', '.join(known)}.")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise Mistake(f"A reply cannot have {self.max_tokens} tokens.", "Use --max-tokens 1 or more.")

    @classmethod
    def from_record(cls, record: dict[str, Any] | None) -> Placement:
        """A placement from its JSON record; None is the default."""
        fields = dict(record or {})
        fields["template"] = tuple((str(name), str(value)) for name, value in fields.get("template", ()))
        return cls(**fields)


HERE = Placement()
"""The default: as it suits this machine."""


def bytes_of(text: str) -> int:
    """The number of bytes in a text such as 8GB, 1.5G or 900MiB. Raises Mistake if it is not one."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?)?b?\s*", text.lower())
    size = int(float(match[1]) * _UNITS[match[2] or ""]) if match else 0
    if not size:
        raise Mistake(f"{text!r} is not an amount of memory.", "Write it as 8GB or 900MB.")
    return size


def in_bytes(size: float) -> str:
    """A number of bytes as text: 5.2 GB, 430 MB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(size / 1e6, 1):.0f} MB"
