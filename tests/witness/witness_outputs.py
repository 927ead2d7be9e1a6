"""All outputs of the witness set, as `outputs.yaml` declares them: of commands, pages, addresses and the notebook.

They are text: pages are their words, tables are rows, and nothing depends on the moment or the machine.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shlex
import traceback
from collections.abc import Mapping
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pyarrow.parquet
import yaml
from fastapi.testclient import TestClient
from witness_runs import HERE, execute, recordings

import medfact
from medfact import cli
from medfact.datasets.table_reader import read_table
from medfact.errors import MedfactError
from medfact.runs.jobs import Jobs
from medfact.spec import LOCAL_OWNER
from medfact.store import Store
from medfact.web.app import create_app

HEADINGS = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### "}
MARKS = {**HEADINGS, "li": "- ", "tr": "| ", "dt": ": ", "dd": "  ", "summary": "▸ ", "option": "· ", "title": "title: "}
"""Element → how its line begins."""

INDENTED = re.compile("article|aside|details|dialog|dl|fieldset|figure|form|nav|ol|section|select|svg|table|ul")
LINES = re.compile(
    f"{INDENTED.pattern}|{'|'.join(MARKS)}|button|blockquote|caption|div|figcaption|header|footer|label|legend|p|pre|text|textarea"
)
VOID = re.compile("area|base|br|circle|col|embed|hr|img|input|line|link|meta|path|rect|source|use")
SPOKEN = ("aria-label", "title", "alt", "placeholder")
"""Attributes that are read out or shown."""


class PageText(HTMLParser):
    """The words of a page, a line a block, with marks for headings, lists, tables, links and controls."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._line, self._depth, self._open = "", 0, list[tuple[str, str]]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if LINES.fullmatch(tag):
            self._end_line()
            self._line = MARKS.get(tag, "")
        self._depth += bool(INDENTED.fullmatch(tag))
        self._line += {"td": " | ", "th": " | ", "a": " [", "button": "["}.get(tag, " ")
        if tag == "input":
            self._line += f" <{attributes.get('type', 'text')} {attributes.get('value', '')}{' ✓' * ('checked' in attributes)}>"
        self._line += "".join(f" {{{attributes[name]}}} " for name in SPOKEN if attributes.get(name))
        self._line += " (disabled) " * ("disabled" in attributes) + " (chosen) " * ("selected" in attributes)
        if not VOID.fullmatch(tag):
            self._open.append((tag, attributes.get("href", "")))

    def handle_endtag(self, tag: str) -> None:
        while self._open and tag in (name for name, _ in self._open):
            closed, href = self._open.pop()
            self._line += {"a": f"]({href}) ", "button": "]"}.get(closed, " ")
            if LINES.fullmatch(closed):
                self._end_line()
            self._depth -= bool(INDENTED.fullmatch(closed))
            if closed == tag:
                return

    def handle_data(self, data: str) -> None:
        self._line += data

    def _end_line(self) -> None:
        words = re.sub(r" (?=[.,;:!?)\]%])", "", " ".join(self._line.split())).replace("[ ", "[")
        if words.strip("|:-▸·# "):
            self.lines.append("  " * self._depth + words)
        self._line = ""


def page_text(html: str) -> str:
    """The words of a page or a part of one."""
    parser = PageText()
    parser.feed(re.sub(r"(?s)<(script|style|template)\b.*?</\1>", "", html))
    parser.handle_endtag(parser._open[0][0] if parser._open else "")
    parser._end_line()
    return "\n".join(parser.lines)


def file_text(path: Path) -> str:
    """A file as text: tables as rows, pages and drawings as their words."""
    kind = path.suffix
    if kind == ".parquet":
        return rows_text(pyarrow.parquet.read_table(path).to_pylist())
    if kind == ".xlsx":
        return rows_text(row for _, row in read_table(path)[1])
    if kind == ".png":
        return "a picture"
    text = (gzip.decompress(path.read_bytes()) if kind == ".gz" else path.read_bytes()).decode("utf-8")
    if kind == ".json":
        return indented(text)
    return page_text(text) if kind in (".html", ".svg") else text


def indented(text: str) -> str:
    """JSON with a line for each value."""
    return json.dumps(json.loads(text), ensure_ascii=False, indent=1)


def rows_text(rows: Any) -> str:
    """Rows as JSON lines."""
    return "\n".join(json.dumps(row, ensure_ascii=False, default=str) for row in rows)


