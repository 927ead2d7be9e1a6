"""How often a visitor may ask, who a request comes from, and which uploads may begin."""

from __future__ import annotations

import pytest

from medfact.limits import RateLimit, limits
from medfact.web.clients import address_of
from medfact.web.guard import is_used
from medfact.web.pace import ADDRESS_TIMES, MOST_KEPT, Buckets, Pace, kind_of
from medfact.web.upload_gate import HOUR_SECONDS, NotNow, UploadGate
from medfact.web.visitors import NOBODY

ADA, BEN = "a" * 32, "b" * 32


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")


def test_so_many_at_once_and_then_so_many_a_second(clock: Clock) -> None:
    buckets = Buckets(RateLimit(3, 2), clock)
    assert [buckets.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert buckets.wait("b") == 0
    clock.now += 0.5
    assert [buckets.wait("a"), buckets.wait("a")] == [0, 0.5]
    clock.now += 1_000
    assert [buckets.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_a_flood_of_visitors_fills_no_memory(clock: Clock) -> None:
    buckets = Buckets(RateLimit(1, 0), clock)
    for number in range(MOST_KEPT + 100):
        buckets.wait(str(number))
    assert len(buckets._left) == MOST_KEPT


def test_a_machine_of_ones_own_counts_nothing(clock: Clock) -> None:
    assert not any(Pace(clock).wait("page", ADA, "1.2.3.4") for _ in range(10_000))


def test_an_address_may_ask_for_many_visitors_but_not_for_any_number(public: None, clock: Clock) -> None:
    """Whoever takes a new name for each request is stopped by where the requests come from."""
    pace, most = Pace(clock), int(limits().rates["page"].at_once)
    assert [bool(pace.wait("page", ADA, "1.2.3.4")) for _ in range(most + 1)] == [False] * most + [True]
    assert not pace.wait("page", BEN, "1.2.3.4")
    waits = [pace.wait("page", f"{number:032x}", "5.6.7.8") for number in range(most * ADDRESS_TIMES + 1)]
    assert [bool(wait) for wait in waits] == [False] * (most * ADDRESS_TIMES) + [True]
    assert pace.wait("page", NOBODY, "5.6.7.8")
    assert not pace.wait("page", BEN, "9.9.9.9")
    assert not any(pace.wait(kind_of("/healthz"), NOBODY, "5.6.7.8") for _ in range(10_000)), (
        "who watches over the server is answered"
    )


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "page"), ("/facts/", "page"), ("/config", "page"), ("/updates", "update"), ("/page/medfact.js", "script"),
        ("/assets/x.js", "script"), ("/theme.css", "script"), ("/gradio_api/upload", "upload"), ("/export/x", "download"),
        ("/download/x/answers.csv", "download"), ("/gradio_api/file=/x", "download"),
        ("/healthz", ""), ("/gradio_api/call/evaluate", "call"), ("/gradio_api/queue/join", "call"),
    ],
)  # fmt: skip
def test_each_address_has_a_kind(path: str, kind: str) -> None:
    assert is_used(path)
    assert kind_of(path) == kind


# ------------------------------------------------------------------------- who a request comes from


def scope(peer: str, *forwarded: str) -> dict[str, object]:
    return {"type": "http", "client": (peer, 1), "headers": [(b"x-forwarded-for", one.encode()) for one in forwarded]}


def test_what_a_client_says_of_itself_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert address_of(scope("10.0.0.1", "8.8.8.8")) == "10.0.0.1", "no proxy is known of"
    monkeypatch.setenv("MEDFACT_PROXY", "1")
    assert address_of(scope("10.0.0.1", "8.8.8.8")) == "8.8.8.8"
    assert address_of(scope("10.0.0.1", "1.1.1.1, 8.8.8.8, 10.2.3.4")) == "8.8.8.8", "the proxy's word, not the client's"
    assert address_of(scope("10.0.0.1", "1.1.1.1", "8.8.8.8")) == "8.8.8.8"
    assert address_of(scope("10.0.0.1", "rubbish, <script>")) == "10.0.0.1"
    assert address_of(scope("10.0.0.1", "8.8.8.8, 8.8.4.4:x, 10.2.3.4")) == "10.0.0.1", "what is left of it may be a lie"
    assert address_of(scope("10.0.0.1")) == "10.0.0.1"


def test_a_network_of_ipv6_is_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_ID", "somebody/medfact")
    one, other = (address_of(scope("10.0.0.1", f"2a00:1450:4001:82a::{last}")) for last in (1, 2))
    assert one == other == "2a00:1450:4001:82a::/64"
    assert address_of({"type": "http", "client": None, "headers": []}) == ""


# ------------------------------------------------------------------------- uploads


def test_so_many_uploads_at_once(public: None, clock: Clock) -> None:
    gate = UploadGate(clock)
    with gate.uploading(ADA, 1), gate.uploading(ADA, 1):
        with (
            pytest.raises(NotNow, match="2 files just now, which is the most"),
            gate.uploading(ADA, 1),
        ):
            pass
        with gate.uploading(BEN, 1):
            pass
    with gate.uploading(ADA, 1):
        pass


def test_all_visitors_together_upload_so_many_at_once(public: None, clock: Clock) -> None:
    gate = UploadGate(clock)
    begun = [gate.uploading(f"{number:032x}", 1) for number in range(int(limits().in_all.uploads_at_once))]
    for one in begun:
        one.__enter__()
    with pytest.raises(NotNow, match="Many visitors upload files just now"), gate.uploading(ADA, 1):
        pass
    begun[0].__exit__(None, None, None)
    with gate.uploading(ADA, 1):
        pass


def test_so_many_files_and_bytes_an_hour(public: None, clock: Clock) -> None:
    gate, share = UploadGate(clock), limits().visitor
    for _ in range(int(share.uploads_an_hour)):
        with gate.uploading(ADA, 1):
            clock.now += 1
    with pytest.raises(NotNow, match=r"60 files within an hour.*Try again in 59 minutes"), gate.uploading(ADA, 1):
        pass
    clock.now += HOUR_SECONDS
    for _ in range(int(share.megabytes_an_hour // 50)):
        with gate.uploading(ADA, 50):
            pass
    with pytest.raises(NotNow, match="500 MB are the most") as refused, gate.uploading(ADA, 50):
        pass
    assert refused.value.seconds == HOUR_SECONDS
    with gate.uploading(BEN, 50):
        pass
