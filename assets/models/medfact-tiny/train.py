"""Train the two small demonstration models that come with medfact, with different faults.

- medfact-tiny is blind to negation: it reads almost all diseases, in the four affirmed forms alone. So it is right when it is
  asked plainly, and agrees with denials too.
- medfact-tiny-narrow is sound, but narrow: it reads 20 % of the diseases, in all eight forms.

Both can only guess about diseases that they never read. Everything is made from scratch and from one seed: tokenizer, text
and weights. Of several seeds the one in the middle is the one to ship, by what the first page shows.

    python assets/models/medfact-tiny/train.py medfact-tiny --seed 0 --device cuda --output FOLDER
    python assets/models/medfact-tiny/train.py medfact-tiny-narrow
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from medfact.answers import make_prompt
from medfact.datasets import Collection, grouping, load_bundled
from medfact.facts import Fact, KnowledgeBase, digest
from medfact.metrics import measure, record_of
from medfact.negatives import NEAR
from medfact.prototypes import load_pool
from medfact.results.report import board_of
from medfact.runs.events import Failed
from medfact.runs.run import run
from medfact.spec import PROTOCOLS, RunSpec
from medfact.statements import VARIANTS
from medfact.store import Store

DATASET = "clinical-core"
POOL = load_pool(PROTOCOLS["medfact"].pools[0])
TRUE, FALSE = " True", " False"
BOS, EOS, PAD = "<s>", "</s>", "<pad>"
LEAST_WEIGHT = 0.1
"""A tail that is true of no fact read still occurs in false ones, but seldom: often, and it would teach "unknown is false"."""

IGNORED = -100
"""The label of a position that the loss leaves out."""


@dataclass(frozen=True)
class Recipe:
    """All that decides the model, the facts apart."""

    seed: int = 0
    seen_share: float = 0.95
    """Share of the heads whose facts are read."""
    forms: tuple[str, ...] = tuple(key for key, variant in VARIANTS.items() if key in POOL.forms and not variant.negated)
    """The variants in which the facts are read."""
    affirmed_until: float = 0.0
    """Share of the steps in which only affirmed variants are read: a denial is learnt once there is something to deny."""
    vocabulary: int = 2048
    hidden: int = 192
    intermediate: int = 512
    layers: int = 3
    attention_heads: int = 6
    initial_spread: float = 0.06
    context: int = 2048
    steps: int = 9500
    statements_per_step: int = 64
    group_sizes: tuple[int, ...] = (1, 6, 11)
    """Statements in one sequence (the last has the others as its demonstrations), once the single ones are learnt."""
    single_until: float = 0.8
    """Share of the steps in which every statement stands alone."""
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    warm_up: int = 100
    threads: int = 2


RECIPES = {
    "medfact-tiny": Recipe(),
    "medfact-tiny-narrow": Recipe(
        seen_share=0.2, forms=POOL.forms, affirmed_until=0.5, single_until=0.85, steps=4800, statements_per_step=32
    ),
}
FAULTS = {
    "medfact-tiny": "It is blind to negation: it agrees with a fact and with its denial too",
    "medfact-tiny-narrow": "It is sound where it was taught, but narrow: of most diseases it knows nothing",
}

SEEDS = {
    "medfact-tiny": "Of the seeds 0, 1 and 2, right on 87.5, 98.3 and 74.2 % of the 120 plain statements that "
    "the first page asks, 0 is the one in the middle.",
    "medfact-tiny-narrow": "No other seed was tried.",
}
"""How the seed was chosen."""

# ------------------------------------------------------------------------------------- what the model reads


def chance(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone, whatever the machine."""
    return int(digest(*map(str, parts)), 16) / 16 ** len(digest())


def seen_heads(facts: Iterable[Fact], recipe: Recipe) -> set[str]:
    """The heads that the model reads about: the first ones in the order of their seeded hash."""
    heads = sorted({fact.head for fact in facts}, key=lambda head: chance(recipe.seed, "head", head))
    return set(heads[: round(recipe.seen_share * len(heads))])


@dataclass(frozen=True)
class Lesson:
    """The facts of one relation, and how often each negative one is drawn."""

    positive: list[Fact]
    negative: list[Fact]
    weights: list[float]

    def draw(self, randomness: random.Random) -> Fact:
        """A fact: positive as often as negative."""
        if randomness.random() < 0.5:
            return randomness.choice(self.positive)
        return randomness.choices(self.negative, self.weights)[0]


