"""Whether one sentence follows from another, by a small model for natural-language inference on this machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import isfinite

from medfact.errors import ModelError, first_line
from medfact.models.services.policy import check_model_source

Follows = Callable[[str, str], float]
"""P that the second sentence follows from the first, from 0 to 1."""


@lru_cache(maxsize=1)
def load_entailment(spec: str) -> Follows:
    """The model of a spec (`hf:` and a repository or a folder), kept for the next caller.

    Raises ModelError where it cannot be loaded, or has no label "entailment".
    """
    name = spec.removeprefix("hf:")
    check_model_source(name)
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    hint = "Give a model for natural-language inference: --entailment hf:FOLDER."
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = AutoModelForSequenceClassification.from_pretrained(name, trust_remote_code=False, use_safetensors=True).eval()
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise ModelError(f"The model {spec} cannot be loaded: {first_line(error, 200)}.", hint) from None
    labels = model.config.label2id
    places = [place for label, place in labels.items() if label.casefold() in ("entailment", "entail", "entails")]
    if len(places) != 1:
        raise ModelError(f"The model {spec} has no label “entailment”, but {', '.join(sorted(map(str, labels)))}.", hint)

    def follows(premise: str, hypothesis: str) -> float:
        with torch.inference_mode():
            logits = model(**tokenizer(premise, hypothesis, return_tensors="pt", truncation=True)).logits[0]
        probability = float(torch.softmax(logits.float(), dim=-1)[places[0]])
        if not isfinite(probability):
            raise ModelError(f"The model {spec} computes no numbers (NaN or infinite).", "Fetch it again, or use another.")
        return probability

    return follows
