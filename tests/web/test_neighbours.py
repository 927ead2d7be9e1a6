"""Whoever takes a new cookie for each run or file is counted by the network address too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from app_builders import services_on

from medfact.errors import Mistake
from medfact.limits import limits
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.store.schema import runs
from medfact.web.evaluate.begin import check_room
from medfact.web.pace import ADDRESS_TIMES, MOST_HOLDERS, MOST_KEPT, SURELY_BEGUN_SECONDS, Neighbours
from medfact.web.services import Services
from medfact.web.upload_gate import NotNow, UploadGate

HERE, ELSEWHERE = "8.8.8.8", "9.9.9.9"


@pytest.fixture
def services(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    (tmp_path / "limits.yaml").write_text("visitor: {runs_going: 2, local_minutes_a_day: 3}\n", encoding="utf-8")
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    monkeypatch.setenv("MEDFACT_LIMITS", str(tmp_path / "limits.yaml"))
    with services_on(store) as services:
        yield services


def visitor(services: Services, number: int, address: str = HERE) -> str:
    owner = f"{number:032x}"
    services.neighbours.note(owner, address)
    return owner


def test_runs_of_all_visitors_of_an_address_are_counted(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    going: dict[str | None, int] = {}
    monkeypatch.setattr(services.jobs, "going", lambda owner=None: going.get(owner, 0))
    for number in range(ADDRESS_TIMES):
        owner = visitor(services, number)
        check_room(services, owner, 2, ["openai:any"])
        going[owner] = 2
    with pytest.raises(Mistake, match="at your network address have 20 unfinished runs; this server allows 20"):
        check_room(services, visitor(services, 100), 1, ["openai:any"])
    check_room(services, visitor(services, 101, ELSEWHERE), 1, ["openai:any"])
    going.popitem()
    check_room(services, visitor(services, 100), 1, ["openai:any"])


def test_minutes_of_all_visitors_of_an_address_are_counted(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    used: dict[str, float] = {}
    monkeypatch.setattr(services.jobs, "local_minutes_left", lambda owner: 3 - used.get(owner, 0.0))
    for number in range(ADDRESS_TIMES):
        owner = visitor(services, number)
        check_room(services, owner, 1, ["hf:any"])
        used[owner] = 3
    with pytest.raises(Mistake, match="at your network address have used today's 30 minutes"):
        check_room(services, visitor(services, 100), 1, ["hf:any"])
    check_room(services, visitor(services, 100), 1, ["openai:any"])
    check_room(services, visitor(services, 101, ELSEWHERE), 1, ["hf:any"])


def test_a_flood_of_visitors_fills_no_memory() -> None:
    now = [0.0]
    neighbours = Neighbours(lambda: now[0])
    for number in range(MOST_HOLDERS + 50):
        neighbours.note(str(number), HERE)
        neighbours.begins(str(number))
    assert (len(neighbours._address), len(neighbours._took)) == (MOST_KEPT, MOST_HOLDERS)
    now[0] += SURELY_BEGUN_SECONDS
    assert neighbours.going(str(MOST_HOLDERS), lambda owner: int(owner == "7")) == 1
    assert set(neighbours._going) == {"7"}


def test_uploads_of_all_visitors_of_an_address_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    gate, most = UploadGate(lambda: 0.0), int(limits().visitor.uploads_an_hour) * ADDRESS_TIMES
    for number in range(most):
        with gate.uploading(f"{number:032x}", 1, HERE):
            pass
    with (
        pytest.raises(NotNow, match=f"You and others at your network address have uploaded {most} files within an hour"),
        gate.uploading("f" * 32, 1, HERE),
    ):
        pass
    with gate.uploading("f" * 32, 1, ELSEWHERE):
        pass


def test_statements_of_an_hour_are_counted(services: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "hour.yaml").write_text("visitor: {statements_an_hour: 100}\n", encoding="utf-8")
    monkeypatch.setenv("MEDFACT_LIMITS", str(tmp_path / "hour.yaml"))
    owner, other = visitor(services, 1), visitor(services, 2)
    spec = RunSpec(model="baseline:always-true", limit=3)  # 3 pairs × 2 × 8 = 48 statements
    for begun in (0, 48, 96):
        assert services.store.disk.statements_begun(owner, "2000") == begun
        check_room(services, owner, 1, [spec.model])
        start(spec, services.store.of(owner))
    with pytest.raises(Mistake, match="last hour ask 144 statements; this server begins no more after 100"):
        check_room(services, owner, 1)
    check_room(services, other, 1, [spec.model])
    with services.store.database.writing() as connection:
        connection.execute(runs.update().values(started_at="2020-01-01T00:00:00.000+00:00"))
    check_room(services, owner, 1, [spec.model])
