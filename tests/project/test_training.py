"""The script that trained the demonstration model still does: a few steps of it, scored by medfact itself."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from medfact.answers import make_prompt
from medfact.assets import ASSETS
from medfact.datasets import grouping, load_bundled
from medfact.negatives import NEAR
from medfact.statements import VARIANTS


@pytest.fixture(scope="module")
def training() -> ModuleType:
    spec = importlib.util.spec_from_file_location("training", ASSETS / "models" / "medfact-tiny" / "train.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["training"] = module
    spec.loader.exec_module(module)
    return module


def test_some_steps_are_trained_and_scored_apart_by_what_was_read(training: ModuleType, tmp_path: Path) -> None:
    collection = load_bundled("clinical-core")
    facts = sorted(collection.known.facts, key=lambda fact: fact.fact_id)[:400]
    group = grouping(collection, 1, 0, NEAR)
    partners = {fact.fact_id: group(fact)[1] for fact in facts}
    recipe = training.Recipe(steps=3, hidden=48, intermediate=64, layers=1, vocabulary=600)
    heads = training.seen_heads(facts, recipe)
    seen = [fact for fact in facts if fact.head in heads]
    assert round(0.95 * len({fact.head for fact in facts})) == len(heads), "all but a twentieth of the diseases are read"

    tokenizer = training.train_tokenizer(facts, recipe)
    model = training.build_model(tokenizer, recipe)
    before = model.lm_head.weight.clone()
    training.train(model, training.Encoder(tokenizer), training.make_lessons(seen, partners, collection.known, recipe), recipe)
    assert not model.lm_head.weight.equal(before)
    model.save_pretrained(tmp_path), tokenizer.save_pretrained(tmp_path)

    scored = training.scores(tmp_path, heads, shots=0, limit=20)
    assert scored["seen"]["facts"] + scored["unseen"]["facts"] == 40, "20 facts, each with its false partner"
    assert set(scored["seen"]["by_variant"]) == set(training.POOL.forms)


def test_it_reads_the_prompts_that_models_are_asked(training: ModuleType) -> None:
    fact = load_bundled("clinical-core").known.facts[0]
    statement = next(made for made in training.POOL.statements([fact]) if made.variant == "inv+dn")
    assert VARIANTS["inv+dn"].negated
    assert training.asked(fact, "inv+dn") == make_prompt(statement, (), chat=False).content
