"""From a spec to answers on disk: events in order, nothing lost, nothing asked twice, and demonstrations by the rules."""

import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from recorded import complete_run
from small_facts import StubModel, make_fact_rows, make_facts, write_csv

from medfact.answers import Demonstration, read_answer
from medfact.datasets import Collection, select
from medfact.errors import Mistake, ModelError, UnknownName
from medfact.facts import KnowledgeBase
from medfact.models import Completion, Prompt
from medfact.runs.ask import BATCH
from medfact.runs.events import AnswersSaved, Failed, Finished, Started
from medfact.runs.plan import plan
from medfact.runs.run import answer, run
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.statements import IMPLICATIONS
from medfact.store import COMPLETE, FAILED_RUN, RUNNING, STOPPED, Plan, Store

KNOWN = {(row["head"], row["tail"]) for row in make_fact_rows()}


@pytest.fixture
def spec(facts_file: Path) -> RunSpec:
    """27 positive and 27 negative facts under test: 432 statements."""
    return RunSpec(model="baseline:negation-cue", facts=str(facts_file), shots=0)


INTERRUPTED_LOADING = """
import time
from medfact.runs import run_model

def load(tell):
    tell("loading")
    time.sleep(2)
    print("loaded", flush=True)

run_model.PATIENCE_S = {patience}
next(run_model.with_progress(load, "a model"))
raise KeyboardInterrupt
"""


@pytest.mark.parametrize(("patience", "said"), [(30.0, "loaded\n"), (0.1, "")])
def test_an_interrupted_process_waits_for_its_loading_model(patience: float, said: str) -> None:
    """A thread that Python ends amid native code aborts the process; but nobody waits for ever."""
    code = INTERRUPTED_LOADING.format(patience=patience)
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60)
    assert done.stdout == said
    assert "KeyboardInterrupt" in done.stderr


# ------------------------------------------------------------------------- events and answers


def test_a_run_tells_its_start_its_answers_and_its_end(spec: RunSpec, store: Store) -> None:
    started, *batches, finished = list(run(spec, store))
    assert isinstance(started, Started)
    assert isinstance(finished, Finished)
    assert (started.statements, started.answered) == (432, 0)
    assert [len(batch.answers) for batch in batches] == [128] * 3 + [48]  # 432 = 3 · 128 + 48
    assert (finished.run, finished.state, finished.failed) == (started.run, COMPLETE, 0)
    told = [given for batch in batches for given in batch.answers]
    assert told == [item.answer for item in store.answers.asked(started.run)]
    for item in store.answers.asked(started.run):
        assert item.answer.answer is not IMPLICATIONS[item.statement.variant].negated
        assert item.answer.raw == str(item.answer.answer)
        assert (item.answer.p_true, item.answer.failure) == (None, None)


def test_answers_are_on_disk_before_they_are_told(spec: RunSpec, store: Store) -> None:
    other = Store(store.url)
    told = 0
    for event in run(spec, store):
        if isinstance(event, Started):
            run_id = event.run
            assert other.run(run_id).state == RUNNING
        if isinstance(event, AnswersSaved):
            told += len(event.answers)
            on_disk = {item.answer for item in other.answers.asked(run_id) if item.answer is not None}
            assert set(event.answers) <= on_disk
            assert len(on_disk) == told


def test_what_was_loaded_is_recorded(spec: RunSpec, store: Store) -> None:
    run_id = start(spec, store)
    assert store.run(run_id).model_revision is None
    list(answer(run_id, store))
    record = store.run(run_id)
    assert (record.model_revision, record.chat, record.decoding) == ("1", False, {"seed": 0})
    assert record.versions["medfact"]
    assert record.finished_at is not None


