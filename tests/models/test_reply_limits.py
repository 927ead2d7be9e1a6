"""One limit of tokens for every reply, of local models and of services; a reply that it cuts is flagged, whoever gave it."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from odd_service import USAGE, Reply, Request, ScriptedService, chat_reply
from service_models import ModelLoader
from service_models import load_service_model as load_service_model
from small_models import train_small_tokenizer, write_small_llama

from medfact.answers import FORMATS, make_prompt
from medfact.models import LENGTH, REPLY_TOKENS, Completion, Placement, load_model
from medfact.models.local.decoding import Decoder, Step
from medfact.models.local.decoding import Reply as LocalReply
from medfact.models.local.model import shared_limit
from medfact.models.local.vocabulary import Vocabulary
from medfact.models.prompt import decoding_of, is_settled, is_time_to_read
from medfact.models.services.reply_limits import named_limit

__all__ = ["load_service_model"]

STATEMENT = "fever is a symptom of gout."


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A local model that never ends by itself."""
    return load_model(f"hf:{write_small_llama(tmp_path_factory.mktemp('model'))}")


def asked_locally(model: Any, **more: Any) -> Completion:
    ((_, done),) = model.complete([make_prompt(STATEMENT, (), **{"chat": False, "reading": "keyword", **more})])
    return done


@pytest.mark.parametrize("question", [name for name in FORMATS if name != "code"])
@pytest.mark.parametrize("chat", [True, False])
def test_every_question_has_the_same_limit(question: str, chat: bool) -> None:
    assert make_prompt(STATEMENT, (), chat=chat, question=question).max_tokens == REPLY_TOKENS == 256


@pytest.mark.parametrize("settings", [{}, {"shots_as_turns": True}], ids=["text", "turns"])
def test_a_chat_at_a_service_gets_that_limit(load_service_model: ModelLoader, settings: dict[str, Any]) -> None:
    with ScriptedService(Reply(chat_reply("True"))) as service:
        model = load_service_model(service.base_url, **settings)
        ((_, done),) = model.complete([make_prompt(STATEMENT, (), chat=model.chat)])
        assert (done.text, service.requests[0].body["max_tokens"]) == ("True", REPLY_TOKENS)


@pytest.mark.parametrize(
    ("short", "longer", "text", "cut", "limits"),
    [
        (" True. It is", "", " True. It is", None, [16]),
        (" The statement is true. It", "", " The statement is true. It", None, [16]),
        (
            " The statement says",
            " The statement says that … It is false. It",
            " The statement says that … It is false. It",
            None,
            [16, 256],
        ),
        (" The statement says", " The statement says that", " The statement says that", LENGTH, [16, 256]),
    ],
)
def test_a_completed_text_is_asked_for_at_full_length_where_a_short_one_cannot_be_read(
    load_service_model: ModelLoader, short: str, longer: str, text: str, cut: str | None, limits: list[int]
) -> None:
    """It never ends by itself, and every token is paid for."""

    def reply(request: Request) -> Reply:
        words = short if request.body["max_tokens"] == 16 else longer
        return Reply({"choices": [{"text": words, "finish_reason": "length"}], "usage": USAGE})

    with ScriptedService(reply) as service:
        ((_, done),) = load_service_model(service.base_url, completions=True).complete([make_prompt(STATEMENT, (), chat=False)])
        assert [request.body["max_tokens"] for request in service.requests] == limits
    assert (done.text, done.cut) == (text, cut)
    assert done.served is not None
    assert done.served.prompt_tokens == 30 * len(limits)


@pytest.mark.parametrize(
    ("tokens", "enough", "reads"),
    [
        (16, 16, True),
        (32, 16, True),
        (48, 16, False),
        (64, 16, True),
        (15, 16, False),
        (50, 50, True),
        (16, None, False),
        (0, 16, False),
    ],
)
def test_a_continued_text_is_read_after_as_many_tokens_as_are_enough(tokens: int, enough: int | None, reads: bool) -> None:
    assert is_time_to_read(tokens, enough) is reads


@pytest.mark.parametrize(("text", "is_whole"), [("fever is true fever fever", True), ("fever is fever fever fever", False)])
def test_a_continued_text_ends_there_if_it_can_be_read(text: str, is_whole: bool) -> None:
    tokenizer = train_small_tokenizer()
    tokens = tokenizer(text, add_special_tokens=False).input_ids
    prompt = replace(make_prompt("x", (), chat=False), enough_tokens=len(tokens))
    reply = LocalReply()
    for token in tokens:
        reply.add(token, Step(0.5, 0.5, True))
    decoder = Decoder(None, Vocabulary(tokenizer, [tokenizer.eos_token_id]), decoding_of(prompt), 0)
    assert decoder.is_complete(reply) is is_whole
    assert decoder.completion(reply).cut == (None if is_whole else LENGTH)


@pytest.mark.model
def test_a_local_chat_gets_that_limit_and_is_flagged_where_it_cuts(tmp_path: Path) -> None:
    folder = write_small_llama(tmp_path, chat=True)
    done = asked_locally(load_model(f"hf:{folder}"), chat=True)
    texts = {}
    for tokens in (1, 16, REPLY_TOKENS):
        own = asked_locally(load_model(f"hf:{folder}", placement=Placement(max_tokens=tokens)), chat=True)
        assert own.cut == LENGTH
        texts[tokens] = own.text or ""
    assert (done.text, done.cut) == (texts[REPLY_TOKENS], LENGTH)
    assert len(texts[1]) < len(texts[16]) < len(texts[REPLY_TOKENS])


