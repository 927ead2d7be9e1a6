"""A visitor of the app over plain HTTP, who sends the requests of a page, and invalid ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from certificates import UNREAD
from hosts import AS_HOST
from waiting import wait_until

from medfact.web.evaluate.form import Setup
from medfact.web.visitors import COOKIE, owner_of_cookie


def collect_model_rows(setup: dict[str, Any]) -> dict[str, Any]:
    """Returns the set-up with its fields `service`, `address`, `budget` and `other` as rows of models.

    The first three make the row of a service, `other` the row of a model on this machine.
    """
    service = {name: setup[name] for name in ("address", "budget") if name in setup} | {"id": "service"}
    others = {name: value for name, value in setup.items() if name not in {"service", "address", "budget", "other"}}
    machine = {"id": "machine", "where": "machine", "model": setup.get("other")}
    rows = [row for row in (machine, {**service, "model": setup.get("service")}) if row["model"]]
    return {**others, "rows": rows} if rows else others


def required_consents(setup: dict[str, Any]) -> list[str]:
    """Returns the consents that a set-up needs, one for each of its rows."""
    form = Setup.model_validate(setup)
    return [form.consent_of(row.address) for row in form.rows]


class Visitor:
    """An HTTP session with the cookies of one browser.

    as_host: sends the token of the host, which only a private server accepts.
    """

    def __init__(self, address: str, as_host: bool = True, **headers: str) -> None:
        headers = {**(AS_HOST if as_host else {}), **headers}
        self.http = httpx.Client(base_url=address, timeout=120, headers=headers, verify=UNREAD)
        self.page = self.http.get("/")

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    @property
    def owner(self) -> str:
        """The owner under which the store keeps this visitor's runs."""
        return owner_of_cookie(self.cookie)

    @property
    def cookie(self) -> str:
        """The value of the cookie that the page set, or of the one in the headers."""
        return self.http.cookies.get(COOKIE) or self.http.headers["cookie"].partition("=")[2]

    def upload(self, name: str, content: bytes) -> str:
        """POSTs a file and returns its path on the server."""
        answer = self.http.post("/gradio_api/upload", files={"files": (name, content)})
        assert answer.status_code == 200, answer.text
        (path,) = answer.json()
        return str(path)

    def fetch_page(self, page_name: str = "evaluate", /, **show: object) -> dict[str, Any]:
        """Requests a page; returns its fragments and its view state. show: fields of the view state."""
        return self._post({"page": page_name, "setup": show.pop("setup", None), "show": show})

    def fetch_settled_page(self, **show: object) -> dict[str, Any]:
        """Requests a page of ended runs until all their figures are computed; returns the last answer."""
        answers: list[dict[str, Any]] = []

        def is_settled() -> bool:
            answers.append(self.fetch_page(**show))
            return answers[-1]["again"] is None

        wait_until(is_settled)
        return answers[-1]

    def press_button(self, name: str, about: object = "", page_name: str = "evaluate", **show: Any) -> dict[str, Any]:
        """Presses a button and returns the page.

        about: subject of the button. show: fields of the view state, with `setup`, and `fields` for typed values.
        """
        fields = show.pop("fields", {})
        pressed = {"name": name, "about": str(about), "fields": fields}
        return self._post({"page": page_name, "setup": show.pop("setup", None), "show": show, "action": pressed})

    def key_fields(self, run: str) -> dict[str, str]:
        """Requests a run's page; returns host → name of its field for a key."""
        head = self.fetch_page(run=run)["fragments"]["progress"]
        return dict(re.findall(r'key for ([^<]+) <input type="password" name="([^"]+)"', head))

    def resume(self, run: str, key: str) -> dict[str, Any]:
        """Resumes runs with one key for all their services; returns the page."""
        return self.press_button("resume", run=run, fields=dict.fromkeys(self.key_fields(run).values(), key))

    def evaluate(self, *models: str, key: str = "", **setup: object) -> list[str] | str:
        """Starts an evaluation on ten pairs with all consents; returns the ids of its runs, or the page's message.

        setup: fields of the set-up. `service` and `address` name a model of a service, `other` one on this machine.
        """
        chosen = {"models": models, "pairs": 10, "shots": 0, **collect_model_rows(setup)}
        chosen = {"agreed": required_consents(chosen), **chosen}
        if key:
            self.press_button("keep_key", "service", setup=chosen, fields={"key": key})
        answer = self.press_button("evaluate", setup=chosen)
        return answer["show"]["run"].split(",") if answer["show"].get("run") else str(answer["fragments"]["go-said"])

    def _post(self, question: dict[str, Any]) -> dict[str, Any]:
        answer = self.http.post("/updates", json=question)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


def visitor_fixture(app: str, open_session: Callable[[str], Visitor] = Visitor) -> Any:
    """Returns a fixture: a visitor of the app that the fixture `app` starts. open_session: address → visitor."""

    @pytest.fixture
    def visitor(request: pytest.FixtureRequest) -> Iterator[Visitor]:
        with open_session(request.getfixturevalue(app)) as visitor:
            yield visitor

    return visitor