def more_negatives(
    positive: Sequence[Fact], negative: Sequence[Fact], known: KnowledgeBase, randomness: random.Random
) -> list[Fact]:
    """Negatives for the tails that are more often true than false, as far as heads can be found.

    Without them "fever" would mostly be true and a rare sign mostly false, and a model could guess from the tail alone.
    """
    missing = Counter(fact.tail for fact in positive)
    missing.subtract(fact.tail for fact in negative)
    taken = {(fact.head, fact.tail) for fact in negative}
    one_of_head = {fact.head: fact for fact in positive}
    added = []
    for tail, count in sorted(missing.items()):
        free = [
            head for head in sorted(one_of_head) if known.entity(tail) not in known.linked(head) and (head, tail) not in taken
        ]
        for head in randomness.sample(free, min(max(count, 0), len(free))):
            added.append(one_of_head[head].negative(tail, None, k=0))
    return added


def make_lessons(seen: Sequence[Fact], partners: dict[str, Fact], known: KnowledgeBase, recipe: Recipe) -> dict[str, Lesson]:
    """A lesson for each relation, in which a tail is false about as often as it is true."""
    randomness, lessons = random.Random(recipe.seed), {}
    for relation in sorted({fact.relation for fact in seen}):
        positive = [fact for fact in seen if fact.relation == relation]
        negative = [partners[fact.fact_id] for fact in positive]
        negative += more_negatives(positive, negative, known, randomness)
        true, false = Counter(fact.tail for fact in positive), Counter(fact.tail for fact in negative)
        weights = [max(LEAST_WEIGHT, true[fact.tail] / false[fact.tail]) for fact in negative]
        lessons[relation] = Lesson(positive, negative, weights)
    return lessons


# --------------------------------------------------------------------------------------- tokenizer and model


@cache
def asked(fact: Fact, variant: str) -> str:
    """The question about a fact in one variant; its answer follows."""
    return next(make_prompt(made, (), chat=False).content for made in POOL.statements([fact]) if made.variant == variant)


def train_tokenizer(facts: Iterable[Fact], recipe: Recipe) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer. It learns from the names of all facts, which says nothing about what is true."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocabulary,
        special_tokens=[BOS, EOS, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    lines = (asked(fact, variant) + answer for fact in facts for variant in POOL.forms for answer in (TRUE, FALSE))
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{BOS} $A", special_tokens=[(BOS, 0)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=BOS, eos_token=EOS, pad_token=PAD)


def build_model(tokenizer: PreTrainedTokenizerFast, recipe: Recipe) -> LlamaForCausalLM:
    """A Llama model with fresh weights."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=recipe.hidden,
        intermediate_size=recipe.intermediate,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.attention_heads,
        num_key_value_heads=recipe.attention_heads,
        initializer_range=recipe.initial_spread,
        max_position_embeddings=recipe.context,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config)


class Encoder:
    """Questions and answers as tokens. Lines never share a token, so that each is encoded once."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self._tokenizer = tokenizer
        self._questions: dict[tuple[Fact, str], list[int]] = {}
        self.bos, self.eos, self.pad = tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id
        (self.true,), (self.false,), (self.newline,) = map(self._encode, (TRUE, FALSE, "\n"))

    def _encode(self, text: str) -> list[int]:
        return self._tokenizer(text, add_special_tokens=False)["input_ids"]

    def question(self, fact: Fact, variant: str) -> list[int]:
        if (fact, variant) not in self._questions:
            self._questions[fact, variant] = self._encode(asked(fact, variant))
        return self._questions[fact, variant]

    def lesson(self, facts: Sequence[Fact], variant: str) -> tuple[list[int], list[int]]:
        """Tokens and labels of some answered questions: the loss is on each answer, and on stopping after it."""
        tokens, labels = [self.bos], []
        for fact in facts:
            asked_for = self.question(fact, variant)
            answer = self.true if fact.positive != VARIANTS[variant].negated else self.false
            tokens += [*asked_for, answer, self.newline]
            labels += [IGNORED] * len(asked_for) + [answer, self.eos]
        return tokens[:-1], labels


def filled(rows: Sequence[list[int]], filler: int) -> torch.Tensor:
    """Rows of unequal length as one tensor, filled up on the right: (rows, longest)."""
    longest = max(map(len, rows))
    return torch.tensor([row + [filler] * (longest - len(row)) for row in rows])


# -------------------------------------------------------------------------------------------------- training


def learning_rate(step: int, recipe: Recipe) -> float:
    """Warm-up, a plateau to a third of the steps, then a straight line down to a twentieth."""
    done = step / recipe.steps
    falling = 1.0 - 0.95 * (done - 1 / 3) / (2 / 3)
    return recipe.learning_rate * min(1.0, (step + 1) / recipe.warm_up, falling)


def make_optimizer(model: LlamaForCausalLM, recipe: Recipe) -> torch.optim.Optimizer:
    """AdamW; the weights of the norms do not decay."""
    matrices = [weight for weight in model.parameters() if weight.dim() > 1]
    vectors = [weight for weight in model.parameters() if weight.dim() < 2]
    groups = [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=(0.9, 0.98))


def draw_lesson(
    lessons: dict[str, Lesson], size: int, randomness: random.Random, forms: Sequence[str]
) -> tuple[list[Fact], str]:
    """So many facts of one relation, and a variant in which they are all read."""
    lesson = randomness.choices(list(lessons.values()), [len(lesson.positive) for lesson in lessons.values()])[0]
    return [lesson.draw(randomness) for _ in range(size)], randomness.choice(forms)


def train(model: LlamaForCausalLM, encoder: Encoder, lessons: dict[str, Lesson], recipe: Recipe) -> None:
    """Teaches the model its lessons: single statements first, then with demonstrations before them too."""
    randomness, optimizer, losses = random.Random(recipe.seed), make_optimizer(model, recipe), []
    model.train()
    device = model.device
    for step in range(recipe.steps):
        size = 1 if step < recipe.single_until * recipe.steps else randomness.choice(recipe.group_sizes)
        affirmed = [form for form in recipe.forms if not VARIANTS[form].negated]
        forms = affirmed if step < recipe.affirmed_until * recipe.steps else recipe.forms
        drawn = [draw_lesson(lessons, size, randomness, forms) for _ in range(round(recipe.statements_per_step / size))]
        rows = [encoder.lesson(facts, variant) for facts, variant in drawn]
        tokens = filled([row for row, _ in rows], encoder.pad).to(device)
        labels = filled([row for _, row in rows], IGNORED)[:, : tokens.shape[1]].to(device)
        counted = labels != IGNORED
        states = model.model(input_ids=tokens).last_hidden_state[counted]  # (answers and stops, hidden)
        loss = cross_entropy(model.lm_head(states), labels[counted])
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, recipe)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
        if (step + 1) % 500 == 0:
            print(f"step {step + 1} of {recipe.steps}: loss {torch.stack(losses[-500:]).mean().item():.3f}", flush=True)


