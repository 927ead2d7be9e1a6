"""The methods paragraph and what it cites: from the run's own record, each key once, and text that stays text."""

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recorded import complete_run
from small_facts import StubModel, make_fact_rows, write_csv

from medfact.answers import Demonstration
from medfact.results.methods import bibtex, cited, entries, latex_citations, methods_paragraph, plain_citations
from medfact.results.report import report_of
from medfact.runs.demonstrations import shot_notes
from medfact.runs.events import AnswersSaved
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Run, Store


def asked(store: Store, **fields: Any) -> Run:
    run = complete_run(
        RunSpec(**{"model": "answerer", "limit": 12, "shots": 0, **fields}), store, load=StubModel(lambda prompt: "True").load
    )
    return store.run(run)


def test_the_paragraph_says_what_the_record_says(store: Store) -> None:
    run = asked(store, seed=7, shots=3)
    text = methods_paragraph([run], [report_of(store, run)])
    assert "The facts were 12 true facts, drawn from 2,453 with seed 7, of clinical-core [@clinical-core-" in text
    assert "each with 1 false partner of the same relation and semantic type" in text
    assert "Demonstrations: 3 before each statement" in text
    assert "Answered: 192 of 192 statements, 0 unreadable, which count as wrong, 0 failed, which do not count." in text
    assert "revision 7" in text
    assert "sign-flip" not in text, "one run is compared with nothing"


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({}, "zhou2024pretexttrans"),
        ({"protocol": "tpeval", "limit": 5}, "tpeval"),
        ({"protocol": "mkj", "limit": 5}, "li2025fact"),
    ],
)
def test_each_method_cites_its_paper(store: Store, fields: dict[str, Any], key: str) -> None:
    run = asked(store, **fields)
    text = methods_paragraph([run], [report_of(store, run)])
    assert key in cited(text)
    made = bibtex(text, [run])
    keys = re.findall(r"^@\w+\{([^,]+),", made, re.M)
    assert len(keys) == len(set(keys))
    assert set(keys) == set(cited(text))
    assert made.count("{") == made.count("}")
    assert run.dataset_fingerprint in made


def test_a_file_with_a_brace_in_its_name_breaks_no_entry(tmp_path: Path, store: Store) -> None:
    file = write_csv(tmp_path / "my}facts_.csv", make_fact_rows())
    made = bibtex(methods_paragraph([run := asked(store, facts=str(file))], [report_of(store, run)]), [run])
    assert made.count("{") == made.count("}")
    assert r"my\textbraceright{}facts\_.csv" in made


def test_citations_in_words_and_in_latex() -> None:
    text = "Wilson's [@wilson1927] at 5% [@kumar2019, @blasiok2023] & more"
    assert plain_citations(text, []) == "Wilson's (Wilson, 1927) at 5% (Kumar et al., 2019; Błasiok and Nakkiran, 2023) & more"
    assert latex_citations(text) == r"Wilson's \cite{wilson1927} at 5\% \cite{kumar2019,blasiok2023} \& more"


def test_names_of_others_are_neither_citations_nor_latex(store: Store, tmp_path: Path, medfact: Callable[..., Any]) -> None:
    file = write_csv(tmp_path / r"50%_of [@nobody] {x}.csv", make_fact_rows())
    run = asked(store, facts=str(file), model=r"\input{secret} [@nobody]")
    text = methods_paragraph([run], [report_of(store, run)])
    assert "nobody" not in cited(text)
    told = medfact("report", run.run, "--latex", "--db", store.url)
    assert told.code == 0
    methods = told.out[told.out.index(r"\paragraph{Methods.}") :]
    assert r"\textbackslash{}input\{secret\}" in methods
    assert r"\input{" not in methods
    assert r"50\%\_of" in methods
    assert methods.count(r"\begin{filecontents*}") == methods.count(r"\end{filecontents*}") == 1


