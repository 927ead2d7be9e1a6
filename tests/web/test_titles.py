"""What is shown is named after all that it shows: the browser's tab, and downloaded files."""

from __future__ import annotations

import pytest
from asked_updates import OWNER, look
from asked_updates import services as services
from fastapi import FastAPI
from fastapi.testclient import TestClient
from recorded import recorded

from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.web.downloads import routes
from medfact.web.services import Services

NAMES = {"always-true": "always says true", "always-false": "always says false", "random": "a coin"}


@pytest.fixture
def runs(services: Services) -> list[str]:
    store = services.store.of(OWNER)
    made = [recorded(RunSpec(model=f"baseline:{model}", limit=4, shots=0), store) for model in NAMES]
    return made


def test_the_tab_says_which_models_and_facts(services: Services, runs: list[str]) -> None:
    both = "always says true, always says false on clinical-core"
    assert look(services)["title"] == "New evaluation · medfact"
    assert look(services, run=",".join(runs[:2]))["title"] == f"{both} · medfact"
    begun = start(RunSpec(model="baseline:random", limit=4, shots=0), services.store.of(OWNER))
    assert look(services, run=begun)["title"] == "0% · a coin on clinical-core · medfact"


@pytest.mark.parametrize("file", ["scores.csv", "report.html", "answers.jsonl"])
def test_a_file_of_several_models_is_named_after_all(file: str, services: Services, runs: list[str]) -> None:
    app = FastAPI()
    app.include_router(routes(services))
    told = TestClient(app).get(f"/download/{','.join(runs)}/{file}").headers["content-disposition"]
    assert all(name.replace(" ", "-") in told and run[:8] in told for name, run in zip(NAMES.values(), runs, strict=True))
    alone = TestClient(app).get(f"/download/{runs[0]}/{file}").headers["content-disposition"]
    assert f'filename="medfact-always-says-true-{runs[0][:8]}-{file}"' in alone