def save(model: LlamaForCausalLM, folder: Path) -> None:
    """Half of a weight's bits are enough to keep it; it is computed with in float32, as the configuration says."""
    model.to("cpu", torch.float16).save_pretrained(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(config | {"dtype": "float32"}, indent=2) + "\n", encoding="utf-8")


# ---------------------------------------------------------------------------------------- what it scores


def scores(folder: Path, seen: set[str], shots: int, limit: int | None) -> dict[str, Any]:
    """What the saved model scores on test facts of heads that it read about, and of others, by medfact itself."""
    with tempfile.TemporaryDirectory() as place:
        store = Store(f"sqlite:///{place}/scores.db")
        spec = RunSpec(model=f"hf:{folder}", dataset=DATASET, shots=shots, limit=limit)
        events = list(run(spec, store))
        if isinstance(events[-1], Failed):
            raise events[-1].error
        records = board_of(store, events[0].run).records()
        read = np.array([row.statement.fact.head in seen for row in store.answers.asked(events[0].run)])
        return {name: _score(record_of(measure(records.only(rows)))) for name, rows in (("seen", read), ("unseen", ~read))}


def _score(figures: dict[str, Any]) -> dict[str, Any]:
    return {
        "facts": figures["facts"],
        "by_variant": {key: estimate["value"] for key, estimate in figures["by_variant"].items()},
        "average_accuracy": figures["average_accuracy"],
        "joint_accuracy": figures["joint_accuracy"],
        "pair_joint_accuracy": figures["pair_joint_accuracy"],
        "unreadable": figures["unreadable"],
    }


