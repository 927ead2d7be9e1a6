"""Who reads a file when, and that nobody who waits for that keeps others waiting."""

from __future__ import annotations

import asyncio
import io
import secrets
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from browser import disable_rate_limits, serve_app
from waiting import wait_until

from medfact.caching import KeyedLock, ResultPending, shared_cache, without_blocking
from medfact.datasets import headers, isolated, table_reader
from medfact.datasets.isolated import MAX_PROCESSES, NeedsTurn, in_turn, reading
from medfact.errors import FactsError
from medfact.web import turns as turns_module
from medfact.web.turns import MOST_WAITING, MOST_WAITING_OF_ONE, Turns
from medfact.web.upload_gate import NotNow

ADDRESSES = [f"127.0.0.{number}" for number in range(2, 5)]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A public server that counts no requests, or the tests would wait for each other."""
    home = tmp_path_factory.mktemp("home")
    with serve_app(home, MEDFACT_IMPORTS="1", **disable_rate_limits(home)) as address:
        yield address
    assert "Traceback" not in (home / "log.txt").read_text()


class From:
    """A visitor at a network address."""

    def __init__(self, url: str, address: str = "127.0.0.1") -> None:
        cookie = {"cookie": f"medfact-visitor={secrets.token_hex(16)}"}
        self.http = httpx.Client(
            transport=httpx.HTTPTransport(local_address=address), base_url=url, timeout=300, headers=cookie
        )

    def upload(self, name: str, content: bytes) -> str:
        answer = self.http.post("/gradio_api/upload", files={"files": (name, content)})
        assert answer.status_code == 200, answer.text
        return str(answer.json()[0])

    def take(self, path: str) -> httpx.Response:
        action = {"name": "take_file", "about": path, "fields": {}}
        return self.http.post("/updates", json={"page": "evaluate", "action": action})

    def read(self, name: str, content: bytes) -> httpx.Response:
        """What is said of a file, asked again for as long as the server asks for patience, as a page does."""
        path, answers = self.upload(name, content), list[httpx.Response]()

        def is_answered() -> bool:
            answers.append(self.take(path))
            return answers[-1].status_code != 429

        wait_until(is_answered)
        return answers[-1]


OOXML = "http://schemas.openxmlformats.org"
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{OOXML}/package/2006/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override '
    'PartName="/xl/worksheets/sheet1.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{OOXML}/package/2006/relationships"><Relationship Id="r1" '
    f'Type="{OOXML}/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{OOXML}/spreadsheetml/2006/main" '
    f'xmlns:r="{OOXML}/officeDocument/2006/relationships"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{OOXML}/package/2006/relationships"><Relationship Id="r1" '
    f'Type="{OOXML}/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}
"""A workbook, but for its sheet."""


def row(*texts: str) -> str:
    return "<row>" + "".join(f'<c t="inlineStr"><is><t>{text}</t></is></c>' for text in texts) + "</row>"


def workbook(rows: int, mark: str, columns: int = 3) -> bytes:
    """Rows that repeat one fact, so that a small file takes long to read."""
    more = [f"c{number}" for number in range(columns - 3)]
    facts = "".join(row(f"disease {n} {mark}", "symptoms", f"sign {n}", *more) for n in range(12))
    top = row("head", "relation", "tail", *more) + facts
    repeated = row("disease", "symptoms", "sign", *more) * rows
    sheet = f'<worksheet xmlns="{OOXML}/spreadsheetml/2006/main"><sheetData>{top}{repeated}</sheetData></worksheet>'
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name, text in {**PARTS, "xl/worksheets/sheet1.xml": sheet}.items():
            file.writestr(name, text)
    return content.getvalue()


def test_slow_files_make_room_for_quick_ones(url: str) -> None:
    """Three that take long, from three addresses: a quick one is read before they have ended, and pages are answered."""
    slow = [(From(url, address), workbook(40_000, address, columns=12)) for address in ADDRESSES]
    with ThreadPoolExecutor(3) as pool:
        paths = [visitor.upload("slow.xlsx", content) for visitor, content in slow]
        begun = [pool.submit(visitor.take, path) for (visitor, _), path in zip(slow, paths, strict=True)]
        other = From(url)
        assert other.http.get("/healthz").text == "ok"
        assert other.http.post("/updates", json={"page": "runs"}).status_code == 200
        own = other.read("quick.csv", b"head,relation,tail\na,symptoms,b\nc,symptoms,e\n")
        assert "2 true facts read" in own.text
        assert not all(one.done() for one in begun)
        said = " ".join(one.result().text for one in begun)
    assert "read." in said or "takes long" in said


def test_a_file_that_is_none_is_read_once(url: str) -> None:
    """What a page says of it does not take a turn each time."""
    visitor = From(url)
    path = visitor.upload("none.csv", b"a,b\n" + b"1,2\n" * 10_000)
    setup = {"source": {"facts": path, "columns": []}}
    said = [visitor.http.post("/updates", json={"page": "evaluate", "setup": setup}).json() for _ in range(5)]
    assert all("condition, relation and finding are missing" in str(one["fragments"]) for one in said)


def test_a_header_is_looked_for_among_the_first_rows_alone(tmp_path: Path) -> None:
    """A sheet of empty rows has none, however many there are."""
    (tmp_path / "blank.csv").write_bytes(b"\n" * 3_000_000)
    rows: list[int] = []

    def blank() -> Iterator[tuple[int, list[str]]]:
        for number in range(1, 10_000_000):
            rows.append(number)
            yield number, ["", " "]

    assert headers.table_of("blank.csv", blank(), headers.ANY) is None
    assert len(rows) == headers.LAST_HEADER_ROW
    with pytest.raises(FactsError, match="is empty"):
        table_reader.read_table(tmp_path / "blank.csv")


def test_a_button_is_pressed_once_however_often_the_question_waits(url: str) -> None:
    """The button begins a run; the view after it wants a table of frequencies that is not read yet."""
    visitor = From(url)
    table = visitor.upload("frequencies.csv", b"name,count\n" + b"".join(b"disease %d,%d\n" % (n, n) for n in range(3_000)))
    setup = {"models": ["baseline:random"], "pairs": 5, "shots": 0}
    question = {"page": "evaluate", "setup": setup, "show": {"frequencies": table, "tab": "overview"}}
    answer = visitor.http.post("/updates", json=question | {"action": {"name": "evaluate", "about": "", "fields": {}}}).json()
    assert len(answer["show"]["run"].split(",")) == 1
    listed = visitor.http.post("/updates", json={"page": "runs"}).json()["fragments"]["runs"]
    assert listed.count('<li class="mf-line"') == 1


# ------------------------------------------------------------------------- who comes next


class Readers:
    """Requests that read when they get a turn, and end when they are told."""

    def __init__(self) -> None:
        self.turns, self.order = Turns(), list[str]()
        self.go_on: dict[str, threading.Event] = {}

    async def ask(self, name: str, address: str, becomes_long: bool = False) -> str:
        self.go_on[name] = threading.Event()

        def read() -> None:
            with reading() as turn:
                self.order.append(name)
                if becomes_long and turn is not None:
                    self.order.append(f"{name} long: {turn.becomes_long()}")
                assert self.go_on[name].wait(60)

        async def answer() -> None:
            await asyncio.to_thread(read)

        await self.turns.answered(address, answer)
        return name

    async def until(self, number: int, waiting: int = 0) -> None:
        """Waits until so many have begun to read, and so many others wait for a turn."""
        async with asyncio.timeout(60):
            while len(self.order) < number or len(self.turns._waiting) < waiting:
                await asyncio.sleep(0.01)


def test_the_address_that_waited_longest_for_a_turn_comes_first() -> None:
    async def played() -> list[str]:
        readers = Readers()
        asked = []
        for number, name in enumerate(("a1", "a2", "a3", "a4", "b1", "a5", "c1"), start=1):
            asked.append(asyncio.create_task(readers.ask(name, name[0])))
            await readers.until(min(number, MAX_PROCESSES), waiting=max(number - MAX_PROCESSES, 0))
        for number in range(7):
            await readers.until(min(number + MAX_PROCESSES, 7))
            readers.go_on[readers.order[number]].set()
        await asyncio.gather(*asked)
        return readers.order

    assert asyncio.run(played()) == ["a1", "a2", "b1", "c1", "a3", "a4", "a5"]


def test_long_files_leave_their_place_to_others() -> None:
    async def played() -> list[str]:
        readers = Readers()
        asked = []
        for number, name in enumerate(("a", "b", "c", "d")):
            asked.append(asyncio.create_task(readers.ask(name, name, becomes_long=name in "ab")))
            await readers.until((2, 4, 5, 5)[number], waiting=(0, 0, 0, 1)[number])
        before = list(readers.order)
        for name in "cbad":
            readers.go_on[name].set()
        await asyncio.gather(*asked)
        assert readers.turns._free == MAX_PROCESSES
        assert readers.turns._free_long == turns_module.MOST_LONG
        return before

    assert asyncio.run(played()) == ["a", "a long: True", "b", "b long: False", "c"]


def test_beyond_a_few_nobody_waits() -> None:
    async def played() -> tuple[int, int]:
        readers = Readers()
        asked = [asyncio.create_task(readers.ask(str(number), "one")) for number in range(MAX_PROCESSES + MOST_WAITING_OF_ONE)]
        await readers.until(MAX_PROCESSES, waiting=MOST_WAITING_OF_ONE)
        with pytest.raises(NotNow, match="is reading many files"):
            await readers.ask("one more", "one")
        others = [f"{name}{n}" for name in "bcdefgh" for n in range(MOST_WAITING_OF_ONE)]
        more = [asyncio.create_task(readers.ask(name, name[0])) for name in others]
        await readers.until(MAX_PROCESSES, waiting=MOST_WAITING)
        more.append(asyncio.create_task(readers.ask("a newcomer", "yet another")))
        async with asyncio.timeout(60):
            while "yet another" not in [place.address for place in readers.turns._waiting]:
                await asyncio.sleep(0.01)
        waiting = len(readers.turns._waiting)
        while not all(task.done() for task in asked + more):
            for go_on in readers.go_on.values():
                go_on.set()
            await asyncio.sleep(0.01)
        refused = [task for task in asked + more if isinstance(task.exception(), NotNow)]
        assert len(refused) == 1
        return waiting, len(readers.turns._waiting)

    assert MOST_WAITING == 8 * MOST_WAITING_OF_ONE
    assert asyncio.run(played()) == (MOST_WAITING, 0)


def test_who_leaves_while_waiting_gives_the_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def played() -> tuple[list[str], int]:
        readers = Readers()
        asked = [asyncio.create_task(readers.ask(name, name)) for name in ("a", "b", "leaves", "late")]
        await readers.until(2, waiting=2)
        asked[2].cancel()
        monkeypatch.setattr(turns_module, "WAIT_SECONDS", 0.2)
        with pytest.raises(NotNow, match="is busy just now"):
            await readers.ask("impatient", "i")
        for name in ("a", "b"):
            readers.go_on[name].set()
        await readers.until(3)
        readers.go_on["late"].set()
        await asyncio.gather(*asked, return_exceptions=True)
        return readers.order, readers.turns._free

    order, free = asyncio.run(played())
    assert (sorted(order[:2]), order[2:], free) == (["a", "b"], ["late"], MAX_PROCESSES)


def test_a_turn_that_is_not_needed_any_more_is_given_back() -> None:
    async def played() -> int:
        turns, times = Turns(), []

        async def answer() -> None:
            times.append(None)
            if len(times) == 1:
                raise NeedsTurn

        await turns.answered("a", answer)
        assert len(times) == 2
        return turns._free

    assert asyncio.run(played()) == MAX_PROCESSES


def test_what_another_computes_is_waited_for_without_a_thread() -> None:
    go_on, computed, patient = threading.Event(), [], []

    @shared_cache(4)
    def slow(number: int) -> int:
        computed.append(number)
        assert go_on.wait(60)
        return number

    async def played() -> list[int]:
        turns, found = Turns(), []

        async def answer() -> None:
            try:
                found.append(await asyncio.to_thread(slow, 3))
            except ResultPending:
                patient.append(None)
                raise

        asked = [asyncio.create_task(turns.answered("a", answer)) for _ in range(20)]
        async with asyncio.timeout(60):
            while len(patient) < 19:
                await asyncio.sleep(0.01)
        go_on.set()
        await asyncio.gather(*asked)
        return found

    assert asyncio.run(played()) == [3] * 20
    assert computed == [3]


def test_whoever_may_wait_does_and_others_are_told_for_what() -> None:
    alone, entered, go_on = KeyedLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with alone.acquire("x"):
            entered.set()
            assert go_on.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert entered.wait(60)
    with without_blocking(), pytest.raises(ResultPending) as told, alone.acquire("x"):
        pass
    assert isinstance(told.value.until, Future)
    with pytest.raises(TimeoutError), alone.acquire("x", timeout=0.05):
        pass
    with without_blocking(), alone.acquire("y"):
        pass
    go_on.set()
    thread.join()
    told.value.until.result(10)
    with alone.acquire("x"):
        pass


def test_without_a_server_who_reads_waits_for_a_place() -> None:
    with reading() as turn:
        assert turn is None
    with in_turn(), pytest.raises(NeedsTurn), reading():
        pass


def test_what_fails_again_is_kept_and_what_takes_too_long_is_not() -> None:
    tried: list[str] = []

    @shared_cache(4, is_permanent=isolated.fails_again)
    def read(name: str) -> str:
        tried.append(name)
        raise (isolated.TooMuch if name == "slow" else FactsError)(f"{name} cannot be read.", "Save it again.")

    for name in ("broken", "slow"):
        for _ in range(3):
            with pytest.raises(FactsError, match="cannot be read") as raised:
                read(name)
    assert tried == ["broken", "slow", "slow", "slow"]
    assert raised.value.hint == "Save it again."


def test_a_file_of_a_run_waits_its_turn_too(url: str, tmp_path: Path) -> None:
    visitor = From(url)
    path = visitor.upload("run.gz", b"\x1f\x8b rubbish")
    answer = visitor.http.post("/updates", json={"page": "runs", "action": {"name": "bring", "about": path, "fields": {}}})
    assert "is not a run that medfact exported" in answer.text
