"""Runs with retrieved passages: MKJ's protocol in both settings, by hand; what is left out; own documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mkj_files import RELATION, write_mkj
from odd_service import Reply, Request, ScriptedService
from small_facts import StubModel, write_csv

from medfact.datasets import load
from medfact.datasets.documents import MOST_WORDS, Passage, read_documents, split
from medfact.errors import FactsError, MissingColumns, Mistake, ModelError, UnknownName
from medfact.exchange.transfer import export_run, import_run
from medfact.facts import Fact, KnowledgeBase
from medfact.models import Completion, Prompt, load_encoder
from medfact.models.services.settings import ServiceSettings
from medfact.results.compare import Change, blamed, changes, sides_of
from medfact.results.recall import READ, RELATED
from medfact.results.report import report_of
from medfact.results.sections.beside import passages_section
from medfact.results.text import lines_of
from medfact.runs.corpus import Corpus, corpus_of
from medfact.runs.costs import costs
from medfact.runs.events import Failed, Finished, Loading
from medfact.runs.plan import plan
from medfact.runs.run import answer
from medfact.runs.start import start, start_again
from medfact.spec import RunSpec
from medfact.store import Store


def gold_of(number: int) -> str:
    return f"Disease {number} {RELATION} drug-{number}a"


@pytest.fixture
def mkj(tmp_path: Path) -> Path:
    return write_mkj(tmp_path / "mkj")


def reader(prompt: Prompt) -> str:
    """True exactly when the gold fact of the statement's disease is in its context."""
    content = str(prompt.content)
    statement = content.partition("Statement:")[2].partition("Documents:")[0]
    number = int(statement.split("Disease ")[1].split(".")[0])
    found = gold_of(number) in content.partition("Documents:\n")[2].splitlines()
    return f"Answer: {found}"


def asked(store: Store, spec: RunSpec, model: StubModel | None = None) -> str:
    run = start(spec, store)
    events = list(answer(run, store, load=(model or StubModel(reader)).load))
    assert isinstance(events[-1], Finished), events[-1]
    return run


def spec_of(mkj: Path, **fields: Any) -> RunSpec:
    return RunSpec(model="baseline:random", facts=str(mkj), protocol="mkj", **fields)


# ---------------------------------------------------------------------------------------------- the protocol, by hand


def test_the_papers_setting_by_hand(mkj: Path, store: Store) -> None:
    """The gold fact of 19 of 20 diseases is among the first five: for disease 0 the six others come before it.

    The reader finds it for 19 of 20 true statements (right), and for 57 of 60 false ones (wrong: it says True of them).
    Acc_pos = 19/20 = .95, Acc_neg = 3/60 = .05, Acc = (.95 + 3 · .05) / 4 = .275.
    """
    found = report_of(store, store.run(asked(store, spec_of(mkj, retrieval="sparse"))))
    assert found.evidence is not None
    assert found.evidence.recall.value == pytest.approx(19 / 20)
    assert found.evidence.recall.n == 20
    assert found.evidence.partner_recall.value == pytest.approx(57 / 60)
    assert found.evidence.statements == 80
    assert [estimate.value for estimate in found.evidence.recall_at] == [0.95] * 5
    assert found.positive_accuracy.value == pytest.approx(0.95)
    assert found.negative_accuracy.value == pytest.approx(0.05)
    assert found.mkj_accuracy.value == pytest.approx(0.275)
    assert (found.retrieval, found.evidence.setting, found.method) == ("sparse", READ, "MKJ, sparse retrieval")


def test_with_the_fact_left_out_by_hand(mkj: Path, store: Store) -> None:
    """No gold fact is left: the reader says False of everything. Acc_pos = 0, Acc_neg = 1, Acc = ¾."""
    found = report_of(store, store.run(asked(store, spec_of(mkj, retrieval="sparse", leave_out=True))))
    assert found.evidence is not None
    assert (found.evidence.recall.value, found.evidence.partner_recall.value, found.evidence.statements) == (0, 0, 80)
    assert (found.positive_accuracy.value, found.negative_accuracy.value, found.mkj_accuracy.value) == (0, 1, 0.75)
    assert (found.evidence.setting, found.method) == (RELATED, "MKJ, sparse retrieval, fact left out")


