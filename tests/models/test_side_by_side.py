"""Packs in two threads and in blocks of tokens: what is computed where. `test_families.py` tests that answers are the same."""

from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, current_thread, main_thread
from typing import Any

import pytest
import torch
from naive import SHOTS, STATEMENT_TREE, make_short_prompt
from small_models import torch_threads, write_small_llama, write_small_model
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from medfact.models import load_model
from medfact.models.local import packing
from medfact.models.local.decoding import side_by_side, threads_of
from medfact.models.local.model import LocalModel
from medfact.models.local.packing import packs

pytestmark = pytest.mark.model


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """And no model is too narrow for them."""
    monkeypatch.setattr("medfact.models.local.decoding.LEAST_WIDTH", 1)
    with torch_threads(2):
        yield


def local(folder: Path) -> LocalModel:
    model = load_model(f"hf:{folder}")
    assert isinstance(model, LocalModel)
    return model


# ------------------------------------------------------------------------- threads


def test_two_are_computed_at_once_each_with_a_core_of_its_own() -> None:
    both = Barrier(2)

    def work(item: str) -> tuple[str, str, int]:
        both.wait(timeout=30)  # ends only if another thread is here, too
        return item, current_thread().name, torch.get_num_threads()

    (one, first, its_cores), (other, second, other_cores) = side_by_side(work, ["one", "other"])
    assert (one, other) == ("one", "other")
    assert first != second
    assert (its_cores, other_cores) == (1, 1)
    assert torch.get_num_threads() == 2


def test_one_alone_has_all_cores() -> None:
    assert side_by_side(lambda _: (current_thread(), torch.get_num_threads()), ["one"]) == [(current_thread(), 2)]


def test_an_error_in_a_thread_is_raised_and_the_cores_come_back() -> None:
    def work(item: int) -> float:
        return 1 / item

    with pytest.raises(ZeroDivisionError):
        side_by_side(work, [0, 1])
    assert torch.get_num_threads() == 2
    assert side_by_side(lambda _: torch.get_num_threads(), ["later"]) == [2]


