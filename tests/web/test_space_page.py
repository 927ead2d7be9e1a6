"""What pages say on a Space alone: what a run takes of the quota, and where a duplicate is made."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from medfact.models.local.zero_gpu import QUOTA
from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.runs.jobs import Jobs
from medfact.store import Store
from medfact.web.evaluate.form import EvaluateShow, Setup
from medfact.web.evaluate.size_step import bar
from medfact.web.layout import aside, duplicate_link
from medfact.web.pages import Visitor
from medfact.web.pages.every import PAGES
from medfact.web.services import Services


@pytest.mark.parametrize("space", ["", "no-owner", "somebody/a b", 'somebody/"><script>', "a/b/c", "https://elsewhere/x"])
def test_only_a_space_can_be_duplicated(space: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_ID", space)
    assert duplicate_link() == ""
    assert "Duplicate" not in aside(PAGES["evaluate"], list(PAGES.values()))


def test_every_page_of_a_space_leads_to_its_duplicate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_ID", "some-body/med.fact_1")
    for page in PAGES.values():
        assert 'href="https://huggingface.co/spaces/some-body/med.fact_1?duplicate=true"' in aside(page, list(PAGES.values()))


def test_the_quota_is_said_before_a_press_where_a_gpu_is_lent_and_a_local_model_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(f"sqlite:///{tmp_path / 'm.db'}")
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    visitor = Visitor(Services(store, jobs, reports, Comparisons(store, reports)), "ada", ("ada",), "")

    def said(model: str) -> str:
        return str(bar(visitor, EvaluateShow(), Setup(models=[model], pairs=10)))

    try:
        assert "quota" not in said("medfact-tiny")
        spaces = ModuleType("spaces")
        spaces.__spec__ = ModuleSpec("spaces", None)
        monkeypatch.setitem(sys.modules, "spaces", spaces)
        monkeypatch.setenv("SPACES_ZERO_GPU", "true")
        assert f"Takes some of your ZeroGPU quota: {QUOTA}." in said("medfact-tiny")
        assert "quota" not in said("baseline:random")
        monkeypatch.setattr("medfact.web.evaluate.size_step.seconds_for", lambda *_: 42.0)
        assert "Takes about 42 s of your ZeroGPU quota" in said("medfact-tiny")
    finally:
        jobs.close()
