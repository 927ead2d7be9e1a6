"""A chat template is a program of a stranger: it gets some memory and some seconds, and writes what transformers would."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from small_models import CHAT, small_llama, small_tokenizer

from medfact.errors import ModelError
from medfact.models.local.chat import PROGRAM, RENDERER, ChatFormat, Renderer
from medfact.models.local.template_process import SECONDS

ASKED = ({"role": "user", "content": "fever is a symptom of gout, true or false?"},)
LETTERS = "{% set n = namespace(x='a' * 1000) %}"


def with_template(template: Any) -> Any:
    tokenizer = small_tokenizer()
    tokenizer.chat_template = template
    return tokenizer


LARGE = {
    "a product": "{{ 'a' * 3000000000 }}",
    "a product of a variable": "{% set n = 3000000000 %}{{ ('a' * n)|length }}{{ messages[0].content }}",
    "a list": "{{ ([0] * 1000000000)|length }}{{ messages[0].content }}",
    "a filter": "{{ 'a'|center(3000000000) }}",
    "a format": "{{ '%3000000000d' % 1 }}",
    "another format": "{{ '{:>3000000000}'.format(1) }}",
    "a method": "{{ 'a'.ljust(3000000000) }}",
    "a replacement": LETTERS + "{% set y = 'b' * 5000000 %}{{ n.x.replace('a', y)|length }}{{ messages[0].content }}",
    "a sum": LETTERS + "{% for i in range(40) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x|length }}{{ messages[0].content }}",
    "a chain": LETTERS
    + "{% for i in range(40) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x|length }}{{ messages[0].content }}",
    "joined": LETTERS + "{{ ([n.x] * 10000000)|join|length }}{{ messages[0].content }}",
    "what it writes": "{% for i in range(90000) %}{{ messages[0].content }}" + "x" * 1000 + "{% endfor %}",
    "depth": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
}


@pytest.mark.parametrize("way", LARGE)
def test_what_takes_much_memory_ends_in_a_sentence(way: str) -> None:
    before = psutil.Process().memory_info().rss
    with pytest.raises(ModelError, match="chat template cannot be used"):
        ChatFormat().text(with_template(LARGE[way]), ASKED)
    assert psutil.Process().memory_info().rss - before < 200_000_000
    assert ChatFormat().text(with_template(CHAT), ASKED).endswith("<s>assistant:"), "the next model is asked all the same"


LONG = {
    "loops": "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}{{ messages[0]['content'] }}",
    "a power": "{{ 10 ** (10 ** 9) }}",
}


@pytest.mark.parametrize("way", LONG)
def test_what_takes_long_is_ended(way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Even where the interpreter itself never gets a turn."""
    quick = tmp_path / "template_process.py"
    quick.write_text(PROGRAM.read_text(encoding="utf-8").replace(f"SECONDS = {SECONDS}", "SECONDS = 2"), encoding="utf-8")
    monkeypatch.setattr("medfact.models.local.chat.PROGRAM", quick)
    renderer, begun = Renderer(), time.monotonic()
    try:
        with pytest.raises(ModelError, match="too much time or memory"):
            renderer.render(LONG[way], ASKED, {})
        assert time.monotonic() - begun < 60
        assert renderer.render(CHAT, ASKED, {}) == "<s>user: fever is a symptom of gout, true or false?\n"
    finally:
        renderer.close()


USUAL = {
    "turns": CHAT,
    "tokens": "{{ bos_token }}{% for m in messages %}{{ m.content|trim }}{{ eos_token }}{% endfor %}",
    "white space": "  {% for m in messages %}\n    {{ m.content }}\n  {% endfor %}\n\n",
    "json": "{{ messages|tojson(indent=2) }}{{ tools is none }}{{ {'a': 'é<&'}|tojson }}",
    "loops": "{% for m in messages %}{% if loop.last %}{{ m.content }}{% continue %}{% endif %}{% endfor %}",
    "a generation": "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}",
    "a namespace": "{% set n = namespace(t='') %}{% for m in messages %}{% set n.t = n.t + m.content %}{% endfor %}{{ n.t }}",
    "a switch": "{{ messages[0].content }}{% if enable_thinking is false %}<think></think>{% endif %}",
    "letters": "{{ messages[0].content }} – ü 汉 🙂 \u2028 \x85",
}


@pytest.mark.parametrize("name", USUAL)
def test_it_writes_what_transformers_writes(name: str) -> None:
    messages = [
        {"role": "system", "content": "Ünïcode 汉 🙂\r\n\u2028"},
        {"role": "user", "content": "  <b>'fever'</b>\n& more?  "},
    ]
    tokenizer = with_template(USUAL[name])
    switch = {"enable_thinking": False} if "enable_thinking" in USUAL[name] else {}
    expected = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **switch)
    assert ChatFormat()._rendered(tokenizer, messages) == expected


def test_a_tokenizer_with_several_templates_uses_its_own(tmp_path: Path) -> None:
    tokenizer = with_template({"default": CHAT, "other": "{{ messages[0].content }} other"})
    assert ChatFormat().text(tokenizer, ASKED).endswith("assistant:")
    assert ChatFormat(arguments={"chat_template": "other"}).text(tokenizer, ASKED).endswith(" other")
    with pytest.raises(ModelError, match="no default"):
        ChatFormat().text(with_template({"one": CHAT, "two": CHAT}), ASKED)


def test_threads_get_each_their_own_text() -> None:
    wrong: list[str] = []

    def ask(name: str) -> None:
        for number in range(50):
            text = RENDERER.render("{{ messages[0].content }}", [{"role": "user", "content": f"{name} {number}"}], {})
            if text != f"{name} {number}":
                wrong.append(str(text))

    threads = [threading.Thread(target=ask, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_the_process_ends_with_the_one_that_began_it() -> None:
    code = (
        "from medfact.models.local.chat import RENDERER as r; r.render('x', [{'role': 'user', 'content': ''}], {});"
        "print(r._process.pid, flush=True); import os; os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PROGRAM.parents[3])
    assert done.returncode == -9, done.stderr
    until(lambda: gone(int(done.stdout)))


def test_after_a_fork_each_has_a_process_of_its_own() -> None:
    assert RENDERER.render("x", ASKED, {}) == "x"
    ours = RENDERER._process
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of forks beside threads
        child = os.fork()
    if not child:
        said = RENDERER.render("y", ASKED, {})
        os._exit(0 if said == "y" and RENDERER._process is not ours else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert RENDERER.render("z", ASKED, {}) == "z"
    assert RENDERER._process is ours


@pytest.mark.model
def test_the_command_line_says_it_in_a_sentence(tmp_path: Path, medfact: Any, facts_file: Path) -> None:
    folder = small_llama(tmp_path / "model", chat=True)
    (folder / "chat_template.jinja").write_text(LARGE["a product"])
    done = medfact("run", "--facts", facts_file, "--limit", 2, "--shots", 0, "--model", f"hf:{folder}")
    assert done.code == 2
    assert "The model's chat template cannot be used (it takes more than 512 MB of memory)." in done.err
    assert "Traceback" not in done.err
