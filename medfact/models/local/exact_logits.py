"""Logits in float32, of a model whose weights have half precision.

In half precision the output layer rounds them: from 16 to 32, numbers of bfloat16 are an eighth apart. True and False then
often get the same logit, and the answer is the one whose token has the lower number (`benchmarks/README.md` counts such
answers).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

TOGETHER = 1 << 23
"""Weights that are in float32 at once (32 MB): all of a large vocabulary would take gigabytes."""


def compute_logits_exactly(model: Any) -> bool:
    """From now on the model's output layer computes in float32, with the weights that it has. Returns whether it does: not
    where the model has none, or one of another kind than PyTorch's linear layer.
    """
    layer = model.get_output_embeddings()
    if type(layer) is not torch.nn.Linear:
        return False
    # accelerate keeps it there, where layers lie on several devices
    forward = "_old_forward" if hasattr(layer, "_old_forward") else "forward"
    setattr(layer, forward, partial(_logits, layer))
    return True


def _logits(layer: torch.nn.Linear, hidden: torch.Tensor) -> torch.Tensor:
    """(…, hidden size) → (…, vocabulary), in float32."""
    hidden = hidden.float()
    rows = max(1, TOGETHER // layer.in_features)
    logits = torch.cat([hidden @ weights.float().T for weights in layer.weight.split(rows)], dim=-1)
    return logits if layer.bias is None else logits + layer.bias.float()
