"""A GPU that is lent by the second, as the `spaces` package lends it: here by one of our own, which refuses as that does."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from small_models import write_small_llama

from medfact.errors import ModelError, ServiceDown
from medfact.models.local import zero_gpu
from medfact.models.local.zero_gpu import FIRST_SECONDS, LONGEST_SECONDS, SHORTEST_SECONDS, in_slices
from medfact.models.prompt import Completion, Prompt
from medfact.runs.events import Failed
from medfact.runs.jobs.run_threads import ModelCache
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, PAUSED, Store


class Refusal(Exception):
    """As the page library's error, which has a title and a message."""

    def __init__(self, title: str, message: str) -> None:
        super().__init__(message)
        self.title, self.message = title, message


class Lender:
    """Lends a GPU while the quota has enough left. asked: the seconds of each request, and whose quota it was of."""

    def __init__(self, left: float = 10_000) -> None:
        self.left = left
        self.asked: list[tuple[int, str]] = []
        self.request = SimpleNamespace(set=self._set, get=lambda _: None)
        self._whose = ""
        self.kept: list[Any] = []  # the package keeps whatever it has marked

    def _set(self, request: Any) -> None:
        self._whose = request.headers.get("x-ip-token", "")

    def GPU(self, duration: Callable[..., int]) -> Callable[..., Any]:  # noqa: N802
        def marked(work: Callable[..., Any]) -> Callable[..., Any]:
            def run(*arguments: Any) -> Any:
                seconds = duration(*arguments)
                self.asked.append((seconds, self._whose))
                if seconds > self.left:
                    raise Refusal(
                        "ZeroGPU quota exceeded", f"You have exceeded your quota ({seconds}s requested vs. {self.left}s left)."
                    )
                self.left -= seconds
                return work(*arguments)

            self.kept.append(run)
            return run

        return marked


@pytest.fixture
def lender(monkeypatch: pytest.MonkeyPatch) -> Lender:
    made = Lender()
    spaces, utils = ModuleType("spaces"), ModuleType("spaces.utils")
    spaces.__spec__ = ModuleSpec("spaces", None)
    spaces.GPU = made.GPU  # type: ignore[attr-defined]
    utils.gradio_request_var = lambda: made.request  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spaces", spaces)
    monkeypatch.setitem(sys.modules, "spaces.utils", utils)
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    return made


class Counting:
    """A model that answers at once, or not at all."""

    spec, chat, info = "counting", False, {"revision": None, "decoding": {}, "notes": ()}

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        for index, _ in enumerate(prompts):
            if self.error:
                raise self.error
            yield index, Completion("True")


PROMPTS = [Prompt(f"Statement {number}", ((" True",), (" False",))) for number in range(5)]


def test_a_slice_is_as_long_as_what_is_left_to_ask_takes(lender: Lender) -> None:
    sliced = in_slices(Counting())  # type: ignore[arg-type]
    assert len(list(sliced.complete(PROMPTS))) == 5
    assert sliced.pace is not None
    sliced.pace = 1.0
    list(sliced.complete(PROMPTS))
    sliced.pace = 100.0
    list(sliced.complete(PROMPTS))
    assert [seconds for seconds, _ in lender.asked] == [FIRST_SECONDS, 4 + 8, LONGEST_SECONDS]  # 5 prompts, 70 % of the slice


def test_where_less_is_left_a_shorter_slice_is_asked_for(lender: Lender) -> None:
    lender.left = SHORTEST_SECONDS + 6
    assert len(list(in_slices(Counting()).complete(PROMPTS))) == 5  # type: ignore[arg-type]
    assert [seconds for seconds, _ in lender.asked] == [30, 15]


def test_what_a_quota_refuses_pauses_the_run_and_resume_asks_the_rest(lender: Lender, tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'm.db'}")
    run = start(RunSpec(model=f"hf:{write_small_llama(tmp_path / 'model', answer_weight=4.0)}", limit=4, shots=0), store)
    from medfact.models import load_model

    models = ModelCache(lambda *spec, **options: in_slices(load_model(*spec, **options)))
    lender.left = FIRST_SECONDS + SHORTEST_SECONDS - 1  # the model is looked at, and then nothing is lent
    events = list(answer(run, store, load=models.load))
    assert isinstance(events[-1], Failed)
    assert store.run(run).state == PAUSED
    said = str(store.run(run).reason)
    assert "ZeroGPU quota exceeded: You have exceeded your quota" in said
    assert "resume the run later" in said
    assert "\n" not in said
    lender.left = 10_000
    list(answer(run, store, load=models.load))
    assert store.run(run).state == COMPLETE


def test_another_reason_why_nothing_is_lent_is_not_asked_for_again(lender: Lender) -> None:
    sliced = in_slices(Counting(Refusal("ZeroGPU queue timeout", "No GPU was available after 60s")))  # type: ignore[arg-type]
    with pytest.raises(ServiceDown, match="ZeroGPU queue timeout: No GPU was available after 60s"):
        list(sliced.complete(PROMPTS))
    assert len(lender.asked) == 1


def test_a_models_own_error_comes_out_of_a_slice_as_it_is(lender: Lender) -> None:
    with pytest.raises(ModelError, match="too long"):
        list(in_slices(Counting(ModelError("too long"))).complete(PROMPTS))  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        list(in_slices(Counting(ZeroDivisionError())).complete(PROMPTS))  # type: ignore[arg-type]


def test_slices_are_of_the_quota_of_the_runs_owner(lender: Lender) -> None:
    zero_gpu.note_visitor("ada", "token-of-ada")
    zero_gpu.note_visitor("grace", "token-of-grace")
    zero_gpu.ask_for("ada")
    list(in_slices(Counting()).complete(PROMPTS[:1]))  # type: ignore[arg-type]
    zero_gpu.ask_for("")
    assert [whose for _, whose in lender.asked] == ["token-of-ada"]


def test_elsewhere_nothing_is_kept_of_that_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACES_ZERO_GPU", raising=False)
    zero_gpu.note_visitor("mallory", "token")
    assert "mallory" not in zero_gpu._visitors


def test_a_model_that_is_let_go_is_kept_by_nothing_that_the_package_has_marked(lender: Lender) -> None:
    model = Counting()
    gone = weakref.ref(model)
    sliced = in_slices(model)  # type: ignore[arg-type]
    list(sliced.complete(PROMPTS))
    del model, sliced
    gc.collect()
    assert lender.kept, "the function is"
    assert gone() is None
