"""Speed of a local model: medfact beside a plain transformers loop and, if it is installed, lm-eval.

    python benchmarks/local.py --rounds 5                    # 50 facts x 8 statements, five-shot, a random 60M-parameter Llama
    python benchmarks/local.py --shots 0
    pip install -r benchmarks/requirements.txt               # for the comparison with lm-eval

All answer identical prompts with the same weights, in float32, with the same number of threads, and take turns in each round.
Prints medians in statements per second, ratios, the number of unique tokens, and the share of the arithmetic bound: 2 x
parameters x unique tokens at the rate at which this machine multiplies matrices.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed

from medfact.answers import make_prompt
from medfact.datasets import load_bundled
from medfact.models import Prompt, load_model
from medfact.models.local.packing import packs
from medfact.runs.plan import plan
from medfact.spec import RunSpec

PLAIN_BATCH = 8


RELATIONS = ("symptoms", "therapeutic drugs", "affected sites", "surgical procedures", "disease may have finding")


def workload(facts: int, shots: int, folder: Path) -> list[Prompt]:
    """Prompts of that many facts over five relations, in the order of a run.

    The facts are not real: diseases and symptoms of clinical-core are paired by position, to get texts of typical length.
    """
    names = [fact for fact in load_bundled("clinical-core").facts if fact.relation == "symptoms"]
    heads, tails = (list(dict.fromkeys(side)) for side in zip(*((fact.head, fact.tail) for fact in names), strict=True))
    file = folder / "facts.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(("head", "relation", "tail"))
        count = facts // len(RELATIONS) + 10
        table.writerows((heads[n], name, tails[n]) for name in RELATIONS for n in range(count))
    planned_run = plan(RunSpec(model="", facts=str(file), shots=shots, per_relation=facts // len(RELATIONS)))
    return [
        make_prompt(planned.statement, planned_run.demonstrations.get(planned.shots_of, ()), chat=False)
        for planned in planned_run.statements
        if planned.statement.fact.positive
    ]


def random_llama(folder: Path, texts: Sequence[str]) -> None:
    """Writes a random Llama of about 60M parameters, with a tokenizer trained on the prompts, to a folder.

    It replies as a trained model does. A reply opens with an answer word, because the output weights of these words are large
    and opposite. It ends there, because their embeddings raise the output of the end token.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=8_000, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="</s>")
    set_seed(0)
    config = LlamaConfig(
        vocab_size=32_000,
        hidden_size=512,
        intermediate_size=1_376,
        num_hidden_layers=9,
        num_attention_heads=8,
        num_key_value_heads=8,
        max_position_embeddings=4_096,
        tie_word_embeddings=False,
        bos_token_id=fast.bos_token_id,
        eos_token_id=fast.eos_token_id,
    )
    model = LlamaForCausalLM(config)
    embeds, says = model.model.embed_tokens.weight.data, model.lm_head.weight.data
    says[:, 0] = 0
    opens = says[0].clone() * 200
    for token in range(len(fast)):
        word = fast.decode([token]).strip()
        if word in {"True", "False"}:
            says[token] = opens if word == "True" else -opens
            embeds[token, 0] = 50
    says[fast.eos_token_id, 0] = 20
    model.save_pretrained(folder)
    fast.save_pretrained(folder)


def plain_loop(loaded: Any, prompts: Sequence[Prompt]) -> list[str]:
    """The first greedy token of each prompt: batches of whole prompts, padded on the left."""
    replies = []
    for start in range(0, len(prompts), PLAIN_BATCH):
        texts = [str(prompt.content) for prompt in prompts[start : start + PLAIN_BATCH]]
        encoded = loaded.tokenizer(texts, return_tensors="pt", padding=True, return_token_type_ids=False)
        with torch.inference_mode():
            positions = (encoded["attention_mask"].cumsum(-1) - 1).clamp(min=0)
            logits = loaded.model(**encoded, position_ids=positions, logits_to_keep=1).logits[:, -1]
        replies += loaded.tokenizer.batch_decode(logits.argmax(-1)[:, None])
    return replies