@pytest.mark.parametrize(
    ("rope", "threads"),
    [
        ({"rope_type": "default", "rope_theta": 10_000.0}, 2),
        ({"rope_type": "linear", "factor": 2.0, "rope_theta": 10_000.0}, 2),
        ({"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10_000.0}, 1),
        (
            {
                "rope_type": "longrope",
                "factor": 2.0,
                "rope_theta": 10_000.0,
                "long_factor": [2.0] * 6,
                "short_factor": [1.0] * 6,
            },
            1,
        ),
    ],
)
def test_a_model_that_changes_while_it_computes_is_not_shared(rope: dict[str, Any], threads: int, tmp_path: Path) -> None:
    """Some position encodings are made anew for a longer prompt, in the model itself."""
    model = local(write_small_model(tmp_path, "llama", rope_parameters=rope)).model
    assert threads_of(model) == threads
    with torch_threads(1):
        assert threads_of(model) == 1


@pytest.mark.parametrize("module", ["transformers_modules.somebody.modeling", "bitsandbytes.nn.modules"])
def test_foreign_code_and_quantized_layers_are_not_shared(module: str, tmp_path: Path) -> None:
    model = local(write_small_llama(tmp_path)).model
    assert threads_of(model) == 2
    last = model.model.layers[-1].mlp.down_proj
    last.__class__ = type("Own", (type(last),), {"__module__": module})
    assert threads_of(model) == 1


def test_a_narrow_model_is_not_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = local(write_small_llama(tmp_path)).model
    for width, threads in ((48, 2), (49, 1)):
        monkeypatch.setattr("medfact.models.local.decoding.LEAST_WIDTH", width)
        assert threads_of(model) == threads


def test_packs_of_one_size_are_computed_side_by_side(tmp_path: Path) -> None:
    """The two threads wait for each other before they compute a pack: one that came alone would break the barrier."""
    model = local(write_small_llama(tmp_path))
    model.together = 400
    both = Barrier(2)
    threads: set[str] = set()

    def wait_for_the_other(_: object, __: object, given: dict[str, Any]) -> None:
        is_pack = given["input_ids"].shape[1] > 1
        if is_pack and current_thread() is not main_thread():
            threads.add(current_thread().name)
            both.wait(timeout=60)

    model.model.register_forward_pre_hook(wait_for_the_other, with_kwargs=True)
    prompts = [make_short_prompt(text, shots, chat=False) for shots in ((), SHOTS) for text in STATEMENT_TREE]
    assert len(list(model.complete(prompts))) == len(prompts)
    assert threads == {"model_0", "model_1"}


def test_packs_side_by_side_need_no_more_memory_and_share_as_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of at most 100 tokens together: 30 and 40, which share nothing, go side by side; then 60 do not fit beside 50.

    Prompts of 50 tokens that share 45 stay in one pack of 95 tokens, rather than in two that compute the 45 twice.
    """
    model = local(write_small_llama(tmp_path))
    model.together = 100
    lone = [[place] * length for place, length in enumerate((60, 30, 50, 40))]
    with monkeypatch.context() as long_rows_cost_much:
        long_rows_cost_much.setattr("medfact.models.local.model.LONG_WIDTHS", 0.4)
        assert sizes(model, lone) == [[30, 40], [50], [60]]
    alike = [[*range(45), *[end] * 5] for end in range(100, 110)]
    assert sizes(model, alike) == [[95]]


def sizes(model: LocalModel, ids: list[list[int]]) -> list[list[int]]:
    return sorted([len(pack.tokens) for pack in beside] for group in model._groups(ids) for beside in group)


# ------------------------------------------------------------------------- blocks


def test_each_block_is_computed_with_what_it_attends_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two prompts of six tokens that share two make ten; in blocks of four:

    tokens 0 to 3, of the first prompt, attend to 0, 1, 2 and 3;
    its last two, 4 and 5, and the first two of the other's own, 6 and 7, attend to 0 to 7;
    8 and 9 attend to 0, 1, 6, 7, 8 and 9: not to what is the first prompt's alone.
    """
    (pack,) = packs([[1, 2, 3, 4, 5, 6], [1, 2, 7, 8, 9, 10]], 100)
    monkeypatch.setattr(packing, "BLOCK_TOKENS", 4)
    computed: list[tuple[int, list[float]]] = []

    def watched(module: Any, query: Any, key: Any, *given: Any, **options: Any) -> Any:
        computed.append((query.shape[2], key[0, 0, :, 0].tolist()))
        return sdpa_attention_forward(module, query, key, *given, **options)

    monkeypatch.setattr(packing, "sdpa_attention_forward", watched)
    seen = torch.from_numpy(pack.attention())
    mask = torch.zeros(1, 1, 10, 10).masked_fill_(~seen, torch.finfo(torch.float32).min)
    mask -= torch.arange(10) / 10  # such as a bias by distance, which is the model's own
    query, value = (torch.randn(1, 2, 10, 4, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    key = torch.arange(10.0)[None, None, :, None].expand(1, 2, 10, 4)
    module = torch.nn.Module()
    whole, _ = packing._attend(module, query, key, value, mask)
    assert computed.pop() == (10, list(range(10)))
    with packing.in_blocks(seen):
        in_blocks, _ = packing._attend(module, query, key, value, mask)
        assert computed == [(4, [0, 1, 2, 3]), (4, list(range(8))), (2, [0, 1, 6, 7, 8, 9])]
        packing._attend(module, query[:, :, :1], key, value, mask[:, :, :1])
        assert computed[3:] == [(1, list(range(10)))], "a later token is not of the pack"
        packing._attend(module, query, key, value, mask, position_bias=torch.zeros(1, 2, 10, 10))
        assert computed[4:] == [(10, list(range(10)))], "a bias that is no part of the mask is not cut"
    torch.testing.assert_close(in_blocks, whole)
    packing._attend(module, query, key, value, mask)
    assert computed[5:] == [(10, list(range(10)))], "nothing is left of the blocks"


def test_a_model_computes_its_packs_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = local(write_small_llama(tmp_path))
    monkeypatch.setattr(packing, "BLOCK_TOKENS", 16)
    rows: list[int] = []

    def watched(module: Any, query: Any, *given: Any, **options: Any) -> Any:
        rows.append(query.shape[2])
        return sdpa_attention_forward(module, query, *given, **options)

    monkeypatch.setattr(packing, "sdpa_attention_forward", watched)
    list(model.complete([make_short_prompt(text, SHOTS, chat=False) for text in STATEMENT_TREE]))
    assert len(rows) > 20
    assert max(rows) == 16