def test_the_change_by_hand(mkj: Path, store: Store) -> None:
    """Without passages the reader says False of everything: 60 of 80 right. With them 19 true statements turn right, 57 false
    ones wrong: +19/20 = +.95, −57/60 = −.95, (19 − 57) / 80 = −.475.
    """
    runs = [
        asked(store, spec_of(mkj, **fields))
        for fields in ({}, {"retrieval": "sparse"}, {"retrieval": "sparse", "leave_out": True})
    ]
    read, related = changes(sides_of(store, runs))
    assert (read.without, read.with_, read.setting) == (runs[0], runs[1], READ)
    assert read.probabilities == {}, "no answer has a P(True)"
    values = {metric: found.value for metric, found in read.metrics.items()}
    assert values == pytest.approx({"average_accuracy": -0.475, "positive_accuracy": 0.95, "negative_accuracy": -0.95})
    assert [found.n for found in read.metrics.values()] == [80, 20, 60]
    for found in read.metrics.values():
        assert found.low is not None
        assert found.value is not None
        assert found.high is not None
        assert found.low < found.value < found.high
    assert (len(read.helped), len(read.harmed)) == (19, 57)
    helped = store.answers.asked(runs[1], positions=read.helped)
    assert all(item.statement.label and (item.passages or ())[blamed(item) or 0].gold for item in helped)
    assert (related.setting, len(related.helped), len(related.harmed)) == (RELATED, 0, 0)
    assert related.metrics["average_accuracy"].value == 0


def test_mkjs_table_3_has_a_row_a_model_with_arrows_and_their_mean(
    mkj: Path, store: Store, medfact: Callable[..., Any]
) -> None:
    """The reader as above: Acc .275 with passages, .475 less than without. One that says True of everything: Acc .25 with and
    without. Their means: .2625, and −.2375. Of the paper's rows, GPT-3.5-TURBO: 90.75 (↑8.5); the mean of all 16 is 83.9.
    """
    settings: list[dict[str, Any]] = [{}, {"retrieval": "sparse"}, {"retrieval": "sparse", "leave_out": True}]
    models = {"openai:reader": StubModel(reader), "openai:yes": StubModel(lambda prompt: "True")}
    runs = [
        asked(store, replace(spec_of(mkj, **fields), model=name), model)
        for name, model in models.items()
        for fields in settings[: 3 if name == "openai:reader" else 2]
    ]
    rows = json.loads(f"[{','.join(medfact('tables', *runs, '--paper', 'mkj', '--db', store.url).out.splitlines())}]")
    table = {
        (row["model"], row["detail"].rpartition(", ")[2].partition(";")[0], row["column"]): row
        for row in rows
        if row["table"] == "Table 3"
    }
    ours = {key: row for key, row in table.items() if row["from"] == "run" and row["column"] == "sparse: Acc"}
    assert {key[:2]: (row["value"], row["difference"]) for key, row in ours.items()} == {
        ("reader", READ): pytest.approx((0.275, -0.475)),
        ("reader", RELATED): (0.75, 0.0),
        ("yes", READ): (0.25, 0.0),
        ("mean of 2 models", READ): pytest.approx((0.2625, -0.2375)),
    }
    of_reader = table["reader", READ, "sparse: Acc_pos"]
    assert (of_reader["difference"], of_reader["difference_n"], of_reader["less"]) == (pytest.approx(0.95), 20, "zero-shot")
    assert of_reader["difference_low"] < 0.95 < of_reader["difference_high"]
    assert table["reader", READ, "dense: Acc"]["difference"] is None
    printed = table["GPT-3.5-TURBO", "zero-shot", "sparse: Acc"]
    assert (printed["value"], printed["difference"], printed["difference_n"]) == (0.9075, 0.085, None)
    mean = table["mean of 16 models", "zero-shot", "sparse: Acc"]
    assert (round(mean["value"], 4), mean["n"], mean["from"]) == (0.8389, None, "published")


