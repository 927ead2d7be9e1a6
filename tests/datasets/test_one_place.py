"""A column of facts and a format of tables are declared in one place each: all else follows from that."""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

import pytest

from medfact.cli.commands import OUTPUT
from medfact.datasets import load_file
from medfact.datasets.documents import read_documents
from medfact.datasets.table_reader import read_table
from medfact.datasets.table_writer import write_table
from medfact.errors import FactsError, Mistake
from medfact.exchange import import_run
from medfact.store import Store
from medfact.table_formats import FORMATS, TableFormat, describe_endings, linked_endings, media_type
from medfact.views.fragments import environment

ROOT = Path(__file__).resolve().parents[2]


def test_a_format_that_is_declared_is_read_written_sent_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tabs, under another ending."""
    like_tabs = TableFormat(
        FORMATS[".tsv"].reader, FORMATS[".tsv"].writer, media_type="text/tab-separated-values", is_linked=True
    )
    monkeypatch.setitem(FORMATS, ".tab", like_tabs)
    file = tmp_path / "facts.tab"
    assert write_table([{"head": "gout", "relation": "may cause", "tail": "joint pain"}], file) == 1
    assert file.read_text(encoding="utf-8") == "head\trelation\ttail\ngout\tmay cause\tjoint pain\n"
    assert [fact.tail for fact in load_file(file).facts] == ["joint pain"]
    assert [fact.tail for fact in load_file(tmp_path).facts] == ["joint pain"], "a folder's files are found by their endings"
    text = tmp_path / "documents" / "texts.tab"
    text.parent.mkdir()
    text.write_text("text\nGout hurts.\n", encoding="utf-8")
    assert [passage.text for passage in read_documents(text.parent)] == ["Gout hurts."]
    assert describe_endings().endswith(".xlsx or .tab")
    assert media_type("tab") == "text/tab-separated-values"
    assert linked_endings()[-1] == "tab"
    assert environment().globals["linked_endings"]() == linked_endings()  # type: ignore[operator]
    for use in (lambda: write_table([], tmp_path / "x.odt"), lambda: read_table(_odt(tmp_path))):
        with pytest.raises(FactsError, match=r"\.tab"):
            use()


def _odt(folder: Path) -> Path:
    file = folder / "x.odt"
    file.write_text("x")
    return file


def test_documents_and_help_name_every_format() -> None:
    for name in ("files.md", "command-line.md"):
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        *others, last = FORMATS
        assert f"{', '.join(f'`{one}`' for one in others)} or `{last}`" in text, name
    parser = ArgumentParser()
    OUTPUT(parser)
    assert describe_endings() in " ".join(parser.format_help().split())


LINE = "    specialty: str | None = column(about=Column())\n"
NEW = LINE + "    stage: str | None = column(about=Column(exported=IF_KNOWN))\n"

OLD_RUN = """
import sys
from medfact.datasets import load_file
from medfact.exchange.transfer import export_run
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store
place, name = sys.argv[1:]
store = Store(f"sqlite:///{place}/runs.db")
run = start(RunSpec(model="baseline:random", facts=f"{place}/{name}.csv", shots=0), store) if len(store.runs()) < 2 else ""
first = store.runs()[0]
with open(f"{place}/{name}.jsonl.gz", "wb") as file:
    export_run(store, run or first.run, file)
with open(f"{place}/first-{name}.jsonl.gz", "wb") as file:
    export_run(store, first.run, file)
facts = load_file(f"{place}/plain.csv")
ids = sorted(one.statement.statement_id for one in store.answers.asked(first.run))
print(facts.fingerprint(), first.dataset_fingerprint, ids)
"""

NEW_COLUMN = """
import sys
from medfact.exchange.rows import fact_rows
from medfact.exchange.transfer import import_run
from medfact.store import Store
place, = sys.argv[1:]
here = Store(f"sqlite:///{place}/runs.db")
run = here.runs()[-1].run
there = Store(f"sqlite:///{place}/elsewhere.db")
with open(f"{place}/stages.jsonl.gz", "rb") as file:
    import_run(there, file, "stages.jsonl.gz")
for store in (here, there):
    facts = [one.statement.fact for one in store.answers.asked(run)]
    print(sorted({(fact.head, fact.stage or "") for fact in facts}), sorted({row["stage"] or "" for row in fact_rows(facts)}))
print("stage" in next(fact_rows([one.statement.fact for one in here.answers.asked(here.runs()[0].run)])))
"""


def _copied(place: Path) -> Path:
    """The package with a further column of facts."""
    shutil.copytree(ROOT / "medfact", place / "medfact", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("assets", "prototypes"):
        (place / name).symlink_to(ROOT / name)
    file = place / "medfact" / "facts.py"
    text = file.read_text(encoding="utf-8")
    assert LINE in text
    file.write_text(text.replace(LINE, NEW), encoding="utf-8")
    return place


def _python(code: str, root: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=root, env={"PYTHONPATH": str(root)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_column_that_is_declared_is_read_stored_and_exported_and_changes_no_id(tmp_path: Path) -> None:
    rows = [("gout", "joint pain"), ("asthma", "wheezing"), ("mumps", "fever"), ("measles", "rash")]
    table = "".join(f"{head},disease may have finding,{tail}{{}}\n" for head, tail in rows)
    (tmp_path / "plain.csv").write_text("head,relation,tail\n" + table.replace("{}", ""), encoding="utf-8")
    (tmp_path / "stages.csv").write_text("head,relation,tail,stage\n" + table.replace("{}", ",early"), encoding="utf-8")
    before = _python(OLD_RUN, ROOT, str(tmp_path), "plain")
    root = _copied(tmp_path / "copy")
    after = _python(OLD_RUN, root, str(tmp_path), "stages")  # the database of the package without the column
    assert after == before
    exported = [gzip.decompress((tmp_path / f"first-{name}.jsonl.gz").read_bytes()) for name in ("plain", "stages")]
    assert exported[0] == exported[1], "a run's file is the same, whatever columns it does not use"
    with pytest.raises(Mistake, match="line 3: this medfact knows no column 'stage' of the statement"):
        import_run(
            Store(f"sqlite:///{tmp_path / 'third.db'}"), io.BytesIO((tmp_path / "stages.jsonl.gz").read_bytes()), "run.gz"
        )
    here, there, of_first = _python(NEW_COLUMN, root, str(tmp_path)).splitlines()
    assert here == there
    assert "('asthma', 'early')" in here
    assert here.endswith("['early']")
    assert of_first == "False", "where no fact has it, tables have no such column"
