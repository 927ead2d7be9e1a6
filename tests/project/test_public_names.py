"""What the tests themselves ask for is noticed: a public name or address, however it is written."""

import socket
import sys

import public_names
import pytest


@pytest.mark.parametrize(
    ("event", "arguments", "noticed"),
    [
        ("socket.getaddrinfo", ("huggingface.co", 443), ["looked up huggingface.co"]),
        ("socket.getaddrinfo", (b"pypi.org", 443), ["looked up pypi.org"]),
        ("socket.connect", (None, ("8.8.8.8", 53)), ["connected to 8.8.8.8"]),
        ("socket.connect", (None, ("2606:4700::1111", 53, 0, 0)), ["connected to 2606:4700::1111"]),
        ("socket.connect", (None, ("134744072", 53)), ["connected to 134744072"]),
        ("socket.getaddrinfo", ("localhost", 80), []),
        ("socket.getaddrinfo", (None, 80), []),
        ("socket.getaddrinfo", ("0x7f000001", 80), []),
        ("socket.getaddrinfo", ("nowhere.invalid", 80), []),
        ("socket.connect", (None, ("127.0.0.5", 80)), []),
        ("socket.connect", (None, ("::1", 80, 0, 0)), []),
        ("socket.connect", (None, "/run/a/socket"), []),
    ],
)
def test_what_is_public_is_noticed(event: str, arguments: tuple[object, ...], noticed: list[str]) -> None:
    sys.audit(event, *arguments)  # as Python says it, and nothing is asked
    found = public_names.public_contacts.copy()
    public_names.public_contacts.clear()
    assert [one.partition(" in ")[0] for one in found] == noticed
    assert all("test_public_names.py:" in one for one in found), "and who asked"


def test_connecting_here_is_not_noticed() -> None:
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())
    assert public_names.public_contacts == []