def test_what_passages_do_to_p_true_by_hand(mkj: Path, store: Store) -> None:
    """P(True) is 0.9 where the reader says True and 0.2 where it says False. Without passages it is 0.2 throughout. With them
    it is 0.9 for 19 of 20 true statements and 57 of 60 false ones: 19/20 · 0.7 = 57/60 · 0.7 = +0.665. Brier: 19 fall from 0.64
    to 0.01, 57 rise from 0.04 to 0.81: (−19 · 0.63 + 57 · 0.77) / 80 = +0.399.
    """

    def sure(prompt: Prompt) -> Completion:
        reply = reader(prompt)
        return Completion(reply, p_true=0.9 if "True" in reply else 0.2, p_mass=1.0)

    runs = [asked(store, spec_of(mkj, **fields), StubModel(sure)) for fields in ({}, {"retrieval": "sparse"})]
    (change,) = changes(sides_of(store, runs))
    found = {name: (one.value, one.n, one.only_first, one.only_second) for name, one in change.probabilities.items()}
    assert found["p_true_of_true"] == (pytest.approx(0.665), 20, 19, 0)
    assert found["p_true_of_false"] == (pytest.approx(0.665), 60, 57, 0)
    assert found["brier"] == (pytest.approx(0.399), 80, 57, 19)
    text = " ".join(lines_of_change(change, runs))
    assert "probability of true of true statements +0.665 (" in text
    assert "of 80 statements, higher in 57" in text


def lines_of_change(change: Change, runs: list[str]) -> list[str]:
    """What passages change, as a terminal says it."""
    section = passages_section([change], dict(zip(runs, "ab", strict=True)), {})
    assert section is not None
    return list(lines_of(section))


def test_a_change_needs_the_same_model_data_and_seed(mkj: Path, store: Store) -> None:
    with_ = asked(store, spec_of(mkj, retrieval="sparse"))
    others = [
        asked(store, replace(spec_of(mkj), model="baseline:always-true")),
        asked(store, replace(spec_of(mkj), seed=1)),
        asked(store, spec_of(mkj, retrieval="sparse", passages=2)),
    ]
    assert changes(sides_of(store, [with_, *others])) == []


def test_the_prompt_is_the_papers(mkj: Path, store: Store) -> None:
    """Figure 9, word for word; in the paper's code the passages stand under "Documents:", one a line."""
    model = StubModel(reader)
    asked(store, spec_of(mkj, retrieval="sparse", passages=2, limit=1), model)
    number = str(model.prompts[0].content).split("Disease ")[1].split(".")[0]
    text = next(str(prompt.content) for prompt in model.prompts if f"drug-{number}a may" in prompt.statement)
    head, _, documents = text.partition("Documents:\n")
    assert head == (
        "Please judge the following statement is true or false based on the documents. Some relevant documents are provided "
        'that may help you do the judgement.\nFinally, please format your answer like this: "Answer: [True or False]".\n\n'
        f"Statement:\nThe drug-{number}a may be used to treat Disease {number}.\n\n"
    )
    assert len(documents.splitlines()) == 2


def test_with_demonstrations_only_the_statement_in_question_has_passages(facts_file: Path, store: Store) -> None:
    model = StubModel()
    asked(store, RunSpec(model="baseline:random", facts=str(facts_file), retrieval="sparse", limit=2), model)
    assert {str(prompt.content).count("Documents:") for prompt in model.prompts} == {1}
    assert {str(prompt.content).count("Statement:\n") for prompt in model.prompts} == {6}
    assert all(str(prompt.content).count("\nAnswer: ") == 5 for prompt in model.prompts)


# ---------------------------------------------------------------------------------------------- what a corpus leaves out


def corpus(facts: list[Fact], synonyms: tuple[tuple[str, ...], ...] = (), documents: tuple[str, ...] = ()) -> Corpus:
    known = KnowledgeBase(tuple(facts), synonyms=synonyms)
    if documents:
        return Corpus("documents", tuple(Passage(text, "") for text in documents), known)
    passages = tuple(Passage(" ".join((f.head, f.relation, f.tail or "")), "") for f in facts)
    return Corpus("facts", passages, known, tuple((fact,) for fact in facts))