def test_replies_are_read_and_kept_word_for_word(spec: RunSpec, store: Store) -> None:
    replies = ["True, it is.\n", "No", "I would rather not say.", ""]
    run_id = start(spec, store)
    list(answer(run_id, store, load=StubModel(lambda prompt: replies[len(prompt.statement) % 4]).load))
    given = [item.answer for item in store.answers.asked(run_id)]
    assert {a.raw for a in given} == set(replies)
    assert all(a.answer is read_answer(a.raw) for a in given)
    assert {a.answer for a in given} == {True, False, None}


def test_an_answers_key_depends_on_prompt_and_model(spec: RunSpec, store: Store) -> None:
    def keys(model: StubModel, given: RunSpec = spec) -> list[str]:
        run_id = start(given, store)
        list(answer(run_id, store, load=model.load))
        return [item.answer.key for item in store.answers.asked(run_id)]

    first = keys(StubModel())
    assert len(set(first)) == len(first)
    assert keys(StubModel(lambda prompt: "False")) == first
    assert set(keys(StubModel(spec="another"))).isdisjoint(first)
    assert set(keys(StubModel(chat=True))).isdisjoint(first)


# ------------------------------------------------------------------------- breaks, failures


def test_after_a_break_only_what_is_pending_is_asked(spec: RunSpec, either_url: str) -> None:
    store = Store(either_url)
    run_id = start(spec, store)
    model = StubModel()
    events = answer(run_id, store, load=model.load)
    next(events), next(events), next(events)  # the start and two batches; then its user goes away
    events.close()
    assert store.run(run_id).state == STOPPED
    first = [item.answer for item in store.answers.asked(run_id)][: 2 * BATCH]
    assert len(model.prompts) == 2 * BATCH

    later = StubModel(lambda prompt: "False")
    started, *_, finished = list(answer(run_id, Store(store.url), load=later.load))
    assert (started.answered, finished.state) == (2 * BATCH, COMPLETE)
    assert len(later.prompts) == 432 - 2 * BATCH
    assert {p.content for p in later.prompts}.isdisjoint(p.content for p in model.prompts)
    asked = store.answers.asked(run_id)
    assert len(asked) == 432
    assert [item.answer for item in asked][: 2 * BATCH] == first
    assert all(item.answer.answer is False for item in asked[2 * BATCH :])


def test_a_finished_run_is_left_as_it_is(spec: RunSpec, store: Store) -> None:
    run_id = complete_run(spec, store)
    before = store.run(run_id), store.answers.asked(run_id)
    model = StubModel()
    started, finished = list(answer(run_id, store, load=model.load))
    assert (started.answered, finished.state, model.prompts) == (432, COMPLETE, [])
    assert (store.run(run_id), store.answers.asked(run_id)) == before


def test_a_failed_call_is_no_answer_and_is_asked_again(spec: RunSpec, store: Store) -> None:
    def reply(prompt: Prompt) -> str | Completion:
        return Completion(None, failure="timed out") if "disease03" in prompt.statement else "True"

    run_id = start(spec, store)
    finished = list(answer(run_id, store, load=StubModel(reply).load))[-1]
    failed = [item for item in store.answers.asked(run_id) if "disease03" in item.statement.text]
    assert failed
    assert (finished.state, finished.failed) == (COMPLETE, len(failed))
    for item in failed:
        assert (item.answer.answer, item.answer.raw, item.answer.failure) == (None, None, "timed out")

    again = StubModel()
    started, *_, finished = list(answer(run_id, store, load=again.load))
    assert (started.answered, finished.failed) == (432 - len(failed), 0)
    assert len(again.prompts) == len(failed)
    assert all(item.answer.failure is None for item in store.answers.asked(run_id))


def test_a_run_that_is_stopped_says_so_and_goes_on_later(spec: RunSpec, store: Store) -> None:
    turns = iter([False, False, True])
    *_, finished = list(run(spec, store, stopped=lambda: next(turns)))
    assert finished.state == store.run(finished.run).state == STOPPED
    assert sum(item.answer is not None for item in store.answers.asked(finished.run)) == 2 * BATCH
    assert list(answer(finished.run, store))[-1].state == store.run(finished.run).state == COMPLETE


