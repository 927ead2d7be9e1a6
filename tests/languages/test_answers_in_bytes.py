"""P(True) of answer words that a tokenizer knows only as bytes, as those of Chinese in vocabularies made for other scripts."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from model_families import complete_prompts
from naive import load_reference, tokenize_prompt, word_probability
from small_models import write_small_model
from tokenizers import Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast

from medfact.answers import make_prompt
from medfact.languages import load_language
from medfact.models import load_model
from medfact.models.local.decoding import Decoder, Reply, Step
from medfact.models.local.vocabulary import Vocabulary, need_forcing
from medfact.models.prompt import Prompt, decoding_of

TRUE = [0xE6, 0xAD, 0xA3, 0xE7, 0xA1, 0xAE]  # 正确 in UTF-8
FALSE = [0xE9, 0x94, 0x99, 0xE8, 0xAF, 0xAF]  # 错误
LAST_OF_PROMPT = 0x82  # the last byte of "。"
STATEMENT = "哮鸣音是哮喘的公认症状或体征。"


def in_bytes(_: Any = None) -> PreTrainedTokenizerFast:
    """A tokenizer as Llama 2's that knows ASCII alone: any other letter is the tokens of its bytes, "<0xE6>" and so on."""
    pieces = ["<unk>", "<s>", "</s>", "<pad>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *map(chr, range(33, 127))]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>", byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )


def numbers(tokenizer: Any, word: list[int]) -> list[int]:
    return [tokenizer.convert_tokens_to_ids(f"<0x{byte:02X}>") for byte in word]


def saying(word: list[int], folder: Path) -> Path:
    """A random model that says a word after "。", byte after byte: a byte is followed by that which its embedding points at."""
    write_small_model(folder, "llama", change_tokenizer=in_bytes)
    tokenizer, model = load_reference(folder)
    chain = [*numbers(tokenizer, [LAST_OF_PROMPT, *word]), tokenizer.eos_token_id]
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        shown = model.model.norm(model.model.embed_tokens.weight)
        for before, after in pairwise(chain):
            model.lm_head.weight[after] = 0.3 * shown[before]
    model.save_pretrained(folder)
    return folder


def asked() -> Prompt:
    return make_prompt(STATEMENT, (), chat=False, question=load_language("zh").asking.format)


def test_an_answer_said_in_bytes_has_the_probability_of_all_its_bytes(tmp_path: Path) -> None:
    """正 is three tokens: the answer begins at the first of them, and no byte alone says True or False."""
    folder = saying(TRUE, tmp_path)
    tokenizer, _ = load_reference(folder)
    prompt = asked()
    (completion,) = complete_prompts(load_model(f"hf:{folder}"), [prompt])
    assert completion.text == "正确"
    assert prompt.reads("正确") is True
    true, false = (
        word_probability(folder, tokenize_prompt(folder, prompt), [], numbers(tokenizer, one)) for one in (TRUE, FALSE)
    )
    assert completion.p_true == pytest.approx(true / (true + false), abs=1e-4)
    assert completion.p_mass == pytest.approx(true + false, rel=1e-3)
    assert true > 0.5, "read after the first bytes, next to nothing would be left of it"


def test_a_byte_that_begins_words_of_both_sides_counts_for_neither() -> None:
    """对 is E5 AF B9 and 否 is E5 90 A6: E5 says nothing, so that the words are forced and no token of a byte is a choice."""
    tokenizer = in_bytes()
    vocabulary = Vocabulary(tokenizer, [tokenizer.eos_token_id])
    yes, no = (tokenizer(word, add_special_tokens=False).input_ids[1:] for word in ("对", "否"))
    assert [*map(len, (yes, no))] == [3, 3]
    assert yes[0] == no[0]
    assert need_forcing((yes, no))
    of_bytes = set(numbers(tokenizer, [*range(128, 256)]))
    for words in load_language("zh").asking.choices:
        assert not of_bytes & set(vocabulary.tokens(words))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("正确", 0),  # a tokenizer puts "▁" before any text, which is cut off here
        ("答案：正确", 9),  # 答, 案 and ： are three bytes each
        ("True", 0),
        ("是True", 3),  # read in English: its letters are tokens of their own
    ],
)
def test_p_true_is_read_at_the_first_token_of_the_character_that_answers(text: str, first: int) -> None:
    tokenizer = in_bytes()
    tokens = tokenizer(text, add_special_tokens=False).input_ids[1:]
    reply = Reply()
    for number, token in enumerate(tokens):
        reply.add(token, Step(0.4 if number == first else 1e-9, 0.1 if number == first else 1e-9, True))
    decoder = Decoder(None, Vocabulary(tokenizer, [tokenizer.eos_token_id]), decoding_of(asked()), 0)
    assert decoder.position(reply) == first
    assert decoder.completion(reply).p_true == pytest.approx(0.8)


def test_a_broken_character_before_an_english_answer_does_not_move_its_place() -> None:
    """A lone E6 is no character: it comes out together with the T of "True", at whose token the answer is read as ever."""
    tokenizer = in_bytes()
    vocabulary = Vocabulary(tokenizer, [tokenizer.eos_token_id])
    tokens = [*numbers(tokenizer, [0xE6]), *tokenizer.convert_tokens_to_ids(list("True"))]
    reply = Reply()
    for token in tokens:
        reply.add(token, Step(0.4, 0.1, True))
    assert Decoder(None, vocabulary, decoding_of(asked()), 0).position(reply) == 1
