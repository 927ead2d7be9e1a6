"""A visitor who speaks plain HTTP to the app: what a page sends, and what it never would."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hosts import AS_HOST
from waiting import until

from medfact.web.evaluate.form import Setup
from medfact.web.visitors import COOKIE, owner_of_cookie


def with_row(setup: dict[str, Any]) -> dict[str, Any]:
    """A set-up whose fields `service`, `address` and `budget` are a row, and `other` a row of a model on this machine."""
    row = {name: setup[name] for name in ("address", "budget") if name in setup} | {"id": "service"}
    rest = {name: value for name, value in setup.items() if name not in {"service", "address", "budget", "other"}}
    machine = {"id": "machine", "where": "machine", "model": setup.get("other")}
    rows = [one for one in (machine, {**row, "model": setup.get("service")}) if one["model"]]
    return {**rest, "rows": rows} if rows else rest


def agreed_to(setup: dict[str, Any]) -> list[str]:
    """Consents of a visitor who ticks each box of a set-up."""
    chosen = Setup.model_validate(setup)
    return [chosen.consent_of(row.address) for row in chosen.rows]


class Visitor:
    """One browser's cookies. as_host: with the token of the host, which counts where strangers use no server."""

    def __init__(self, address: str, as_host: bool = True, **headers: str) -> None:
        self.http = httpx.Client(base_url=address, timeout=120, headers={**(AS_HOST if as_host else {}), **headers})
        self.page = self.http.get("/")

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    @property
    def owner(self) -> str:
        return owner_of_cookie(self.cookie)

    @property
    def cookie(self) -> str:
        """The value of the cookie that the page gave, or that this browser came with."""
        return self.http.cookies.get(COOKIE) or self.http.headers["cookie"].partition("=")[2]

    def upload(self, name: str, content: bytes) -> str:
        """Uploads a file; returns its path on the server."""
        answer = self.http.post("/gradio_api/upload", files={"files": (name, content)})
        assert answer.status_code == 200, answer.text
        (path,) = answer.json()
        return str(path)

    def look(self, of: str = "evaluate", /, **show: object) -> dict[str, Any]:
        """Fragments and view of a page."""
        return self._asked({"page": of, "setup": show.pop("setup", None), "show": show})

    def settled(self, **show: object) -> dict[str, Any]:
        """A page of ended runs, requested again until all their figures are computed."""
        answers: list[dict[str, Any]] = []

        def is_settled() -> bool:
            answers.append(self.look(**show))
            return answers[-1]["again"] is None

        until(is_settled)
        return answers[-1]

    def act(self, name: str, about: object = "", of: str = "evaluate", **show: Any) -> dict[str, Any]:
        """A page after a button is pressed. fields: the values typed beside it."""
        fields = show.pop("fields", {})
        pressed = {"name": name, "about": str(about), "fields": fields}
        return self._asked({"page": of, "setup": show.pop("setup", None), "show": show, "action": pressed})

    def key_fields(self, run: str) -> dict[str, str]:
        """Host → the field in which a key is typed before runs are resumed."""
        head = self.look(run=run)["fragments"]["progress"]
        return dict(re.findall(r'key for ([^<]+) <input type="password" name="([^"]+)"', head))

    def resume(self, run: str, key: str) -> dict[str, Any]:
        """A page after runs are resumed with a key for each of their services."""
        return self.act("resume", run=run, fields=dict.fromkeys(self.key_fields(run).values(), key))

    def evaluate(self, *models: str, key: str = "", **setup: object) -> list[str] | str:
        """Presses Evaluate on ten pairs, and agrees to what it asks: the runs' ids, or what the page says. The fields `service`
        and `address` name one model behind a service, with its key, and `other` one on this machine.
        """
        chosen = {"models": models, "pairs": 10, "shots": 0, **with_row(setup)}
        chosen = {"agreed": agreed_to(chosen), **chosen}
        if key:
            self.act("keep_key", "service", setup=chosen, fields={"key": key})
        answer = self.act("evaluate", setup=chosen)
        return answer["show"]["run"].split(",") if answer["show"].get("run") else str(answer["fragments"]["go-said"])

    def _asked(self, question: dict[str, Any]) -> dict[str, Any]:
        answer = self.http.post("/updates", json=question)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


def visitor_of(app: str) -> Any:
    """A fixture: a visitor of the app that the fixture `app` starts."""

    @pytest.fixture
    def visitor(request: pytest.FixtureRequest) -> Iterator[Visitor]:
        with Visitor(request.getfixturevalue(app)) as visitor:
            yield visitor

    return visitor