def test_a_runs_row_is_there_when_its_model_cannot_be_loaded(spec: RunSpec, store: Store) -> None:
    def load(spec: str, **placed: object) -> StubModel:
        raise ModelError("The folder has no weights.", "Choose another.")

    run_id = start(spec, store)
    started, failed = list(answer(run_id, store, load=load))
    assert isinstance(failed, Failed)
    assert str(failed.error) == "The folder has no weights. Choose another."
    assert (store.run(run_id).state, store.run(run_id).reason) == (FAILED_RUN, str(failed.error))
    assert started.answered == 0
    assert list(answer(run_id, store))[-1].state == store.run(run_id).state == COMPLETE
    assert store.run(run_id).reason is None


def test_what_was_answered_is_kept_when_a_model_breaks(spec: RunSpec, store: Store) -> None:
    model = StubModel()

    def reply(prompt: Prompt) -> str:
        if len(model.prompts) > BATCH:
            raise ModelError("The model is gone.")
        return "True"

    model.reply = reply
    run_id = start(spec, store)
    *_, batch, failed = list(answer(run_id, store, load=model.load))
    assert isinstance(failed, Failed)
    assert len(batch.answers) == sum(item.answer is not None for item in store.answers.asked(run_id)) == BATCH


def test_baselines_of_one_seed_say_the_same_and_of_another_do_not(spec: RunSpec, store: Store) -> None:
    def answers(seed: int) -> list[bool | None]:
        made = list(run(RunSpec(model="baseline:random", facts=spec.facts, shots=0, seed=seed), store))
        return [given.answer for event in made if isinstance(event, AnswersSaved) for given in event.answers]

    assert answers(0) == answers(0) != answers(1)
    assert 0.4 < Counter(answers(0))[True] / 432 < 0.6  # 0.5 ± 4 standard errors of 0.024


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"negatives": -1}, Mistake, "negatives is -1"),
        ({"shots": -1}, Mistake, "shots is -1"),
        ({"limit": 0}, Mistake, "limit is 0"),
        ({"protocol": "medfacts"}, UnknownName, "no protocol 'medfacts'"),
        ({"pool": "medfacts"}, UnknownName, "no pool 'medfacts'"),
        ({"retrieval": "telepathy"}, UnknownName, "no retrieval 'telepathy'"),
    ],
)
def test_mistakes_are_told_before_anything_is_recorded(
    change: dict[str, object], error: type[Exception], words: str, spec: RunSpec, store: Store
) -> None:
    with pytest.raises(error, match=words):
        start(RunSpec.from_record({**spec.to_record(), **change}), store)
    assert store.runs() == []


def test_facts_without_prototypes_are_a_mistake(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "facts.csv", [{"head": "gout", "relation": "is worsened by", "tail": "urate"}])
    with pytest.raises(
        Mistake,
        match=r"No fact of facts\.csv can be asked yet\. We have no sentences for “is worsened by” yet.*"
        r"relation:is worsened by==",
    ):
        plan(RunSpec(model="", facts=str(path)))


def test_facts_without_a_safe_partner_are_a_mistake_that_names_the_cause_alone(tmp_path: Path) -> None:
    path = str(write_csv(tmp_path / "one.csv", [{"head": "marsh frog disease", "relation": "symptoms", "tail": "pain"}]))
    with pytest.raises(Mistake) as refused:
        plan(RunSpec(model="", facts=path, limit=3, shots=0))
    assert str(refused.value) == (
        "No fact of one.csv can be asked yet. 1 fact has no safe false partner: too few other tails of "
        "the same type are left. Add facts about other conditions with the same relation, or ask for no false partners "
        "(--negatives 0)."
    )
    assert len(plan(RunSpec(model="", facts=path, limit=3, shots=0, negatives=0)).statements) == 8


