"""A chat template that cannot be used ends in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_models import CHAT, train_small_tokenizer, write_small_llama

from medfact.errors import ModelError
from medfact.models.local.chat import ChatFormat

MESSAGES = ({"role": "user", "content": "fever is a symptom of gout, true or false?"},)


def with_template(template: Any) -> Any:
    tokenizer = train_small_tokenizer()
    tokenizer.chat_template = template
    return tokenizer


BROKEN = {
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}": "recursion",
    "{% for m in messages %}": "cannot be used",
    "{{ raise_exception('no system turn') }}": "no system turn",
    "{% for a in range(900000) %}{% endfor %}": "[Rr]ange",
    "{% for i in range(50000) %}{{ messages[0].content }}" + "x" * 100 + "{% endfor %}": "more than 4,000,000 characters",
}


@pytest.mark.parametrize("template", BROKEN, ids=range(len(BROKEN)))
def test_a_template_that_cannot_be_used_is_named_in_a_sentence(template: str) -> None:
    with pytest.raises(ModelError, match=BROKEN[template]):
        ChatFormat().text(with_template(template), MESSAGES)


def test_a_tokenizer_with_several_templates_uses_its_own() -> None:
    tokenizer = with_template({"default": CHAT, "other": "{{ messages[0].content }} other"})
    assert ChatFormat().text(tokenizer, MESSAGES).endswith("assistant:")
    assert ChatFormat(arguments={"chat_template": "other"}).text(tokenizer, MESSAGES).endswith(" other")
    with pytest.raises(ModelError, match="no default"):
        ChatFormat().text(with_template({"one": CHAT, "two": CHAT}), MESSAGES)


@pytest.mark.model
def test_the_command_line_says_it_in_a_sentence(tmp_path: Path, medfact: Any, facts_file: Path) -> None:
    folder = write_small_llama(tmp_path / "model", chat=True)
    (folder / "chat_template.jinja").write_text("{{ raise_exception('no system turn') }}")
    done = medfact("run", "--facts", facts_file, "--limit", 2, "--shots", 0, "--model", f"hf:{folder}")
    assert done.code == 2
    assert "The model's chat template cannot be used (no system turn)." in done.err
    assert "Traceback" not in done.err