def medfact_way(loaded: Any, prompts: Sequence[Prompt]) -> list[str]:
    """The replies that medfact gets."""
    done = dict(loaded.complete(prompts))
    return [done[place].text or "" for place in range(len(prompts))]


def lm_eval_ways(loaded: Any) -> dict[str, Callable[[Any, Sequence[Prompt]], list[str]]]:
    """lm-eval's choice between two continuations at several batch sizes; empty if it is not installed."""
    try:
        from lm_eval.api.instance import Instance
        from lm_eval.models.huggingface import HFLM
    except ImportError:
        return {}

    def way(batch: int) -> Callable[[Any, Sequence[Prompt]], list[str]]:
        lm = HFLM(pretrained=loaded.model, tokenizer=loaded.tokenizer, batch_size=batch)

        def ask(_: Any, prompts: Sequence[Prompt]) -> list[str]:
            requests = [
                Instance("loglikelihood", {}, (str(prompt.content), choice), at)
                for at, prompt in enumerate(prompts)
                for choice in (" True", " False")
            ]
            likelihoods = [likelihood for likelihood, _ in lm.loglikelihood(requests, disable_tqdm=True)]
            return ["True" if t >= f else "False" for t, f in zip(likelihoods[::2], likelihoods[1::2], strict=True)]

        return ask

    return {f"lm-eval, batch {batch}": way(batch) for batch in (8, 16)}


def matmul_rate(dtype: torch.dtype = torch.float32) -> float:
    """Operations per second in matrix products, best of ten."""
    a, b = torch.randn(1_024, 1_024, dtype=dtype), torch.randn(1_024, 1_024, dtype=dtype)
    seconds = []
    for _ in range(10):
        begun = time.perf_counter()
        torch.mm(a, b)
        seconds.append(time.perf_counter() - begun)
    return float(2 * 1_024**3 / min(seconds))


def main() -> None:
    """Runs the rounds and prints the medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--facts", type=int, default=50)
    parser.add_argument("--shots", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        prompts = workload(options.facts, options.shots, Path(place))
        random_llama(Path(place), [str(prompt.content) for prompt in prompts])
        loaded: Any = load_model(f"hf:{place}")
    ids = loaded.tokenizer([str(prompt.content) for prompt in prompts])["input_ids"]
    unique = sum(len(pack.tokens) for pack in packs(ids, 1 << 40))
    parameters = sum(p.numel() for p in loaded.model.parameters())
    ways: dict[str, Callable[[Any, Sequence[Prompt]], list[str]]] = {
        "medfact": medfact_way,
        f"plain loop, batch {PLAIN_BATCH}": plain_loop,
        **lm_eval_ways(loaded),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    rates = []
    for _ in range(options.rounds):
        rates.append(matmul_rate())
        for name, way in ways.items():
            begun = time.perf_counter()
            way(loaded, prompts)
            seconds[name].append(time.perf_counter() - begun)
    medians = {name: len(prompts) / statistics.median(of) for name, of in seconds.items()}
    bound = statistics.median(rates) * len(prompts) / (2 * parameters * unique)
    threads = torch.get_num_threads()
    print(f"{len(prompts)} statements, {options.shots} shots, {parameters / 1e6:.1f}M parameters, {threads} threads")
    print(f"{sum(map(len, ids)):,} tokens in all prompts, {unique:,} unique")
    print(f"bound: {bound:.1f} statements/s, every unique token once at {statistics.median(rates) / 1e9:.0f} GFLOP/s")
    for name, rate in medians.items():
        share, times = 100 * rate / bound, medians["medfact"] / rate
        print(f"{name:<24}{rate:>8.1f} statements/s{share:>6.0f} % of the bound, {times:.2f} times as long as medfact")


if __name__ == "__main__":
    main()