def test_where_shots_come_from_is_said_only_where_they_are_shown(tmp_path: Path) -> None:
    path = str(write_csv(tmp_path / "one.csv", [{"head": "gout", "relation": "symptoms", "tail": "pain"}]))
    note = "'symptoms' has too few heads to keep 5 aside: its shots come from the bundled facts."
    assert note in plan(RunSpec(model="", facts=path)).notes
    assert note not in plan(RunSpec(model="", facts=path, shots=0)).notes


# ------------------------------------------------------------------------- demonstrations


def planned(facts_file: Path, **options: object) -> Plan:
    return plan(RunSpec(model="", facts=str(facts_file), **options))


GROUPS = [f"{relation} / {variant}" for relation in ("symptoms", "therapeutic drugs") for variant in IMPLICATIONS]


def heads_in(demonstrations: tuple[Demonstration, ...]) -> list[str]:
    return [head for shot in demonstrations for head in re.findall(r"disease\d\d", shot.text.lower())]


@pytest.mark.parametrize("seed", range(3))
def test_five_shots_have_both_labels_three_to_two(seed: int, facts_file: Path) -> None:
    demonstrations = planned(facts_file, seed=seed).demonstrations
    assert sorted(demonstrations) == sorted(GROUPS)
    majorities: defaultdict[str, list[bool]] = defaultdict(list)
    for group, shots in demonstrations.items():
        count = sum(shot.label for shot in shots)
        assert len(shots) == 5
        assert count in {2, 3}
        relation, variant = group.split(" / ")
        majorities[relation].append(count == 3)
        majorities[f"{relation}, {'denied' if IMPLICATIONS[variant].negated else 'affirmed'}"].append(count == 3)
    for relation in ("symptoms", "therapeutic drugs"):
        assert majorities[relation].count(True) == 4  # of eight variants
        assert majorities[f"{relation}, affirmed"].count(True) == 2  # a majority tells nothing about the polarity
        assert majorities[f"{relation}, denied"].count(True) == 2


def test_the_majority_tells_nothing_about_the_form(facts_file: Path) -> None:
    demonstrations = planned(facts_file).demonstrations
    for form in ("none", "inv", "ins", "inv+ins"):
        denied = "dn" if form == "none" else f"{form}+dn"
        majorities = {sum(s.label for s in demonstrations[f"symptoms / {variant}"]) for variant in (form, denied)}
        assert majorities == {2, 3}


@pytest.mark.parametrize("shots", [1, 2, 5, 8])
def test_labels_of_demonstrations_are_right(shots: int, facts_file: Path) -> None:
    demonstrations = planned(facts_file, shots=shots).demonstrations
    for group, given in demonstrations.items():
        assert len(given) == shots
        for shot in given:
            (head,) = re.findall(r"disease\d\d", shot.text.lower())
            (tail,) = re.findall(r"(?:sign|drug)\d\d", shot.text.lower())
            assert shot.label is (((head, tail) in KNOWN) != IMPLICATIONS[group.split(" / ")[1]].negated)
        assert len({shot.text for shot in given}) == shots


@pytest.mark.parametrize("seed", range(5))
def test_no_demonstration_has_a_head_under_test(seed: int, facts_file: Path) -> None:
    made = planned(facts_file, seed=seed)
    tested: defaultdict[str, set[str]] = defaultdict(set)
    for planned_one in made.statements:
        tested[planned_one.shots_of].add(planned_one.statement.fact.head)
    for group, shots in made.demonstrations.items():
        heads = heads_in(shots)
        assert len(set(heads)) == 5, "each shot has a head of its own"
        assert tested[group].isdisjoint(heads)


