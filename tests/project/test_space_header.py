"""The header of README.md, by which the Hub makes a Space: each field as its documentation wants it, and true."""

from __future__ import annotations

import importlib.metadata
import re
from typing import Any

import pytest
import yaml
from huggingface_hub import SpaceHardware
from repository import ROOT

from medfact.limits import _read_limits
from medfact.models.encoder import ENCODER

LONGEST_DESCRIPTION = 60


@pytest.fixture(scope="module")
def header() -> dict[str, Any]:
    _, text, _ = (ROOT / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return dict(yaml.safe_load(text))


def test_the_short_description_is_short_enough_to_be_shown(header: dict[str, Any]) -> None:
    assert 0 < len(header["short_description"]) <= LONGEST_DESCRIPTION


@pytest.mark.parametrize("field", ["app_file", "thumbnail"])
def test_the_files_that_it_names_are_there(header: dict[str, Any], field: str) -> None:
    assert (ROOT / header[field]).is_file()


def test_it_asks_for_versions_that_a_zero_gpu_space_has(header: dict[str, Any]) -> None:
    assert header["sdk"] == "gradio", "ZeroGPU takes no other"
    assert header["sdk_version"] == importlib.metadata.version("gradio")
    assert header["python_version"] == "3.12"
    assert header["suggested_hardware"] == SpaceHardware.ZERO_A10G.value


def test_who_signs_in_is_asked_for_leave_to_call_models_and_for_nothing_else(header: dict[str, Any]) -> None:
    assert header["hf_oauth"] is True
    assert header["hf_oauth_scopes"] == ["inference-api"]


def test_the_models_and_data_sets_that_it_names_are_used(header: dict[str, Any]) -> None:
    used = {ENCODER, *(_read_limits(ROOT / "assets/public-limits.yaml").models.encoders or ())}
    assert set(header["models"]) <= used
    assert "datasets" not in header, "none of the Hub's is read unless somebody names one"


def test_its_other_fields_are_of_their_kind(header: dict[str, Any]) -> None:
    assert re.fullmatch(r"\d+[mh]", header["startup_duration_timeout"])
    assert all(re.fullmatch(r"[a-z-]+", tag) for tag in header["tags"])
    assert {header["colorFrom"], header["colorTo"]} <= {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