def test_a_fact_is_left_out_with_its_paraphrases() -> None:
    facts = [
        Fact("asthma", "may be treated by", "salbutamol"),
        Fact("albuterol", "may treat", "asthma"),  # the reverse, under another name
        Fact("asthma", "has contraindicated drug", "salbutamol"),  # another relation between the two
        Fact("asthma", "may be treated by", "salbutamol sulfate"),  # it names both
        Fact("asthma", "may be treated by", "prednisone"),
        Fact("copd", "may be treated by", "salbutamol"),
    ]
    made = corpus(facts, synonyms=(("salbutamol", "albuterol"),))
    assert made.about([facts[0]]) == {0, 1, 2, 3}
    assert made.gold(facts[0]) == {0}
    assert made.about([facts[0], facts[0].negative("prednisone", None, 1)]) == {0, 1, 2, 3, 4}


def test_documents_that_name_both_ends_are_left_out() -> None:
    documents = (
        "Albuterol relieves asthma.",
        "Asthma is common.",
        "Salbutamol is a drug.",
        "ASTHMA, unlike COPD: salbutamol helps",
    )
    fact = Fact("asthma", "may be treated by", "salbutamol")
    made = corpus([fact], synonyms=(("salbutamol", "albuterol"),), documents=documents)
    assert made.about([fact]) == made.gold(fact) == {0, 3}


def test_all_statements_of_a_pair_lose_the_same_passages(mkj: Path, store: Store) -> None:
    """Else a passage that is missing beside true statements alone would give their label away."""
    run = asked(store, spec_of(mkj, retrieval="sparse", leave_out=True, passages=20))
    for item in store.answers.asked(run):
        number = item.statement.text.split("Disease ")[1].rstrip(".")
        assert not [p for p in item.passages or () if f"drug-{number}a" in p.text]
        assert gold_of(int(number)) not in [p.text for p in item.passages or ()]


def test_the_corpus_of_mkj_is_its_collection_as_published(mkj: Path) -> None:
    made = corpus_of(spec_of(mkj), load(spec_of(mkj)))
    published = json.loads((mkj / "triplets_collection.json").read_text(encoding="utf-8"))
    assert sorted(made.texts) == sorted(entry["text"] for entry in published)


def test_the_corpus_of_other_data_are_plain_sentences(facts_file: Path) -> None:
    spec = RunSpec(model="", facts=str(facts_file), retrieval="sparse")
    made = corpus_of(spec, load(spec))
    assert len(made.passages) == 42
    assert "Sign00 is a recognized symptom or sign of disease00." in made.texts
    assert made.fingerprint == corpus_of(spec, load(spec)).fingerprint


# ---------------------------------------------------------------------------------------------- kept with the run