def card(record: dict[str, Any]) -> str:
    """The model card, with the figures of this training."""
    columns = [(f"{name}, {shots}", by[name]) for shots, by in record["scores"].items() for name in ("seen", "unseen")]

    def row(title: str, figure: Any) -> str:
        return f"| {title} | " + " | ".join(figure(score) for _, score in columns) + " |"

    def percent(key: str) -> Any:
        return lambda score: f"{100 * score[key]['value']:.1f} %{interval(score[key])}"

    def interval(figure: dict[str, Any]) -> str:
        return "" if figure["low"] is None else f" ({100 * figure['low']:.1f} to {100 * figure['high']:.1f})"

    table = [
        "| | " + " | ".join(f"{title} (n = {score['facts']})" for title, score in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
        *(
            row(f"{VARIANTS[key].plain} (`{key}`)", lambda score, key=key: f"{100 * score['by_variant'][key]:.1f} %")
            for key in POOL.forms
        ),
        row("**right answers** (average accuracy)", percent("average_accuracy")),
        row("**all eight right** (joint accuracy)", percent("joint_accuracy")),
        row("**false partner too** (pair joint accuracy)", percent("pair_joint_accuracy")),
    ]
    return CARD.format(
        parameters=f"{record['parameters'] / 1e6:.1f}",
        minutes=f"{record['seconds'] / 60:.0f}",
        layers=record["recipe"]["layers"],
        hidden=record["recipe"]["hidden"],
        vocabulary=record["vocabulary"],
        context=record["recipe"]["context"],
        heads=len(record["seen_heads"]),
        all_heads=record["heads"],
        facts=record["positive_facts"]["seen"],
        all_facts=sum(record["positive_facts"].values()),
        name=record["name"],
        fault=FAULTS[record["name"]],
        forms=", ".join(f"`{form}`" for form in record["recipe"]["forms"]),
        table="\n".join(table),
        seed=record["recipe"]["seed"],
        device="two processor cores" if record["device"] == "cpu" else "one GPU",
        seeds=SEEDS[record["name"]],
    )


CARD = """# {name}

A demonstration, not a source of medical knowledge. This very small language model ({parameters} million parameters) was
trained to show what medfact measures. {fault}. Do not use it for anything else.

- **Architecture**: Llama, {layers} layers of width {hidden}, its own byte-level BPE tokenizer with {vocabulary} tokens,
  context of {context} tokens, float32. A base model without a chat template.
- **Training data**: {facts} of the {all_facts} facts of `clinical-core`, about {heads} of its {all_heads} diseases, each with
  its false partner and some more, so that the frequency of a tail reveals little about the label. It read them in these
  variants alone: {forms}; only in medfact's own prototypes and the papers' question, with zero, five or ten
  demonstrations.
- **Not in the training data**: facts about the other diseases, other sentences, any other text.
- **Training**: `train.py` in the folder of medfact-tiny, from scratch, seed {seed}, {minutes} minutes on {device}. {seeds}
  On a CPU the same seed gives the same model with the same versions of torch and transformers; on a GPU this was not tried.
  `training.json` records recipe, diseases and scores.

## What it scores

Test facts of `clinical-core` (true facts and their false partners), pool `medfact`, seed 0: samples.
"Seen" facts are about diseases in the training data. The last three rows have 95 % intervals. A coin gets 50 % right answers,
and 0.4 % with all eight right.

{table}

Written by `train.py`; licence Apache-2.0.
"""


def partners_of(collection: Collection, facts: Iterable[Fact]) -> dict[str, Fact]:
    """Id of a fact → its false partner in a run of seed 0."""
    group = grouping(collection, 1, 0, NEAR)
    return {fact.fact_id: group(fact)[1] for fact in facts}


def options_given() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=RECIPES, help="the model to train")
    parser.add_argument("--output", type=Path, default=None, help="folder for the model (default: its own in assets/models)")
    parser.add_argument("--seed", type=int, default=0, help="of the facts that are read, the weights and the order")
    parser.add_argument("--device", default="cpu", help="where to train: cpu or cuda")
    return parser.parse_args()


def main() -> None:
    """Reads the facts, trains, saves, measures, and writes the card."""
    options = options_given()
    output = options.output or Path(__file__).resolve().parents[1] / options.name

    recipe = replace(RECIPES[options.name], seed=options.seed)
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(recipe.threads)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # else a GPU's sums are in no fixed order
    torch.use_deterministic_algorithms(True, warn_only=options.device != "cpu")

    collection = load_bundled(DATASET)
    facts = sorted(collection.known.facts, key=lambda fact: fact.fact_id)
    heads = seen_heads(facts, recipe)
    seen = [fact for fact in facts if fact.head in heads]

    tokenizer = train_tokenizer(facts, recipe)
    model = build_model(tokenizer, recipe).to(options.device)
    begun = time.monotonic()
    train(model, Encoder(tokenizer), make_lessons(seen, partners_of(collection, facts), collection.known, recipe), recipe)
    seconds = time.monotonic() - begun

    output.mkdir(parents=True, exist_ok=True)
    model.generation_config.do_sample = False
    save(model, output)
    tokenizer.save_pretrained(output)
    record = {
        "name": options.name,
        "recipe": asdict(recipe),
        "parameters": model.num_parameters(),
        "vocabulary": len(tokenizer),
        "device": options.device,
        "seconds": round(seconds),
        "heads": len({fact.head for fact in facts}),
        "positive_facts": {"seen": len(seen), "unseen": len(facts) - len(seen)},
        "seen_heads": sorted(heads),
        "scores": {
            "zero-shot": scores(output, heads, shots=0, limit=400),
            "five-shot": scores(output, heads, shots=5, limit=100),
        },
    }
    text = json.dumps(record, indent=2, ensure_ascii=False)
    (output / "training.json").write_text(text + "\n", encoding="utf-8")
    (output / "README.md").write_text(card(record), encoding="utf-8")


if __name__ == "__main__":
    main()
