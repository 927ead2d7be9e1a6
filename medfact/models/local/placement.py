"""Where and how a local model is computed: names and numbers, without heavy libraries."""

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
    """How a local model is loaded, and spoken to.

    dtype:        of DTYPES; auto is bfloat16 on a GPU that has it, float32 else. 8bit and 4bit need bitsandbytes.
    device:       of DEVICES; auto is the GPU where there is one.
    memory:       bytes that the process may take for it, or None for what is free; of a GPU's memory, where it lies on one.
    remote_code:  whether a repository's own code is run.
    any_weights:  whether weights are loaded that are no safetensors (a pickle can run code).
    thinking:     whether a model that can think before it answers does so.
    template:     (name, value) of what a chat template is given beside the messages.
    max_tokens:   tokens that a reply may take; None takes what the question says.
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
            raise Mistake(f"A reply of {self.max_tokens} tokens says nothing.", "Give --max-tokens 1 or more.")

    @classmethod
    def from_record(cls, record: dict[str, Any] | None) -> Placement:
        given = dict(record or {})
        given["template"] = tuple((str(name), str(value)) for name, value in given.get("template", ()))
        return cls(**given)


HERE = Placement()
"""A model on this machine, placed as it suits the machine."""


def bytes_of(text: str) -> int:
    """The number of bytes that a text such as 8GB, 1.5G or 900MiB says.

    Raises Mistake where it says none.
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?)?b?\s*", text.lower())
    size = int(float(found[1]) * _UNITS[found[2] or ""]) if found else 0
    if not size:
        raise Mistake(f"{text!r} is no amount of memory.", "Write it as 8GB or 900MB.")
    return size


def in_bytes(size: float) -> str:
    """A number of bytes in words: 5.2 GB, 430 MB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(size / 1e6, 1):.0f} MB"
