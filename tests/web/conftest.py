"""The parts of a server on a store of its own, without HTTP, and a run whose answers are there."""

from __future__ import annotations

import pytest
from app_builders import services as services
from recorded import complete_run

from medfact.spec import RunSpec
from medfact.web.services import Services


@pytest.fixture
def run(services: Services) -> str:
    """Four pairs, of a coin."""
    return complete_run(RunSpec(model="baseline:random", limit=4, shots=0), services.store)
