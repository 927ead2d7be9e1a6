"""What a language's file says of sign-offs when a relation of it is exported again."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from medfact.languages import load_language
from medfact.languages.language import pool_file
from medfact.reviews import studio
from medfact.reviews.studio import EditedRelation, editable


def test_a_sign_off_in_the_file_stays_with_its_sentence_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four sentences that Dora signed in the file two have changed since, and one is now signed by Inés."""
    file: dict[str, Any] = pool_file("es")
    file["relations"]["symptoms"]["signed_off"] = dict.fromkeys(("none", "dn", "inv", "inv+dn"), "Dora, 2026-01-01")
    monkeypatch.setattr(studio, "pool_file", lambda code: file)
    own = dict(load_language("es").pool.relations["symptoms"].sentences)
    changed = {form: own[form].replace("reconocido", "conocido") for form in ("none", "dn")}
    edited = EditedRelation("symptoms", own, {**own, **changed}, {"inv": ("Inés", "2026-11-27")})
    entry = yaml.safe_load(editable("medfact-es").exported({"symptoms": edited}))["relations"]["symptoms"]
    assert entry["signed_off"] == {"inv": "Inés, 2026-11-27", "inv+dn": "Dora, 2026-01-01"}
    assert entry["sentences"] == edited.sentences
    assert entry["strengths"] == file["relations"]["symptoms"]["strengths"]
