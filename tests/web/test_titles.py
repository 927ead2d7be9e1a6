"""Downloaded files are named after all models that they hold."""

from __future__ import annotations

import pytest
from asked_updates import OWNER
from asked_updates import services as services
from fastapi import FastAPI
from fastapi.testclient import TestClient
from recorded import complete_run

from medfact.spec import RunSpec
from medfact.web.downloads import routes
from medfact.web.services import Services

NAMES = {"always-true": "always says true", "always-false": "always says false", "random": "a coin"}


@pytest.fixture
def runs(services: Services) -> list[str]:
    store = services.store.of(OWNER)
    return [complete_run(RunSpec(model=f"baseline:{model}", limit=4, shots=0), store) for model in NAMES]


@pytest.mark.parametrize("file", ["scores.csv", "report.html", "answers.jsonl"])
def test_a_file_of_several_models_is_named_after_all(file: str, services: Services, runs: list[str]) -> None:
    app = FastAPI()
    app.include_router(routes(services))
    told = TestClient(app).get(f"/download/{','.join(runs)}/{file}").headers["content-disposition"]
    assert all(name.replace(" ", "-") in told and run[:8] in told for name, run in zip(NAMES.values(), runs, strict=True))
    alone = TestClient(app).get(f"/download/{runs[0]}/{file}").headers["content-disposition"]
    assert f'filename="medfact-always-says-true-{runs[0][:8]}-{file}"' in alone
