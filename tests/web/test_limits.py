"""The limits of a public server: one file, in force where strangers are, each refusal one plain sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from medfact.errors import Mistake, ModelError
from medfact.limits import FILE, PRIVATE_LIMITS, REQUEST_KINDS, UNLIMITED, limits
from medfact.models import check_spec
from medfact.models.local.placement import HERE
from medfact.models.local.repository import Repository, check_size, inspect_source
from medfact.models.services.policy import check_encoder_source


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")


def with_file(monkeypatch: pytest.MonkeyPatch, file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    monkeypatch.setenv("MEDFACT_LIMITS", str(file))


def test_ones_own_machine_has_few(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits() is PRIVATE_LIMITS
    assert (PRIVATE_LIMITS.visitor.local_minutes_a_day, PRIVATE_LIMITS.in_all.disk_megabytes, dict(PRIVATE_LIMITS.rates)) == (
        UNLIMITED,
        UNLIMITED,
        {},
    )


@pytest.mark.parametrize("name", ["MEDFACT_PUBLIC", "SPACE_ID"])
def test_a_public_server_has_those_of_the_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    written = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    found = limits()
    for part in ("visitor", "signed_in", "in_all"):
        assert written[part] == {name: getattr(getattr(found, part), name) for name in written[part]}
        assert set(written[part]) == set(vars(getattr(found, part))), "the bundled file names every limit"
    assert set(found.rates) == set(written["rates"]) == set(REQUEST_KINDS)
    assert found.quota_for("hf-0") == found.signed_in != found.visitor == found.quota_for("0" * 32)


def test_another_file_replaces_it_and_what_it_leaves_out_is_free(
    public: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_file(monkeypatch, tmp_path / "mine.yaml", "visitor: {runs_going: 2}\nmodels: {names: [a/b]}\n")
    assert (limits().visitor.runs_going, limits().visitor.files, limits().in_all.free_megabytes) == (2, UNLIMITED, 0)
    assert limits().models.names == ("a/b",)


@pytest.mark.parametrize(
    "text",
    [
        "visitor: {runs: 2}", "visitors: {}", "visitor: {files: many}", "visitor: {files: -1}", "visitor: {files: true}", "[1]",
        "rates: {page: 5}", "rates: {look: [1, 1]}", "models: {names: a/b}", "a: [", "in_all: {run_days: .nan}",
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_said_in_a_sentence(
    public: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    with_file(monkeypatch, tmp_path / "wrong.yaml", text)
    with pytest.raises(Mistake, match="cannot be read"):
        limits()


def test_models_that_are_not_named_are_not_loaded(public: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_spec("hf:any/model")
    with_file(monkeypatch, tmp_path / "mine.yaml", "models: {names: [a/b], encoders: [c/d]}\n")
    check_spec("hf:a/b")
    check_spec("medfact-tiny")
    check_spec("baseline:embedding:c/d")
    for spec in ("hf:any/model", "hf:/etc", "baseline:embedding:any/encoder", "baseline:embedding:/etc"):
        with pytest.raises(ModelError):
            check_spec(spec)
    check_encoder_source("c/d")
    with pytest.raises(ModelError, match="does not load the sentence encoder a/b"):
        check_encoder_source("a/b")


def test_encoders_are_those_of_the_list(public: None) -> None:
    check_encoder_source("sentence-transformers/all-MiniLM-L6-v2")
    for name in ("somebody/huge-encoder", "/etc", "../x"):
        with pytest.raises(ModelError):
            check_encoder_source(name)


def test_a_model_that_is_too_large_is_said_before_it_is_fetched(
    public: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it says of itself: its files count too."""
    with_file(monkeypatch, tmp_path / "mine.yaml", "models: {most_millions: 100}\n")
    check_size(Repository("a/b", {}, 99_000_000, (), 198_000_000, None))
    for parameters, stored in ((101_000_000, 1), (1, 404_000_000)):
        with pytest.raises(
            ModelError, match="has 101 million parameters; this public server loads models of at most 100 million"
        ):
            check_size(Repository("a/b", {}, parameters, (), stored, None))
    large = {"model.safetensors": 404_000_000, "config.json": 1}
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
    monkeypatch.setattr("medfact.models.local.repository._on_hub", lambda source: (config, large, 0, None))
    with pytest.raises(ModelError, match="million parameters"):
        inspect_source("a/b", HERE)
    monkeypatch.delenv("MEDFACT_PUBLIC")
    assert inspect_source("a/b", HERE).parameters == 202_000_000