def test_demonstrations_of_ones_own_are_said_to_be_so(store: Store) -> None:
    run = asked(store, shots=3)
    own = replace(run, spec=replace(run.spec, demonstrations="mine.csv"))
    text = methods_paragraph([own], [report_of(store, own)])
    assert "Demonstrations: 3 before each statement, from a file of our own." in text
    assert "not tested" not in text


def test_false_partners_are_counted_not_read_from_the_setting(store: Store, tmp_path: Path) -> None:
    """Nine symptoms can be swapped; of the three facts with one drug none can, as there is no other drug."""
    rows = [{"head": f"d{n}", "relation": "symptoms", "tail": f"sign {n}"} for n in range(9)]
    rows += [{"head": f"d{n}", "relation": "therapeutic drugs", "tail": "water"} for n in range(9, 12)]
    file = str(write_csv(tmp_path / "facts.csv", rows))

    def said(**fields: Any) -> str:
        run = asked(store, facts=file, limit=None, **fields)
        return methods_paragraph([run], [report_of(store, run)])

    assert ", 9 of them with 1 false partner of the same relation and semantic type. Method" in said()
    assert ", each with at most 3 false partners of the same relation and semantic type. Method" in said(negatives=3)
    without = said(negatives=0)
    assert ", without false partners. Method" in without
    assert "the share of facts with all answers right." in without
    assert "true and false ones" not in without


def test_partners_of_a_run_that_was_stopped_are_at_most_so_many(store: Store) -> None:
    run = start(RunSpec(model="answerer", limit=200, shots=0), store)
    with closing(answer(run, store, load=StubModel(lambda prompt: "True").load)) as events:
        next(event for event in events if isinstance(event, AnswersSaved))
    text = methods_paragraph([store.run(run)], [report_of(store, store.run(run))])
    assert "each with at most 1 false partner of the same relation and semantic type" in text


@pytest.mark.parametrize(("shown", "said"), [((3, 2), "at most 3"), ((3, 3), "3")])
def test_fewer_demonstrations_in_some_groups_are_said(store: Store, shown: tuple[int, int], said: str) -> None:
    """Five were wanted. Three in each group is three; three in one group and two in another is at most three."""
    groups = {str(n): [Demonstration("a sentence", True)] * many for n, many in enumerate(shown)}
    run = replace(asked(store, shots=3), notes=list(shot_notes(groups, 5)))
    assert f"Demonstrations: {said} before each statement" in methods_paragraph([run], [report_of(store, run)])


def test_two_runs_say_what_differs(store: Store) -> None:
    runs = [asked(store, shots=0), asked(store, shots=3, model="another")]
    text = methods_paragraph(runs, [report_of(store, run) for run in runs])
    assert "Demonstrations: answerer: none; another: 3 before each statement" in text
    assert "for all pairs of runs together" in text
    assert "race" not in text, "they did not race"


def test_two_runs_of_a_model_have_names_of_their_own(store: Store) -> None:
    runs = [asked(store, shots=0), asked(store, shots=3)]
    text = methods_paragraph(runs, [report_of(store, run) for run in runs])
    assert "We asked answerer (revision 7) with" in text
    assert "Demonstrations: answerer: none; answerer, 3 worked examples: 3 before each statement" in text
    named = [replace(runs[0], name="first try"), runs[1]]
    text = methods_paragraph(named, [report_of(store, run) for run in runs])
    assert "Demonstrations: answerer (first try): none; answerer: 3 before each statement" in text, "its model is named, too"


def test_entries_have_what_bibtex_needs() -> None:
    assert len(entries()) == 13
    for key, entry in entries().items():
        fields = dict(re.findall(r"^  (\w+) = {(.*)},?$", entry, re.M))
        assert fields["author"]
        assert fields["title"]
        assert fields.get("year") or key == "tpeval"
        assert entry.startswith(f"@misc{{{key},\n")
        assert entry.count("{") == entry.count("}")