PATTERNS = (
    (r"(<[\w-]+>)(-[0-9a-f]{4}){3}-[0-9a-f]{12}", r"\1"),
    (r"\"seconds\": \{[^}]*\}", '"seconds": "<duration>"'),
    (r"\"(\w*timestamp)\": \"[\d.]+\"", r'"\1": "<time>"'),
    (r"\b\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d\b", "<time>"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z| UTC)?", "<time>"),
    (r"\b\d{1,2} (January|February|March|April|May|June|July|August|September|October|November|December) \d{4}\b", "<date>"),
    (r"\b\d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}\b", "<date>"),
    (r"\(\d+ months old\)", "(<age>)"),
    (r"\b20[2-9]\d-\d\d-\d\d\b", "<date>"),
    (r"\b(medfact|[Pp]ython|torch|transformers|accelerate|numpy|openai)(\W{1,5}v?)\d+\.\d+[\w.+]*", r"\1\2<version>"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
    (r"\b(less than )?(\d+ h )?(\d+ min )?\d+(\.\d+)? (s|min|seconds)\b", "<duration>"),
    (r"\b\d+(\.\d+)? (statements|prompts|facts|pushes|answers) (a|per) second", "<speed>"),
    (r"\"(\w*seconds|latency\w*|started_at|finished_at|saved_at|at|worker)\": (\"[^\"]*\"|[\d.e-]+)", r'"\1": "<time>"'),
    (r"\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b|\b[0-9a-f]{32}\b", "<id>"),
    (r"(### Tools \(Model Context Protocol\)\n).*", r"\1  <tools>"),  # with medfact[mcp] they are there
    (r"-o ([A-Z-]+), --output \1", r"-o, --output \1"),  # as help has it from Python 3.13 on
)
"""Pattern → what stands in its place."""


def normalized(text: str, names: Mapping[str, str]) -> str:
    """A text without times, durations, versions and ids. names: text → its stable name, such as a run's."""
    for unstable, name in sorted(names.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(unstable, name)
    for pattern, replacement in PATTERNS:
        text = re.sub(pattern, replacement, text)
    text = re.sub(r"-?\d+\.\d{6,}(e-?\d+)?", lambda number: f"{float(number[0]):.5g}", text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip() + "\n"


ANSWERED = {"text/html": ".html", "application/json": ".json", "text/csv": ".csv", "image/svg+xml": ".svg"}
"""Type of an answer → the ending of such a file."""


class Witness:
    """The recorded runs in a database of their own, and the doors through which they are looked at."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ids = execute(recordings(), Store())
        self.client = TestClient(create_app(), base_url="http://localhost")
        self.paths = {"out": str(folder / "out"), "home": str(folder / "home"), "facts": str(HERE / "facts")}

    def filled(self, text: str) -> str:
        """A text with ids in place of the names of runs in braces, and paths in place of folders."""
        return re.sub(r"\{([\w-]+)\}", lambda name: (self.ids | self.paths).get(name[1], name[0]), text)

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
        out, streams = Path(self.paths["out"]), [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
        before = {*out.rglob("*")}
        line, _, name = line.partition(" => ")
        with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            try:
                code: Any = cli.main(shlex.split(self.filled(line)))
            except SystemExit as ended:
                code = ended.code
        printed, errors = (stream.seek(0) or stream.read() for stream in streams)
        if name:
            (self.ids[name],) = {*re.findall(r"\b[0-9a-f]{32}\b", printed)}
        text = indented(printed) if "--json" in line and printed else printed
        parts = [f"$ medfact {line}", f"exit code {code}", text, *(f"! {text}" for text in errors.splitlines())]
        for path in sorted({*out.rglob("*")} - before):
            if path.is_file():
                parts += [f"--- {path.relative_to(out)}", file_text(path)]
        return "\n".join(part for part in parts if part)

    def page(self, question: Mapping[str, Any]) -> str:
        """The fragments that a page gets for a look, or after a button, as words."""
        response = self.client.post("/updates", json=json.loads(self.filled(json.dumps(question))))
        if response.status_code != 200:
            return f"status {response.status_code}\n{response.text}"
        update = response.json()
        texts = {name: page_text(fragment) for name, fragment in update["fragments"].items()}
        parts = [f"=== {name}\n{text}" for name, text in texts.items() if text]
        return "\n".join([f"title: {update['title']}", f"query: {update['query']}", *parts])

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


def outputs() -> dict[str, str]:
    """Name → text of each output now, in the same environment on every machine. A failing output becomes its traceback."""
    texts = {}
    with TemporaryDirectory() as folder, ExitStack() as changed:
        unset = dict.fromkeys(("MEDFACT_DATABASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"), "")
        values = {"MEDFACT_HOME": f"{folder}/home", "MEDFACT_OWNER": LOCAL_OWNER, "COLUMNS": "120"}
        changed.enter_context(patch.dict(os.environ, unset | values))
        changed.enter_context(patch.object(Jobs, "warm_up", lambda *_: None, create=True))
        (Path(folder) / "out").mkdir()
        replayed = Witness(Path(folder))
        for kind, declared in yaml.safe_load((HERE / "outputs.yaml").read_text(encoding="utf-8")).items():
            for name, declaration in declared.items():
                try:
                    text = getattr(replayed, kind)(declaration)
                except Exception:
                    text = traceback.format_exc()
                texts[f"{kind}-{name}"] = normalized(text, replayed.names)
    return texts