@pytest.mark.parametrize("reading", ["committed", "keyword", "last-word"])
def test_a_reply_that_ends_by_itself_is_not_flagged(reading: str) -> None:
    model = load_model("medfact-tiny")
    ((_, done),) = model.complete([make_prompt(STATEMENT, (), chat=False, reading=reading)])
    assert (done.cut, done.text) in {(None, " True"), (None, " False")}


@pytest.mark.model
def test_a_reply_that_ends_at_its_stop_is_not_flagged(talker: Any) -> None:
    stop = next(word for word in (asked_locally(talker).text or "").split() if word.isascii() and len(word) > 2)
    prompt = replace(make_prompt(STATEMENT, (), chat=False, reading="keyword"), stop=stop)
    ((_, done),) = talker.complete([prompt])
    assert (stop in (done.text or ""), done.cut) == (False, None)


@pytest.mark.model
def test_a_long_prompt_is_asked_where_a_short_reply_still_fits(talker: Any) -> None:
    """The context has 512 tokens: a reply needs a few of them, not all that it may have."""
    length = len(talker.tokenizer(make_prompt(STATEMENT, (), chat=False).content).input_ids)
    words = "fever " * 2_000
    for left, cut in ((300, LENGTH), (40, LENGTH), (16, LENGTH)):
        ids = talker.tokenizer(words, add_special_tokens=False).input_ids[: 512 - left - length]
        prompt = make_prompt(talker.tokenizer.decode(ids) + STATEMENT, (), chat=False, reading="keyword")
        ((_, done),) = talker.complete([prompt])
        assert (done.failure, done.cut) == (None, cut)


@pytest.mark.parametrize(
    ("most", "left", "limit"),
    [(256, 300, 256), (256, 255, 128), (256, 40, 32), (256, 16, 16), (256, 7, 7), (5, 100, 5), (4096, 3000, 3000)],
)
def test_prompts_of_about_one_length_share_a_limit(most: int, left: int, limit: int) -> None:
    assert shared_limit(most, left) == limit


@pytest.mark.parametrize(
    ("reply", "settled"),
    [
        ("Answer: True. Because", True),
        ("The answer is false, as", True),
        ("**Answer:** False", True),
        ("Answer: True or False? I", False),
        ("The answer depends on", False),
        ("It is true", False),
    ],
)
def test_a_cut_reply_counts_where_its_opening_answers(reply: str, settled: bool) -> None:
    assert is_settled(reply) is settled


@pytest.mark.model
def test_a_run_counts_the_replies_that_were_cut(
    tmp_path: Path, facts_file: Path, url: str, medfact: Callable[..., Any]
) -> None:
    folder = write_small_llama(tmp_path / "model")
    common = ("--facts", facts_file, "--shots", 0, "--limit", 1, "--db", url, "--protocol", "tpeval", "--max-tokens", 8)
    run = medfact("run", *common, "--pool", "medfact", "--model", f"hf:{folder}").rows[0]["run"]
    (report,) = medfact("report", run, "--db", url, "--json").rows
    answers = medfact("answers", run, "--db", url).rows
    assert report["cut"] == sum(row["cut"] == LENGTH for row in answers) > 0
    assert all(row["answer"] is None or is_settled(row["raw"]) for row in answers if row["cut"])
    assert f"{report['cut']} replies were cut off for length" in medfact("report", run, "--db", url).out
    with ScriptedService(Reply(chat_reply("It is said that", "length"))) as service:
        asked = ("--model", "openai:m", "--base-url", service.base_url)
        (report,) = medfact("report", medfact("run", *common[:-2], *asked).rows[0]["run"], "--db", url, "--json").rows
    assert report["cut"] == report["unreadable"] == report["statements"]


# ------------------------------------------------------------------------------------------------ what refusals name

WORDINGS = (Path(__file__).parents[1] / "data" / "refused_limits.csv").read_text(encoding="utf-8")
"""How services refuse a reply's limit, with {R} for that limit, {L} for the one that holds, {P} and {T} for the tokens of the
prompt and of both; and whether L is that of prompt and reply together, or of a reply, or of both with no word on the prompt.
"""


@pytest.mark.parametrize("row", list(csv.DictReader(WORDINGS.splitlines())), ids=lambda row: row["wording"][:40])
def test_what_a_refusal_names_is_read_in_many_words(row: dict[str, str]) -> None:
    kind, wording = row["kind"], row["wording"]
    for limit, requested, prompt in (
        (4096, 16_384, 300),
        (4096, 4096, 300),
        (16_384, 16_384, 900),
        (8192, 16_384, 57),
        (3000, 4096, 150),
        (131_072, 140_000, 300),
    ):
        if kind == "reply" and requested <= limit:
            continue
        numbers = {"L": limit, "R": requested, "P": prompt, "T": requested + prompt, "L1": limit + 1}
        grouped = {f"{name}c": f"{number:,}" for name, number in numbers.items()}
        named = named_limit(wording.format(**numbers, **grouped), requested)
        if kind == "reply":
            assert named.reply == limit
        elif kind == "together":
            assert (named.context, named.prompt) == (limit, prompt)
        else:
            assert limit in (named.context, named.reply)
            assert named.prompt is None


@pytest.mark.parametrize(
    ("words", "context", "prompt"),
    [
        ("The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", 1_048_576, 1_200_293),
        ("Prompt contains 65673 tokens, too large for model with 32768 maximum context length", 32_768, 65_673),
        ("maximum context length is 4097 tokens. However, your messages resulted in 192871 tokens.", 4097, 192_871),
    ],
)
def test_a_prompt_that_is_too_long_is_told_from_a_reply(words: str, context: int, prompt: int) -> None:
    named = named_limit(words, 256)
    assert (named.reply, named.context, named.prompt) == (None, context, prompt)