def test_all_statements_of_a_group_have_one_prefix(spec: RunSpec, store: Store) -> None:
    run_id = start(RunSpec.from_record({**spec.to_record(), "shots": 5}), store)
    model = StubModel()
    list(answer(run_id, store, load=model.load))
    prefixes: defaultdict[str, set[str]] = defaultdict(set)
    for item, prompt in zip(store.answers.asked(run_id), model.prompts, strict=True):
        prefix, _, last = prompt.content.rpartition("\n")
        assert last.startswith(item.statement.text.removesuffix("."))
        assert prefix.count("\n") == 4
        prefixes[f"{item.statement.fact.relation} / {item.statement.variant}"].add(prefix)
    assert sorted(prefixes) == sorted(GROUPS)
    assert {len(of_group) for of_group in prefixes.values()} == {1}
    assert len(set.union(*prefixes.values())) == 16


def test_a_chat_model_gets_messages(spec: RunSpec, store: Store) -> None:
    run_id = start(RunSpec.from_record({**spec.to_record(), "shots": 5, "limit": 1}), store)
    model = StubModel(chat=True)
    list(answer(run_id, store, load=model.load))
    assert len(model.prompts) == 16
    for prompt in model.prompts:
        assert [message["role"] for message in prompt.content] == ["user", "assistant"] * 5 + ["user"]
    assert store.run(run_id).chat is True


def test_shots_do_not_change_which_facts_are_tested(facts_file: Path) -> None:
    none, five = planned(facts_file, shots=0), planned(facts_file, shots=5)
    assert none.statements == five.statements == planned(facts_file, shots=5, shot_seed=9).statements
    assert (none.demonstrations, none.shots, five.shots) == ({}, 0, 5)


def test_the_shot_seed_is_the_seed_unless_it_is_given(facts_file: Path) -> None:
    usual = planned(facts_file).demonstrations
    assert planned(facts_file, shot_seed=0).demonstrations == usual
    assert planned(facts_file, shot_seed=1).demonstrations != usual
    assert planned(facts_file, limit=3).demonstrations == usual  # fixed, whatever is tested


def test_the_protocol_decides_on_shots_and_negatives_unless_they_are_given(facts_file: Path) -> None:
    made = planned(facts_file, limit=2)
    assert made.shots == 5
    assert len(made.statements) == 2 * 2 * 8
    assert len(planned(facts_file, limit=2, negatives=3).statements) == 2 * 4 * 8
    assert {one.statement.pool for one in made.statements} == {"medfact"}
    disek = planned(facts_file, limit=2, pool="pretexttrans-disek").statements
    assert {one.statement.pool for one in disek} == {"pretexttrans-disek"}


def test_selection_and_plan_agree(facts_file: Path, store: Store) -> None:
    facts = make_facts(make_fact_rows())
    given = Collection("small", facts, KnowledgeBase(facts))
    chosen = select(given, negatives=1, held_out_heads=5, seed=0, limit=7)
    made = planned(facts_file, limit=7)
    order = list(dict.fromkeys(one.statement.fact.fact_id for one in made.statements))
    assert order == [fact.fact_id for fact in chosen.test]


def test_what_the_data_says_backwards_too_is_no_demonstration(tmp_path: Path) -> None:
    """24 pairs of illnesses stand in both directions, one of them under another spelling of the relation: as a true shot, one
    would give the other's label away. What stands one way alone, an illness and its ailment, is left for the true shots.
    """
    relation = "disease may have associated disease"
    rows = [
        {"head": head, "relation": spelling, "tail": tail}
        for n in range(24)
        for head, spelling, tail in (
            (f"illness{n:02}", relation, f"illness{(n + 1) % 24:02}"),
            (f"illness{(n + 1) % 24:02}", relation.replace(" ", "_"), f"illness{n:02}"),
            (f"illness{n:02}", relation, f"ailment{n:02}"),
        )
    ]
    made = planned(write_csv(tmp_path / "facts.csv", rows))
    plain = [shot for group, shots in made.demonstrations.items() if group.endswith("/ none") for shot in shots]
    true = [re.findall(r"(illness|ailment)\d\d", shot.text.lower()) for shot in plain if shot.label]
    assert true
    assert all(set(pair) == {"illness", "ailment"} for pair in true)
