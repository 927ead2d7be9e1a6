"""Packs computed in two threads, in blocks of tokens: what is computed where, and that nothing else changes."""

from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, current_thread
from typing import Any

import pytest
import torch
from naive import FAMILY, SHOTS
from small_models import cores, small_llama, small_model
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from medfact.answers import make_prompt
from medfact.models import load_model
from medfact.models.local import attention
from medfact.models.local.model import LocalModel
from medfact.models.local.packing import packs
from medfact.models.local.side_by_side import side_by_side, threads_of

pytestmark = pytest.mark.model


@pytest.fixture(autouse=True)
def two_cores() -> Iterator[None]:
    with cores(2):
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
    ],
)
def test_a_model_that_changes_while_it_computes_is_not_shared(rope: dict[str, Any], threads: int, tmp_path: Path) -> None:
    """Dynamic position encodings are made anew for each longer prompt, in the model itself."""
    model = local(small_model(tmp_path, "llama", rope_parameters=rope)).model
    assert threads_of(model) == threads
    with cores(1):
        assert threads_of(model) == 1


def test_code_from_a_repository_is_not_shared(tmp_path: Path) -> None:
    model = local(small_llama(tmp_path)).model
    assert threads_of(model) == 2
    model.__class__ = type("Own", (type(model),), {"__module__": "transformers_modules.somebody.modeling"})
    assert threads_of(model) == 1


def test_packs_of_one_size_are_computed_side_by_side(tmp_path: Path) -> None:
    model = local(small_llama(tmp_path))
    model.together = 400
    where: list[tuple[str, int]] = []
    model.model.register_forward_pre_hook(
        lambda _, __, given: where.append((current_thread().name, given["input_ids"].shape[1])), with_kwargs=True
    )
    prompts = [make_prompt(text, shots, chat=False) for shots in ((), SHOTS) for text in FAMILY]
    assert len(list(model.complete(prompts))) == len(prompts)
    threads = {name for name, _ in where}
    assert len(threads - {current_thread().name}) == 2
    assert max(tokens for _, tokens in where) <= 200, "two packs need no more memory than one did"


# ------------------------------------------------------------------------- blocks


def test_each_block_is_computed_with_what_it_attends_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two prompts of six tokens that share two make ten; in blocks of four:

    tokens 0 to 3, of the first prompt, attend to 0, 1, 2 and 3;
    its last two, 4 and 5, and the first two of the other's own, 6 and 7, attend to 0 to 7;
    8 and 9 attend to 0, 1, 6, 7, 8 and 9: not to what is the first prompt's alone.
    """
    (pack,) = packs([[1, 2, 3, 4, 5, 6], [1, 2, 7, 8, 9, 10]], 100)
    monkeypatch.setattr(attention, "BLOCK_TOKENS", 4)
    computed: list[tuple[int, list[float]]] = []

    def watched(module: Any, query: Any, key: Any, *given: Any, **options: Any) -> Any:
        computed.append((query.shape[2], key[0, 0, :, 0].tolist()))
        return sdpa_attention_forward(module, query, key, *given, **options)

    monkeypatch.setattr(attention, "sdpa_attention_forward", watched)
    seen = torch.from_numpy(pack.attention())
    mask = torch.zeros(1, 1, 10, 10).masked_fill_(~seen, torch.finfo(torch.float32).min)
    mask -= torch.arange(10) / 10  # such as a bias by distance, which is the model's own
    query, value = (torch.randn(1, 2, 10, 4, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1))
    key = torch.arange(10.0)[None, None, :, None].expand(1, 2, 10, 4)
    module = torch.nn.Module()
    whole, _ = attention._attend(module, query, key, value, mask)
    assert computed.pop() == (10, list(range(10)))
    with attention.in_blocks(seen):
        in_blocks, _ = attention._attend(module, query, key, value, mask)
        assert computed == [(4, [0, 1, 2, 3]), (4, list(range(8))), (2, [0, 1, 6, 7, 8, 9])]
        attention._attend(module, query[:, :, :1], key, value, mask[:, :, :1])
        assert computed[3:] == [(1, list(range(10)))], "a later token is not of the pack"
    torch.testing.assert_close(in_blocks, whole)
    attention._attend(module, query, key, value, mask)
    assert computed[4:] == [(10, list(range(10)))], "nothing is left of the blocks"
