"""A run as a static Space: what is in the folder, what is not, and which folders are left alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from huggingface_hub import SpaceCard
from recorded import complete_run
from small_facts import make_fact_rows, write_csv

from medfact.spec import RunSpec
from medfact.store import Store

FILES = {".medfact-static", "README.md", "answers.csv", "card.svg", "index.html"}


@pytest.fixture
def run(store: Store, tmp_path: Path) -> str:
    (tmp_path / "secret-folder").mkdir()
    file = write_csv(tmp_path / "secret-folder" / "mine.csv", make_fact_rows())
    return complete_run(RunSpec(model="baseline:negation-cue", facts=str(file), limit=10, shots=0), store.of("secret-owner"))


def test_a_space_has_the_run_and_nothing_of_whoever_made_it(
    run: str, store: Store, medfact: Callable[..., Any], url: str, tmp_path: Path
) -> None:
    folder = tmp_path / "space"
    store.describe(run, name="<script>alert(1)</script> " + "long " * 40, note=None)
    done = medfact("publish", run, "--static", folder, "--db", url)
    assert done.code == 0, done.err
    assert "check that they may be shown" in done.err
    assert {file.name for file in folder.iterdir()} == FILES
    header = SpaceCard.load(folder / "README.md").data
    assert (header.sdk, len(header.short_description) <= 60, len(header.title) <= 60) == ("static", True, True)
    assert "medfact" in header.tags
    page = (folder / "index.html").read_text("utf-8")
    assert "<script" not in page
    assert not re.search(r"""(src|href|url\()=?["'(]?(https?:)?//""", page)
    assert "&lt;script&gt;alert(1)" in (folder / "card.svg").read_text("utf-8")
    answers = pd.read_csv(folder / "answers.csv")
    assert len(answers) == store.run(run).statements
    everything = b"".join(file.read_bytes() for file in folder.iterdir())
    for secret in ("secret-folder", "secret-owner", str(tmp_path)):
        assert secret.encode() not in everything
    assert medfact("publish", "--db", url).rows == []  # nothing is published on this server


def test_a_folder_is_written_again_and_no_other_is_touched(
    run: str, medfact: Callable[..., Any], url: str, tmp_path: Path
) -> None:
    folder = tmp_path / "space"
    (folder / ".git").mkdir(parents=True)  # a clone of an empty Space
    for _ in range(2):
        assert medfact("publish", run, "--static", folder, "--db", url).code == 0
    (folder / "index.html").unlink()
    (folder / "index.html").symlink_to(tmp_path / "elsewhere")
    assert "a link" in medfact("publish", run, "--static", folder, "--db", url).err
    assert not (tmp_path / "elsewhere").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "index.html").write_text("mine", encoding="utf-8")
    done = medfact("publish", run, "--static", other, "--db", url)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "holds something already" in done.err
    assert [file.name for file in other.iterdir()] == ["index.html"]
    assert medfact("publish", run, "--static", other / "index.html", "--db", url).code == 2
    assert (other / "index.html").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("arguments", [(), ("--withdraw",)])
def test_it_is_of_one_run(run: str, medfact: Callable[..., Any], url: str, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    named = (run, *arguments) if arguments else ()
    done = medfact("publish", *named, "--static", tmp_path / "space", "--db", url)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "one run" in done.err
    assert not (tmp_path / "space").exists()


def test_a_models_folder_is_its_last_part_everywhere(
    run: str, store: Store, medfact: Callable[..., Any], url: str, tmp_path: Path
) -> None:
    with store.database.writing() as connection:
        connection.exec_driver_sql(
            f"UPDATE runs SET model = 'hf:/srv/models/mine', "
            f"spec = replace(spec, 'baseline:negation-cue', 'hf:/srv/models/mine') WHERE run = '{run}'"
        )
    folder = tmp_path / "space"
    assert medfact("publish", run, "--static", folder, "--db", url).code == 0
    assert b"/srv/models" not in b"".join(file.read_bytes() for file in folder.iterdir())
    assert b"hf:mine" in (folder / "index.html").read_bytes()
    for log in ("inspect", "lm-eval"):
        assert "/srv/models" not in medfact("answers", run, "--log", log, "--db", url).out
    assert "/srv/models" not in medfact("answers", run, "--db", url).out
