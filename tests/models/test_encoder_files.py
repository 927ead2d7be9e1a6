"""A sentence encoder is loaded from safetensors alone; what could run code is not even opened."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from small_models import train_small_tokenizer

from medfact.errors import ModelError
from medfact.models import load_encoder
from medfact.models.encoder import sentence_encoder
from medfact.models.services.settings import DEFAULTS

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small random encoder of three modules, each with its own folder: BERT, pooling, and a dense layer."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
    from transformers import BertConfig, BertModel

    bert, folder = tmp_path_factory.mktemp("bert"), tmp_path_factory.mktemp("encoder")
    tokenizer = train_small_tokenizer()
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    BertModel(BertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(bert)
    tokenizer.save_pretrained(bert)
    SentenceTransformer(modules=[Transformer(str(bert)), Pooling(16), Dense(16, 8)], device="cpu").save(
        str(folder), create_model_card=False
    )
    assert len(list(folder.rglob("*.safetensors"))) == 2
    return folder


class Opened:
    """Leaves a mark where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


def copied(encoder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(encoder, tmp_path / "copy"))


def test_it_loads_whatever_else_lies_there(encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.load", lambda *_, **__: pytest.fail("a pickle was opened"))
    folder, mark = copied(encoder, tmp_path), tmp_path / "mark"
    before = load_encoder(f"hf:{encoder}", DEFAULTS)
    for place in (folder, folder / "2_Dense"):
        (place / "pytorch_model.bin").write_bytes(pickle.dumps(Opened(mark)))
        (place / "modeling_custom.py").write_text(f"open({str(mark)!r}, 'w')")
    after = load_encoder(f"hf:{folder}", DEFAULTS)
    assert after.revision == before.revision
    assert (after.queries(["fever"]) == before.queries(["fever"])).all()
    assert not mark.exists()


@pytest.mark.parametrize("place", ["", "2_Dense"])
@pytest.mark.parametrize("ending", [".bin", ".pt"])
def test_weights_that_can_run_code_are_refused_in_one_sentence(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, ending: str
) -> None:
    monkeypatch.setattr("torch.load", lambda *_, **__: pytest.fail("a pickle was opened"))
    folder, mark = copied(encoder, tmp_path), tmp_path / "mark"
    (folder / place / "model.safetensors").unlink()
    (folder / place / f"pytorch_model{ending}").write_bytes(pickle.dumps(Opened(mark)))
    with pytest.raises(ModelError, match=rf"needs weights in safetensors format; .*pytorch_model{ending} is not opened"):
        sentence_encoder(str(folder))
    assert not mark.exists()


def test_the_command_line_says_so(encoder: Path, tmp_path: Path, medfact: Any, facts_file: Path) -> None:
    folder = copied(encoder, tmp_path)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    for options in (["--model", f"baseline:embedding:{folder}"], ["--retrieval", "dense", "--encoder", f"hf:{folder}"]):
        done = medfact("run", "--facts", facts_file, "--limit", 3, "--model", "baseline:random", *options)
        assert done.code == 2, done.err
        assert "such files can run code" in done.err
        assert "Traceback" not in done.err
