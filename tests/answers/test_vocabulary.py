"""Tokens by what they say, where a reply says its answer, and how a chat template is spoken to."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from small_models import train_small_tokenizer, write_small_llama
from tokenizers import Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast

from medfact.answers import CHOICES, Demonstration, make_prompt
from medfact.answers.reading import COMMITTED, KEYWORD, LAST_WORD, READINGS, parse_position
from medfact.errors import Mistake, ModelError
from medfact.models import Placement, load_model
from medfact.models.local.chat import ChatFormat
from medfact.models.local.decoding import Decoder, Reply, Step
from medfact.models.local.vocabulary import Vocabulary, hold_beginnings, need_forcing
from medfact.models.prompt import answer_position, decoding_of
from medfact.models.thinking import without_thinking


def metaspace() -> PreTrainedTokenizerFast:
    """A tokenizer as Llama 2's: a text gets a space in front; a space belongs to the word after it, and is lost where one is
    decoded alone.
    """
    words = ["<unk>", "</s>", "▁True", "▁False", "▁or", "▁It", "▁is", "True", "False", "hood", ".", "▁"]
    tokenizer = Tokenizer(models.Unigram([(word, -10.0 if word == "▁" else -1.0) for word in words], unk_id=0))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", eos_token="</s>")


def ids(tokenizer: Any, *tokens: str) -> list[int]:
    return [tokenizer.convert_tokens_to_ids(token) for token in tokens]


@pytest.mark.parametrize(
    ("second", "settled"), [("▁False", True), (".", True), ("</s>", True), ("▁or", False), ("hood", False), ("False", False)]
)
def test_an_opening_word_is_settled_by_what_follows_it_in_the_text(second: str, settled: bool) -> None:
    """ "True False" is an opening True; decoded apart, "▁False" would look like the end of "TrueFalse"."""
    tokenizer = metaspace()
    vocabulary = Vocabulary(tokenizer, ids(tokenizer, "</s>"))
    assert vocabulary.settles(ids(tokenizer, "▁True", second)) is settled


def test_answers_are_cut_into_tokens_as_they_follow_the_prompt() -> None:
    tokenizer = metaspace()
    vocabulary = Vocabulary(tokenizer, [])
    assert tokenizer(" True", add_special_tokens=False).input_ids != ids(tokenizer, "▁True")  # by itself it has a ▁ too many
    assert vocabulary.following("It is", (" True", " False")) == (ids(tokenizer, "▁True"), ids(tokenizer, "▁False"))


def test_an_answer_splits_where_it_is_several_tokens_beyond_what_both_begin_with() -> None:
    assert not need_forcing(([7, 1], [7, 2]))  # "Answer: True" and "Answer: False"
    assert need_forcing(([7, 1, 3], [7, 2]))
    assert need_forcing(([7], [7, 2]))


# ------------------------------------------------------------------------- where a reply says its answer


@pytest.mark.parametrize(
    ("tokens", "reading", "at"),
    [
        (["Answer", ":", " True", " There", " is", " no", " doubt"], COMMITTED, 2),
        (["Answer", ":", " True", " There", " is", " no", " doubt"], LAST_WORD, 2),
        (["It", " is", " false", " to", " say", " no", ".", " Yes"], LAST_WORD, 2),
        (["False", " at", " first", "; ", "Tr", "ue", " in", " the", " end"], LAST_WORD, 4),
        (["I", " say", " tr", "ue", "."], KEYWORD, 2),
        (["True", " or", " false", "?", " No", ","], COMMITTED, 4),
        (["It", " is", " unclear"], COMMITTED, 0),
        (["It", " is", " true", " and", " false"], KEYWORD, 2),  # unreadable: the first answer word
        (["<think>", "true", "</think>", "\n", "False"], COMMITTED, 4),
        (["<think>", "true", "</think>", "\n", "Hm"], COMMITTED, 3),  # unreadable: what comes after the thought
        (["<think>", "true"], COMMITTED, None),
        (["**", "False", "**"], COMMITTED, 1),
    ],
)
def test_p_true_is_read_at_the_word_that_decides(tokens: list[str], reading: str, at: int | None) -> None:
    assert answer_position(tokens, "".join(tokens), partial(parse_position, READINGS[reading]), CHOICES) == at


def test_p_true_of_a_local_reply_is_that_of_its_deciding_word() -> None:
    """ "Answer: True There is no doubt": the last answer word is "no", but True is what is read."""
    tokenizer = train_small_tokenizer()
    text = "Answer: True There is no doubt"
    tokens = tokenizer(text, add_special_tokens=False).input_ids
    vocabulary = Vocabulary(tokenizer, [tokenizer.eos_token_id])
    pieces = vocabulary.pieces(tokens)
    assert "".join(pieces) == text
    reply = Reply()
    for token, piece in zip(tokens, pieces, strict=True):
        true, false = {" True": (0.8, 0.1), " no": (1e-6, 0.9)}.get(piece, (0.01, 0.01))
        reply.add(token, Step(true, false, True))
    prompt = make_prompt("x", (), chat=False, reading=LAST_WORD)
    done = Decoder(None, vocabulary, decoding_of(prompt), 0).completion(reply)
    assert done.text == text
    assert done.p_true == pytest.approx(0.8 / 0.9)
    assert done.p_mass == pytest.approx(0.9)


def test_letters_of_several_tokens_do_not_shift_the_place() -> None:
    tokenizer = train_small_tokenizer(without_merges=True)
    text = "Ärzte — 죷: true"
    tokens = tokenizer(text, add_special_tokens=False).input_ids
    pieces = Vocabulary(tokenizer, []).pieces(tokens)
    assert "".join(pieces) == text
    at = answer_position(pieces, text, partial(parse_position, READINGS[KEYWORD]), CHOICES)
    assert at is not None
    assert "".join(pieces[at:]) == "true"


def test_a_character_of_several_tokens_stands_at_its_first() -> None:
    """A word begins where its first byte is chosen. A byte that never becomes a character stands alone."""
    tokenizer = train_small_tokenizer(without_merges=True)
    vocabulary = Vocabulary(tokenizer, [])
    word, after = (tokenizer(text, add_special_tokens=False).input_ids for text in ("错误", " a"))
    assert vocabulary.pieces(word) == ["错", "", "", "误", "", ""]
    assert vocabulary.pieces([word[0], *after]) == ["\ufffd", " ", "a"]
    assert vocabulary.pieces([word[0], *word[:3]]) == ["\ufffd", "错", "", ""]


def test_what_a_reply_writes_after_a_prompt_has_its_space() -> None:
    """Decoded alone, the space of "▁True" is lost; after the prompt it is there."""
    tokenizer = metaspace()
    vocabulary = Vocabulary(tokenizer, ids(tokenizer, "</s>"))
    assert vocabulary.text(ids(tokenizer, "▁True")) == "True"
    assert vocabulary.written(ids(tokenizer, "▁True"), ids(tokenizer, "▁It", "▁is")) == " True"
    assert vocabulary.written(ids(tokenizer, "True"), ids(tokenizer, "▁is", ".")) == "True"
    assert vocabulary.written(ids(tokenizer, "▁True"), ids(tokenizer, "▁is", "</s>")) == " True"


def test_beginnings_are_read_in_other_languages_alone() -> None:
    assert not hold_beginnings(CHOICES, (" True", " False"))
    assert hold_beginnings((("ve", "verdadero"), ("fa", "falso")), (" Verdadero", " Falso"))


# ------------------------------------------------------------------------- room in the context


@pytest.mark.model
def test_a_prompt_that_leaves_room_for_its_answer_alone_is_asked(tmp_path: Path) -> None:
    """Five shots want 16 tokens of a reply, but one settles it; a reading of the whole reply needs all of them."""
    folder = write_small_llama(tmp_path, context=96, answer_weight=4.0)
    model = load_model(f"hf:{folder}")
    shots = (Demonstration("pain is a symptom of gout.", True),)
    texts = ["fever " * number for number in range(1, 60)]
    lengths = [len(model.tokenizer(make_prompt(text, shots, chat=False).content).input_ids) for text in texts]
    chosen = [text for text, length in zip(texts, lengths, strict=True) if length > 96 - 16]
    done = dict(model.complete([make_prompt(text, shots, chat=False) for text in chosen]))
    room = [96 - length for length in lengths if length > 96 - 16]
    for place, left in enumerate(room):
        assert (done[place].failure is None) == (left >= 1), left
    whole = dict(model.complete([make_prompt(text, shots, chat=False, reading=KEYWORD) for text in chosen]))
    assert all(done.failure for done in whole.values())


# ------------------------------------------------------------------------- chat templates

TURNS = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"
THINKS = TURNS + "{% if not enable_thinking %}<think></think>{% endif %}"
OPENS = TURNS + " <think>\n"
PART = "{% if part.type == 'text' %}{{ part.text }}{% endif %}"
PARTS = f"{{% for m in messages %}}{{% for part in m.content %}}{PART}{{% endfor %}}{{% endfor %}}"
LEAVES_OUT = "{% for m in messages %}{{ m.role }}{% endfor %}"
RAISES = "{{ raise_exception('System role not supported') }}"

ASKED = ({"role": "user", "content": "fever is a symptom of gout, true or false?"},)


def with_template(template: str) -> PreTrainedTokenizerFast:
    tokenizer = train_small_tokenizer()
    tokenizer.chat_template = template
    return tokenizer


def test_thinking_is_turned_off_where_the_template_knows_it() -> None:
    tokenizer = with_template(THINKS)
    assert ChatFormat().text(tokenizer, ASKED).endswith("<think></think>")
    assert ChatFormat(thinking=True).text(tokenizer, ASKED).endswith("assistant:")
    assert ChatFormat().note(tokenizer) is None
    assert "--thinking" in str(ChatFormat().note(with_template(OPENS)))
    assert ChatFormat(thinking=True).note(with_template(OPENS)) is None


def test_a_template_that_wants_parts_gets_parts_and_one_that_drops_the_question_is_refused() -> None:
    assert ChatFormat().text(with_template(PARTS), ASKED) == ASKED[0]["content"]
    with pytest.raises(ModelError, match="leaves the question out"):
        ChatFormat().text(with_template(LEAVES_OUT), ASKED)
    with pytest.raises(ModelError, match="System role not supported"):
        ChatFormat().text(with_template(RAISES), ASKED)


def test_template_arguments_reach_the_template() -> None:
    tokenizer = with_template("{{ effort }} {{ messages[0].content }}")
    assert ChatFormat(arguments={"effort": "low"}).text(tokenizer, ASKED).startswith("low fever")


@pytest.mark.model
def test_a_thinking_model_is_read_after_its_thoughts(tmp_path: Path) -> None:
    """The template opens a thought: what the model says belongs to it until it is closed."""
    folder = write_small_llama(tmp_path, chat=True)
    model = load_model(f"hf:{folder}", placement=Placement(thinking=True, max_tokens=12))
    model.tokenizer.chat_template = OPENS
    ((_, done),) = model.complete([make_prompt("fever is a symptom of gout.", (), chat=True)])
    assert done.text.startswith("<think>\n")
    assert (done.p_true, done.p_mass) == (None, None)  # it never ends
    assert model.info["decoding"]["thinking"] is True


def test_p_true_is_read_after_the_thoughts() -> None:
    tokenizer = train_small_tokenizer()
    text = "true</think>\nFalse"
    tokens = tokenizer(text, add_special_tokens=False).input_ids
    vocabulary = Vocabulary(tokenizer, [tokenizer.eos_token_id])
    reply = Reply()
    for token, piece in zip(tokens, vocabulary.pieces(tokens), strict=True):
        reply.add(token, Step(0.1, 0.6, True) if piece == "False" else Step(0.5, 0.1, True))
    asked = replace(decoding_of(make_prompt("x", (), chat=True)), settled_after=None)
    done = Decoder(None, vocabulary, asked, 0, "<think>\n").completion(reply)
    assert done.text == f"<think>\n{text}"
    assert done.p_true == pytest.approx(0.1 / 0.7)


def test_a_reply_of_no_tokens_is_a_mistake() -> None:
    with pytest.raises(Mistake, match="cannot have 0 tokens"):
        Placement(max_tokens=0)


@pytest.mark.model
def test_a_local_reply_takes_as_many_tokens_as_are_wanted(tmp_path: Path) -> None:
    folder = write_small_llama(tmp_path)
    prompt = make_prompt("fever is a symptom of gout.", (), chat=False, reading=KEYWORD)
    lengths = {}
    for tokens in (None, 3):
        model = load_model(f"hf:{folder}", placement=Placement(max_tokens=tokens))
        ((_, done),) = model.complete([prompt])
        lengths[tokens] = len(model.tokenizer(done.text, add_special_tokens=False).input_ids)
    assert lengths[3] <= 4 < lengths[None]


def test_special_tokens_that_mark_thinking_stay_in_a_reply() -> None:
    """Without them gpt-oss's and Gemma's thinking could not be told from the answer; other special tokens go."""
    tokenizer = metaspace()
    marks = ["<|channel>", "<channel|>", "<|channel|>", "<|message|>", "<pad>"]
    tokenizer.add_special_tokens({"additional_special_tokens": marks})
    vocabulary = Vocabulary(tokenizer, ids(tokenizer, "</s>"))
    reply = vocabulary.text(ids(tokenizer, "<|channel>", "▁True", "<pad>", "<channel|>", "▁False"))
    assert "<pad>" not in reply
    assert without_thinking(reply.replace("<|channel>", "<|channel>thought\n")).strip() == "False"
    assert "".join(vocabulary.pieces(ids(tokenizer, "<|channel|>", "▁True", "<|message|>"))) == "<|channel|> True<|message|>"
