"""Chinese: no spaces, no capitals, no article; its sentences, its prompts, and what its replies are read by."""

import shutil
from pathlib import Path

import pytest

from medfact.answers import Demonstration, make_prompt
from medfact.assets import LANGUAGES
from medfact.datasets import load_bundled
from medfact.errors import PoolError
from medfact.facts import Fact
from medfact.languages import load_language
from medfact.languages.language import read_language


def said(head: str, relation: str, tail: str) -> dict[str, str]:
    """Variant → the statement of a fact."""
    fact = Fact(head=head, relation=relation, tail=tail)
    return {statement.variant: statement.text for statement in load_language("zh").pool.statements([fact])}


def test_sentences() -> None:
    asked = said("asthma", "symptoms", "wheezing")
    assert asked["none"] == "哮鸣音是哮喘的公认症状或体征。"
    assert asked["inv"] == "哮喘的公认症状和体征包括哮鸣音。"
    assert asked["ins"] == "在哮喘患者中，哮鸣音是该病症的公认症状或体征。"
    assert asked["inv+ins"] == "在患者中，哮喘是以哮鸣音为公认症状或体征的病症之一。"
    assert asked["dn"] == "哮鸣音不是哮喘的公认症状或体征。"
    assert asked["inv+dn"] == "哮喘的公认症状和体征不包括哮鸣音。"
    assert asked["ins+dn"] == "在哮喘患者中，哮鸣音不是该病症的公认症状或体征。"
    assert asked["inv+ins+dn"] == "在患者中，哮喘不是以哮鸣音为公认症状或体征的病症之一。"
    assert said("gout", "therapeutic drugs", "colchicine")["ins+dn"] == "在痛风患者中，秋水仙碱不用于治疗该病症。"


def test_no_letter_becomes_a_capital_and_no_space_stands_between_words() -> None:
    """A capital would make a Greek beta a letter that looks like a Latin B."""
    assert said("beta thalassemia", "affected sites", "bone marrow")["inv"] == "β地中海贫血的受累部位包括骨髓。"
    for fact, other in (("hemophilia A", "octocog alfa"), ("breast cancer", "tamoxifen")):
        for text in said(fact, "therapeutic drugs", other).values():
            assert text.endswith("。")
            assert " " not in text.replace("octocog alfa", "")


def test_a_switch_for_capitals_that_is_no_switch_is_refused(tmp_path: Path) -> None:
    shutil.copytree(LANGUAGES / "zh", folder := tmp_path / "zh")
    text = (folder / "pool.yaml").read_text(encoding="utf-8")
    assert "capitals: false" in text
    (folder / "pool.yaml").write_text(text.replace("capitals: false", "capitals: perhaps"), encoding="utf-8")
    with pytest.raises(PoolError, match="capitals"):
        read_language(folder)


def test_a_prompt_has_no_space_before_an_answer() -> None:
    asking = load_language("zh").asking
    shots = (Demonstration("发热是疟疾的公认症状或体征。", True), Demonstration("骨骼是哮喘的受累部位。", False))
    prompt = make_prompt("肺是哮喘的受累部位。", shots, chat=False, question=asking.format)
    asks = "上述说法正确还是错误？请回答“正确”或“错误”。"
    assert prompt.content == (
        f"发热是疟疾的公认症状或体征。{asks}正确\n骨骼是哮喘的受累部位。{asks}错误\n肺是哮喘的受累部位。{asks}"
    )
    assert prompt.answers == ("正确", "错误")
    assert load_language("es").asking.format.reply(True) == " Verdadero\n"


def test_no_fact_of_the_large_set_lacks_a_name() -> None:
    facts = [fact for fact in load_bundled("clinical-core").facts if fact.positive]
    assert load_language("zh").pool.statable_facts(facts) == tuple(facts)


def test_words_that_begin_an_answer() -> None:
    """One character begins a word by itself: 正 that of 正确, 不 that of 不正确. English words count everywhere."""
    true, false = load_language("zh").asking.choices
    assert {"正确", "正", "对", "是", "真", "true", "yes"} == set(true)
    assert {"错误", "错", "否", "假", "不正确", "不正", "不对", "不是", "不", "false", "no"} == set(false)


@pytest.mark.parametrize(
    ("reply", "answer", "at"),
    [
        ("这不是错误的说法。", True, 3),  # 不是 turns 错误
        ("该说法错误，正确答案是青霉素。", False, 3),  # 正确答案 is no answer
        ("虽然有例外，上述说法正确。", True, 10),  # the side clause ends at the comma of its script
        ("（B）错误", False, 3),
        ("该说法并不总是正确。", None, None),
        ("真菌感染很常见。", None, None),  # 真 is a part of another word
    ],
)
def test_a_reply_is_read_without_spaces_to_go_by(reply: str, answer: bool | None, at: int | None) -> None:
    read = load_language("zh").asking.read(reply)
    assert (read.answer, read.at) == (answer, at)
