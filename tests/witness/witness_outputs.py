"""All outputs of the witness set, as `outputs.yaml` declares them: of commands, pages, addresses and the notebook."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import yaml
from fastapi.testclient import TestClient
from witness_runs import HERE, execute, recordings
from witness_text import file_text, indented, normalized, page_text, rows_text

import medfact
from medfact import cli
from medfact.errors import MedfactError
from medfact.runs.jobs import Jobs
from medfact.spec import LOCAL_OWNER
from medfact.store import Store
from medfact.web.app import create_app

ANSWERED = {"text/html": ".html", "application/json": ".json", "text/csv": ".csv", "image/svg+xml": ".svg"}
"""Type of an answer → the ending of such a file."""


class Witness:
    """The recorded runs in a database of their own, and the doors through which they are looked at."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        store = Store()
        self.ids = execute(recordings(), store)
        self.client = TestClient(create_app(), base_url="http://localhost")
        self.paths = {"out": str(folder / "out"), "home": str(folder / "home"), "facts": str(HERE / "facts")}

    def filled(self, text: str) -> str:
        """A text with ids in place of the names of runs in braces, and paths in place of folders."""
        values = self.ids | self.paths
        return re.sub(r"\{([\w-]+)\}", lambda name: values.get(name[1], name[0]), text)

    @property
    def names(self) -> dict[str, str]:
        """Ids and paths → the names that stand for them in outputs."""
        ids = {run: f"<{name}>" for name, run in self.ids.items()}
        paths = {path: f"<{name}>" for name, path in self.paths.items()}
        return {**ids, **{run[:8]: name for run, name in ids.items()}, **paths, str(self.folder): "<folder>"}

    def command(self, lines: str | list[str]) -> str:
        """Commands, one after the other: exit code, what each printed, and the files that it wrote."""
        return "\n".join(self._command(line) for line in ([lines] if isinstance(lines, str) else lines))

    def _command(self, line: str) -> str:
        out, printed, errors = Path(self.paths["out"]), _Stream(), _Stream()
        before = {*out.rglob("*")}
        line, _, name = line.partition(" => ")
        with redirect_stdout(printed), redirect_stderr(errors):
            try:
                code: Any = cli.main(shlex.split(self.filled(line)))
            except SystemExit as ended:
                code = ended.code
        if name:
            (self.ids[name],) = {*re.findall(r"\b[0-9a-f]{32}\b", printed.text)}
        text = indented(printed.text) if "--json" in line and printed.text else printed.text
        parts = [f"$ medfact {line}", f"exit code {code}", text, *(f"! {text}" for text in errors.text.splitlines())]
        for path in sorted({*out.rglob("*")} - before):
            if path.is_file():
                parts += [f"--- {path.relative_to(out)}", file_text(path)]
        return "\n".join(part for part in parts if part)

    def page(self, question: Mapping[str, Any]) -> str:
        """The fragments that a page gets for a look, or after a button, as words."""
        filled = json.loads(self.filled(json.dumps(question)))
        response = self.client.post("/updates", json=filled)
        if response.status_code != 200:
            return f"status {response.status_code}\n{response.text}"
        update = response.json()
        parts = [f"title: {update['title']}", f"query: {update['query']}"]
        for name, fragment in update["fragments"].items():
            parts += [f"=== {name}", text] if (text := page_text(fragment)) else []
        return "\n".join(parts)

    def file(self, path: str) -> str:
        """The response of an address of the server, as a file."""
        response = self.client.get(self.filled(path))
        kind = response.headers.get("content-type", "").partition(";")[0]
        saved = self.folder / f"answer{ANSWERED.get(kind) or Path(path.partition('?')[0]).suffix or '.txt'}"
        saved.write_bytes(response.content)
        return f"GET {path}\nstatus {response.status_code} {kind}\n{file_text(saved)}"

    def inputs(self, path: str) -> str:
        """Labels, choices and explanations of the inputs of all pages, as the page library gets them."""
        components = self.client.get(path).json()["components"]
        wanted = ("label", "info", "choices", "placeholder", "value")
        inputs = (item for item in components if item["type"] not in ("api", "html", "navbar", "row", "column"))
        return rows_text(
            {"type": item["type"], **{k: item["props"][k] for k in wanted if item["props"].get(k)}} for item in inputs
        )

    def notebook(self, expression: str) -> str:
        """The view of an expression in a notebook."""
        try:
            view = eval(self.filled(expression), {"medfact": medfact})
        except MedfactError as error:
            view = f"{type(error).__name__}: {error}"
        text = view if isinstance(view, str) else f"{view!r}\n{page_text(view._repr_html_())}"
        return f">>> {expression}\n{text}"


class _Stream(io.TextIOWrapper):
    """A stream that keeps what is printed."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    @property
    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined]


@contextmanager
def witness() -> Iterator[Witness]:
    """The recorded runs in a folder that goes, in an environment that is the same on every machine."""
    with TemporaryDirectory() as folder, ExitStack() as changed:
        environment = {"MEDFACT_HOME": f"{folder}/home", "MEDFACT_OWNER": LOCAL_OWNER, "COLUMNS": "120"}
        changed.enter_context(patch.dict(os.environ, environment))
        for name in ("MEDFACT_DATABASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
            os.environ.pop(name, None)
        changed.enter_context(patch.object(Jobs, "warm_up", lambda *_: None, create=True))
        (Path(folder) / "out").mkdir()
        yield Witness(Path(folder))


def outputs() -> dict[str, str]:
    """Name → text of each output now. An output that raises becomes its traceback."""
    texts = {}
    kinds = yaml.safe_load((HERE / "outputs.yaml").read_text(encoding="utf-8"))
    with witness() as replayed:
        for kind, declared in kinds.items():
            for name, declaration in declared.items():
                try:
                    text = getattr(replayed, kind)(declaration)
                except Exception:
                    text = traceback.format_exc()
                texts[f"{kind}-{name}"] = normalized(text, replayed.names)
    return texts
