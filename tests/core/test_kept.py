"""Results kept for all visitors: computed once, whoever asks meanwhile, and never crowded out by what visitors bring."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event

import pytest

from medfact.caching import shared_cache
from medfact.spec import RunSpec
from medfact.web import services


def test_many_who_ask_at_once_wait_for_one_computation() -> None:
    computed: list[int] = []
    together, end = Barrier(9), Event()

    @shared_cache(4)
    def square(number: int) -> int:
        computed.append(number)
        end.wait(10)
        return number * number

    def ask(number: int) -> int:
        together.wait(10)
        return square(number)

    with ThreadPoolExecutor(8) as threads:
        answers = [threads.submit(ask, 3) for _ in range(8)]
        together.wait(10)
        end.set()
        assert [answer.result(10) for answer in answers] == [9] * 8
    assert computed == [3]


def test_something_may_stand_for_the_arguments() -> None:
    asked: list[list[int]] = []

    @shared_cache(4, key=len)
    def first(numbers: list[int]) -> int:
        asked.append(numbers)
        return numbers[0]

    assert [first([1, 2]), first([3, 4]), first([5])] == [1, 1, 5]
    assert asked == [[1, 2], [5]]


def test_a_failure_is_not_kept() -> None:
    tried: list[str] = []

    @shared_cache(4)
    def read(name: str) -> str:
        tried.append(name)
        if len(tried) == 1:
            raise OSError("not yet")
        return name

    with pytest.raises(OSError, match="not yet"):
        read("a")
    assert [read("a"), read("a")] == ["a", "a"]
    assert tried == ["a", "a"]


def test_sizes_limit_what_is_kept() -> None:
    made: list[int] = []

    @shared_cache(10, len)
    def zeros(count: int) -> Sequence[int]:
        made.append(count)
        return [0] * count

    for count in (6, 3, 6, 4, 6, 11, 11, 4):  # 6 + 3 fit in 10; 4 drives out 3, which was used before 6; 11 is kept alone
        assert len(zeros(count)) == count
    assert made == [6, 3, 4, 11, 4]


def test_files_of_visitors_do_not_crowd_out_the_bundled_facts(tmp_path: Path) -> None:
    before = services.collection_of({})
    for number in range(12):
        file = tmp_path / f"{number}.csv"
        file.write_text(f"head,relation,tail\nasthma,symptoms,sign {number}\n")
        assert len(services.collection_of_spec(RunSpec(model="", facts=str(file))).facts) == 1
    assert services.collection_of({}) is before


def test_a_file_is_read_once_whatever_else_is_asked_of_it(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("head,relation,tail\nasthma,symptoms,wheezing\n")
    first = services.collection_of_spec(RunSpec(model="", facts=str(file)))
    others = (
        RunSpec(model="m", facts=str(file), limit=1),
        RunSpec(model="", facts=str(file), seed=7, shots=0, protocol="tpeval"),
    )
    assert all(services.collection_of_spec(spec) is first for spec in others)
    renamed = RunSpec(model="", facts=str(file), columns=(("head", "tail"), ("relation", "relation"), ("tail", "head")))
    assert services.collection_of_spec(renamed) is not first
