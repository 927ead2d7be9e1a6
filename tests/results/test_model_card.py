"""The snippet for a model's page: the Hub's own library reads its metadata, and its Markdown holds no markup of others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import eval_result_entries_to_yaml, parse_eval_result_entries
from huggingface_hub.repocard_data import ModelCardData, model_index_to_eval_results
from recorded import complete_run
from small_facts import StubModel, make_fact_rows, write_csv

from medfact.results.exports import model_card
from medfact.results.report import report_of
from medfact.spec import RunSpec
from medfact.store import Store


def asked(store: Store, **fields: Any) -> str:
    return complete_run(
        RunSpec(**{"model": "baseline:random", "limit": 10, "shots": 0, **fields}),
        store,
        load=StubModel(lambda prompt: str(" not " not in prompt.statement)).load,
    )


def test_the_hub_reads_its_metadata(store: Store) -> None:
    report = report_of(store, store.run(asked(store)))
    card = model_card([report])
    _, head, body = card.split("---\n", 2)
    data = ModelCardData(**yaml.safe_load(head))
    name, results = model_index_to_eval_results(yaml.safe_load(head)["model-index"])
    assert name == "a coin"
    found = {result.metric_type: result.metric_value for result in results}
    assert found["joint_accuracy"] == round(report.joint_accuracy.value or 0, 4)
    assert found["false_affirmation"] == round(report.false_affirmation.value or 0, 4)
    assert {result.dataset_name for result in data.eval_results} == {"medfact clinical-core"}
    assert "| all statements of a fact right (joint accuracy) | 50.0%" in body
    assert "not clinical competence" in body


def test_text_of_others_is_no_markup(store: Store) -> None:
    report = report_of(store, store.run(asked(store)))
    hostile = "x](http://127.0.0.1) <script>\n| a | b |"
    object.__setattr__(report, "dataset", hostile)
    body = model_card([report]).split("---\n", 2)[2]
    assert "<script>" not in body
    assert "](http" not in body
    assert "\\| a \\| b \\|" in body


# ------------------------------------------------------------------------------------------------ .eval_results


def test_the_hubs_library_reads_eval_results(store: Store, medfact: Callable[..., Any], url: str) -> None:
    runs = [asked(store), asked(store, seed=1)]
    source = ("--source", "https://huggingface.co/datasets/me/results")
    done = medfact("card", *runs, "--dataset", "me/medfact-core@main", *source, "--db", url)
    assert done.code == 0, done.err
    assert ".eval_results/medfact.yaml" in done.err
    said = yaml.safe_load(done.out)
    entries = parse_eval_result_entries(said)
    assert eval_result_entries_to_yaml(entries) == said  # nothing that the Hub does not know
    reports = [report_of(store, store.run(run)) for run in runs]
    for entry, report, run in zip(entries, reports, runs, strict=True):
        assert (entry.dataset_id, entry.dataset_revision, entry.task_id) == ("me/medfact-core", "main", "average_accuracy")
        assert entry.value == round(report.average_accuracy.value or 0, 4)
        assert entry.date == store.run(run).started_at[:10]
        assert (entry.source_url, entry.source_name, entry.source_user, entry.verify_token) == (
            source[1],
            "medfact",
            None,
            None,
        )
        assert entry.notes is not None
        assert run in entry.notes
        assert f"joint_accuracy {100 * (report.joint_accuracy.value or 0):.1f}%" in entry.notes
    other = medfact("card", runs[0], "--dataset", "me/core", "--task", "joint_accuracy", "--db", url)
    (entry,) = parse_eval_result_entries(yaml.safe_load(other.out))
    assert (entry.task_id, entry.value, entry.source_url) == ("joint_accuracy", reports[0].joint_accuracy.value, None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--dataset", "medfact"), "OWNER/NAME"),
        (("--dataset", "https://huggingface.co/me/core"), "OWNER/NAME"),
        (("--dataset", "me/core", "--task", "no such score"), "There is: average_accuracy"),
        (("--dataset", "me/core", "--source", "javascript:alert(1)"), "https://"),
        (("--source", "https://huggingface.co"), "--dataset"),
        (("--task", "joint_accuracy"), "--dataset"),
    ],
)
def test_what_the_hub_would_refuse_is_said(
    store: Store, medfact: Callable[..., Any], url: str, arguments: tuple[str, ...], said: str
) -> None:
    done = medfact("card", asked(store), *arguments, "--db", url)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err


def test_a_file_is_of_one_model(store: Store, medfact: Callable[..., Any], url: str) -> None:
    runs = [asked(store), asked(store, model="baseline:always-true")]
    assert "several models" in medfact("card", *runs, "--dataset", "me/core", "--db", url).err


def test_a_run_from_elsewhere_names_no_folder(store: Store, medfact: Callable[..., Any], url: str, tmp_path: Path) -> None:
    (tmp_path / "secret-folder").mkdir()
    facts = write_csv(tmp_path / "secret-folder" / "facts.csv", make_fact_rows())
    done = medfact("card", asked(store, facts=str(facts)), "--dataset", "me/core", "--db", url)
    assert "facts.csv" in done.out
    assert "secret-folder" not in done.out