def test_passages_are_kept_and_a_run_goes_on_with_them(mkj: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of(mkj, retrieval="sparse")
    run = start(spec, store)
    looks = iter([False] * 3 + [True] * 1000)
    list(answer(run, store, load=StubModel(reader).load, stopped=lambda: next(looks)))
    before = {item.statement.statement_id: item.passages for item in store.answers.asked(run)}
    assert any(before.values())
    (mkj / "triplets_collection.json").write_text("[]", encoding="utf-8")  # the corpus is another one now
    events = list(answer(run, store, load=StubModel(reader).load))
    assert isinstance(events[-1], Finished)
    after = {item.statement.statement_id: item.passages for item in store.answers.asked(run)}
    assert all(after[name] == passages for name, passages in before.items() if passages is not None)
    again = start_again(run, store)
    monkeypatch.setattr("medfact.runs.retrieve.retrieved", lambda *_: pytest.fail("retrieved again"))
    list(answer(again, store, load=StubModel(reader).load))
    assert {item.statement.statement_id: item.passages for item in store.answers.asked(again)} == after


def test_broken_off_while_it_retrieves_a_run_leaves_out_the_same(
    facts_file: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The documents name each disease with each sign and drug: what is left out hangs on all false partners of a pair."""
    names = [f"{kind}{n:02}" for kind in ("sign", "drug") for n in range(14)]
    documents = tmp_path / "documents.txt"
    documents.write_text("\n\n".join(f"disease{n:02} and {name}." for n in range(14) for name in names), encoding="utf-8")
    spec = RunSpec(
        model="baseline:random", facts=str(facts_file), shots=0, retrieval="sparse", corpus=str(documents), leave_out=True
    )
    whole, broken = asked(store, spec, StubModel()), start(spec, store)
    monkeypatch.setattr("medfact.runs.retrieve._SAVED_AT_ONCE", 5)
    looks = iter([False] * 2 + [True] * 1000)
    list(answer(broken, store, load=StubModel().load, stopped=lambda: next(looks)))
    done = sum(item.passages is not None for item in store.answers.asked(broken))
    assert 0 < done < len(store.answers.asked(broken))
    list(answer(broken, store, load=StubModel().load))
    first, second = (
        [(item.statement.statement_id, item.passages) for item in store.answers.asked(run)] for run in (whole, broken)
    )
    assert first == second


def test_passages_travel_with_the_run(mkj: Path, store: Store, fresh: Callable[[], str], tmp_path: Path) -> None:
    run = asked(store, spec_of(mkj, retrieval="sparse", limit=3))
    file = tmp_path / "run.jsonl.gz"
    with file.open("wb") as stream:
        export_run(store, run, stream)
    there = Store(fresh())
    with file.open("rb") as stream:
        import_run(there, stream, file.name)
    assert [item.passages for item in there.answers.asked(run)] == [item.passages for item in store.answers.asked(run)]
    ours, theirs = (report_of(place, place.run(run)).evidence for place in (store, there))
    assert ours == theirs


def test_a_run_from_a_file_opens_no_documents_here(mkj: Path, store: Store, tmp_path: Path, url: str) -> None:
    """Its file names them; they may be anything of this machine."""
    run = start(spec_of(mkj, retrieval="sparse", limit=3), store)
    file = tmp_path / "run.jsonl.gz"
    with file.open("wb") as stream:
        export_run(store, run, stream)
    there = Store(f"sqlite:///{tmp_path / 'there.db'}")
    with file.open("rb") as stream:
        import_run(there, stream, file.name)
    (failed,) = [event for event in answer(run, there, load=StubModel(reader).load) if isinstance(event, Failed)]
    assert "came from a file, without the passages" in str(failed.error)


def test_progress_is_told_while_passages_are_retrieved(mkj: Path, store: Store) -> None:
    events = answer(start(spec_of(mkj, retrieval="sparse"), store), store, load=StubModel(reader).load)
    steps = [event.step for event in events if isinstance(event, Loading)]
    assert steps[:2] == ["Reading the known facts.", "Indexing 46 passages: known facts of mkj."]
    assert steps[-1] == "Retrieving passages: 80 of 80 statements."


@pytest.mark.parametrize(
    ("fields", "kind", "said"),
    [
        ({"retrieval": "telepathy"}, UnknownName, "no retrieval 'telepathy'"),
        ({"retrieval": "sparse", "passages": 0}, Mistake, "number of passages is 0"),
        ({"retrieval": "sparse", "passages": 21}, Mistake, "number of passages is 21"),
        ({"leave_out": True}, Mistake, "no way to retrieve them"),
        ({"corpus": "documents.txt"}, Mistake, "no way to retrieve them"),
        ({"retrieval": "sparse", "question": "paper"}, Mistake, "no place for documents"),
        ({"question": "mkj-documents"}, Mistake, "needs retrieved passages"),
    ],
)
def test_settings_that_do_not_fit_are_refused(mkj: Path, fields: dict[str, Any], kind: type[Mistake], said: str) -> None:
    with pytest.raises(kind, match=said):
        plan(spec_of(mkj, **fields))


def test_a_price_counts_the_passages(mkj: Path) -> None:
    plain, more = (
        costs(replace(spec_of(mkj, retrieval=name), model="openai:gpt-4o-mini"))["prompt_tokens"] for name in ("none", "sparse")
    )
    assert more > plain + 80 * 5 * 5


# ---------------------------------------------------------------------------------------------- documents


def test_a_text_is_split_at_paragraphs_and_sentences(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("First paragraph,\nin two lines.\n\n\nSecond one. " + "Word. " * 120 + "\n", encoding="utf-8")
    passages = read_documents(file)
    assert passages[0] == Passage("First paragraph, in two lines.", "notes.txt, line 1")
    assert passages[1].source == "notes.txt, line 5"
    assert [len(passage.text.split()) for passage in passages] == [5, 100, 22]


@given(st.text(alphabet="ab. \n", max_size=2_000))
def test_splitting_loses_no_word(text: str) -> None:
    parts = list(split(text))
    assert " ".join(parts).split() == text.split()
    assert all(0 < len(part.split()) <= MOST_WORDS for part in parts)


@pytest.mark.parametrize("name", ["documents.csv", "documents.jsonl"])
def test_a_column_of_a_table_is_a_corpus(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    if name.endswith("csv"):
        write_csv(file, [{"id": 1, "Text": "Malaria, a fever."}, {"id": 2, "Text": ""}, {"id": 3, "Text": "Malaria, a fever."}])
        assert read_documents(file) == (Passage("Malaria, a fever.", "documents.csv, row 2"),)
        assert [passage.text for passage in read_documents(file, "id")] == ["1", "2", "3"]
    else:
        file.write_text('{"contents": "One."}\n{"contents": "Two."}\n', encoding="utf-8")
        assert [passage.text for passage in read_documents(file)] == ["One.", "Two."]


def test_a_table_that_does_not_say_where_its_text_is(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "table.csv", [{"a": "x", "b": "y"}])
    with pytest.raises(MissingColumns, match="which column holds the text") as caught:
        read_documents(file)
    assert caught.value.columns == ["a", "b"]
    with pytest.raises(MissingColumns, match="no column 'c'"):
        read_documents(file, "c")


def test_a_folder_of_documents_and_what_is_none(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("Second.", encoding="utf-8")
    (tmp_path / "a.txt").write_text("First.", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    assert [passage.text for passage in read_documents(tmp_path)] == ["First.", "Second."]
    (tmp_path / "empty.txt").write_text(" \n", encoding="utf-8")
    with pytest.raises(FactsError, match="holds no text"):
        read_documents(tmp_path / "empty.txt")
    with pytest.raises(FactsError, match="no file or folder"):
        read_documents(tmp_path / "absent.txt")
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)) * 20)
    with pytest.raises(FactsError, match=r"binary\.txt"):
        read_documents(tmp_path / "binary.txt")


def test_own_documents_by_the_command_line(medfact: Callable[..., Any], facts_file: Path, tmp_path: Path, url: str) -> None:
    (tmp_path / "guide.txt").write_text("Disease00 often begins with sign00.\n\nUnrelated advice.", encoding="utf-8")
    options = ("--facts", facts_file, "--limit", 4, "--model", "baseline:random", "--shots", 0, "--db", url)
    retrieval = ("--retrieval", "sparse", "--corpus", tmp_path / "guide.txt", "--passages", 2)
    plain, with_ = (json.loads(medfact("run", *options, *more).out)["run"] for more in ((), retrieval))
    evidence = json.loads(medfact("report", with_, "--json", "--db", url).out)["evidence"]
    assert (evidence["corpus"], evidence["passages"], evidence["retrieval"]) == ("guide.txt", 2, "sparse")
    assert "2 passages of guide.txt" in medfact("report", with_, "--db", url).out
    rows = [json.loads(line) for line in medfact("answers", with_, "--db", url).out.splitlines()]
    assert {passage["text"] for row in rows for passage in row["passages"]} <= {
        "Disease00 often begins with sign00.",
        "Unrelated advice.",
    }
    compared = medfact("compare", with_, plain, "--json", "--db", url)
    (change,) = json.loads(compared.out)["evidence"]
    assert (change["without"], change["with_"]) == (plain, with_)
    told = medfact("compare", with_, plain, "--db", url).out
    assert "What the passages change" in told
    assert "the question changes too (from paper to mkj-documents): this is the effect of both." in told
    absent = medfact("run", *options, "--retrieval", "sparse", "--corpus", tmp_path / "absent.txt")
    assert absent.code == 2
    assert "absent.txt" in absent.err
    assert "Traceback" not in absent.err


def test_prompts_show_the_passages(medfact: Callable[..., Any], mkj: Path, url: str) -> None:
    outcome = medfact("prompts", "--facts", mkj, "--protocol", "mkj", "--retrieval", "sparse", "--limit", 2, "--db", url)
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert len(rows) == 8
    assert all("\n\nDocuments:\n" in row["prompt"] for row in rows)


# ---------------------------------------------------------------------------------------------- an encoder at a service


def letters(request: Request, drop: int = 0, status: int = 200) -> Reply:
    """Embeddings of texts: how often each has a, b and c. drop: so many vectors are missing."""
    texts = request.body["input"]
    data = [{"index": n, "embedding": [text.count(c) + 0.1 for c in "abc"]} for n, text in enumerate(texts)]
    return Reply({"object": "list", "model": request.body["model"], "data": data[: len(data) - drop][::-1]}, status)


def test_an_encoder_at_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the key for another")
    monkeypatch.setenv("MEDFACT_ENCODER_KEY", "its-own")
    texts = [f"{'a' * (n % 5)}{'b' * (n % 3)}" for n in range(150)]
    with ScriptedService(letters) as embeddings:
        vectors = load_encoder("openai:letters", ServiceSettings(base_url=embeddings.base_url)).passages(texts)
    expected = np.array([[text.count(letter) + 0.1 for letter in "abc"] for text in texts])
    assert np.allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert sorted(len(request.body["input"]) for request in embeddings.requests) == [22, 64, 64]
    assert {request.headers["authorization"] for request in embeddings.requests} == {"Bearer its-own"}
    for fault, words in (({"drop": 1}, "no vector for some"), ({"status": 401}, "HTTP 401")):
        with ScriptedService(partial(letters, **fault)) as embeddings, pytest.raises(ModelError, match=words):
            load_encoder("openai:letters", ServiceSettings(base_url=embeddings.base_url)).passages(["a", "b"])


def test_dense_retrieval_with_an_encoder_at_a_service(mkj: Path, store: Store) -> None:
    with ScriptedService(letters) as embeddings:
        fields = {"encoder": "openai:letters", "encoder_url": embeddings.base_url}
        run = asked(store, spec_of(mkj, retrieval="dense", limit=2, **fields))
    assert all(len(item.passages or ()) == 5 for item in store.answers.asked(run))
    assert {request.body["model"] for request in embeddings.requests} == {"letters"}
    found = report_of(store, store.run(run)).evidence
    assert found is not None
    assert found.encoder == "openai:letters"


def test_an_encoder_that_is_away_is_said_in_one_sentence(mkj: Path, store: Store) -> None:
    spec = spec_of(mkj, retrieval="dense", encoder="openai:letters", encoder_url="http://127.0.0.1:9/v1", limit=2)
    events = list(answer(start(spec, store), store, load=StubModel(reader).load))
    assert isinstance(events[-1], Failed)
    assert "The encoder at 127.0.0.1 makes no vectors: it cannot be reached." in str(events[-1].error)


def test_a_run_of_a_file_without_its_passages_is_not_asked_again(
    store: Store, mkj: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would be looked for in documents of this machine that the file names."""
    run = start(spec_of(mkj, retrieval="sparse", limit=3), store)
    assert start_again(run, store)
    monkeypatch.setattr(store, "was_imported", lambda _: True)
    with pytest.raises(Mistake, match="came from a file, without the passages"):
        start_again(run, store)
