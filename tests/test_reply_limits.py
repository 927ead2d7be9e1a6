"""One limit of tokens for every reply, of local models and of services; a reply that it cuts is flagged, whoever gave it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from odd_service import OddService, Reply, said
from small_models import small_llama
from test_api import Load, load

from medfact.answers import FORMATS, make_prompt
from medfact.models import LENGTH, REPLY_TOKENS, Completion, Placement, load_model
from medfact.models.local.model import shared_limit
from medfact.models.prompt import is_settled

__all__ = ["load"]

STATEMENT = "fever is a symptom of gout."


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A local model that never ends by itself."""
    return load_model(f"hf:{small_llama(tmp_path_factory.mktemp('model'))}")


def asked_locally(model: Any, **more: Any) -> Completion:
    ((_, done),) = model.complete([make_prompt(STATEMENT, (), chat=False, **{"reading": "keyword", **more})])
    return done


@pytest.mark.parametrize("question", [name for name in FORMATS if name != "code"])
@pytest.mark.parametrize("chat", [True, False])
def test_every_question_has_the_same_limit(question: str, chat: bool) -> None:
    assert make_prompt(STATEMENT, (), chat=chat, question=question).max_tokens == REPLY_TOKENS == 256


@pytest.mark.parametrize(
    "settings", [{}, {"completions": True}, {"shots_as_turns": True}], ids=["text", "completions", "turns"]
)
def test_a_service_gets_that_limit(load: Load, settings: dict[str, Any]) -> None:
    with OddService(Reply({"choices": [{"text": "True", "message": {"content": "True"}, "finish_reason": "stop"}]})) as service:
        model = load(service.base_url, **settings)
        ((_, done),) = model.complete([make_prompt(STATEMENT, (), chat=model.chat)])
        assert (done.text, service.requests[0].body["max_tokens"]) == ("True", REPLY_TOKENS)


@pytest.mark.model
def test_a_local_reply_gets_that_limit_and_is_flagged_where_it_cuts(talker: Any, tmp_path: Path) -> None:
    folder = small_llama(tmp_path)
    done = asked_locally(talker)
    texts = {}
    for tokens in (1, 16, REPLY_TOKENS):
        own = asked_locally(load_model(f"hf:{folder}", placement=Placement(max_tokens=tokens)))
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
    folder = small_llama(tmp_path / "model")
    common = ("--facts", facts_file, "--shots", 0, "--limit", 1, "--db", url, "--protocol", "tpeval", "--max-tokens", 8)
    run = medfact("run", *common, "--pool", "medfact", "--model", f"hf:{folder}").rows[0]["run"]
    (report,) = medfact("report", run, "--db", url, "--json").rows
    answers = medfact("answers", run, "--db", url).rows
    assert report["cut"] == sum(row["cut"] == LENGTH for row in answers) > 0
    assert all(row["answer"] is None or is_settled(row["raw"]) for row in answers if row["cut"])
    assert f"{report['cut']} replies were cut off for length" in medfact("report", run, "--db", url).out
    with OddService(Reply(said("It is said that", "length"))) as service:
        asked = ("--model", "openai:m", "--base-url", service.base_url)
        (report,) = medfact("report", medfact("run", *common[:-2], *asked).rows[0]["run"], "--db", url, "--json").rows
    assert report["cut"] == report["unreadable"] == report["statements"]
