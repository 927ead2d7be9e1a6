"""The three papers' methods on files as they are published: runs, the exact text of prompts, demonstrations, accuracies."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from small_facts import write_csv
from small_papers import (
    ASPECTS,
    FIGURE_8,
    HEADS,
    HELD_OUT_HEADS,
    KNOWN_FACTS,
    Medfact,
    Row,
    command_rows,
    error_line,
    fill_sentence,
    make_disek_rows,
    make_mkj_entry,
    make_question,
    make_shot,
    make_triplets,
    note_lines,
    parse_shots,
    report_run,
    run_baseline,
    write_json,
    write_medlama,
)

from medfact.prototypes import load_pool
from medfact.statements import IMPLICATIONS, TRUTH_PRESERVING, VARIANTS


@pytest.fixture
def medlama(tmp_path: Path) -> Path:
    return write_medlama(tmp_path / "medlama" / "2021AA")


@pytest.fixture
def disek(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "disek.csv", make_disek_rows())


@pytest.fixture
def mkj(tmp_path: Path) -> Path:
    """100 facts, 400 statements."""
    return write_json(tmp_path / "mkj" / "data.json", [make_mkj_entry(i) for i in range(100)]).parent


@pytest.fixture
def data(medlama: Path, disek: Path, mkj: Path) -> dict[str, Path]:
    return {"medlama": medlama, "disek": disek, "mkj": mkj}


# ------------------------------------------------------------------------- runs

PAPERS_DATA = [
    # protocol, data, pool, shots, statements: relations × facts under test × negatives and itself × variants
    ("pretexttrans", "medlama", "pretexttrans-medlama", 5, 17 * (HEADS - HELD_OUT_HEADS) * 2 * 8),
    ("pretexttrans", "disek", "pretexttrans-disek", 5, 4 * (HEADS - HELD_OUT_HEADS) * 2 * 8),
    ("tpeval", "disek", "tpeval", 5, 4 * (HEADS - HELD_OUT_HEADS) * 2 * 8),
    ("mkj", "mkj", "mkj", 0, 100 * 4),
]


@pytest.mark.parametrize(("protocol", "name", "pool", "shots", "statements"), PAPERS_DATA)
def test_a_papers_method_runs_on_its_own_data(
    protocol: str, name: str, pool: str, shots: int, statements: int, data: dict[str, Path], medfact: Medfact
) -> None:
    row = run_baseline(medfact, protocol, data[name])
    assert (row["state"], row["protocol"], row["pool"], row["shots"]) == ("complete", protocol, pool, shots)
    assert (row["statements"], row["answered"]) == (statements, statements)
    report = report_run(medfact, row["run"])
    assert (report["unreadable"], report["failed"]) == (0, 0)
    average = report["average_accuracy"]
    assert average["n"] == statements
    assert average["low"] <= average["value"] <= average["high"]
    assert report["macro_accuracy"]["value"] is not None


@pytest.mark.parametrize(
    ("protocol", "name", "more", "method", "question"),
    [
        ("pretexttrans", "medlama", (), "PretextTrans −LMReph", "paper"),
        ("pretexttrans", "disek", ("--question", "code"), "PretextTrans −LMReph", "code"),
        ("pretexttrans", "disek", ("--shots", "0"), "PretextTrans −LMReph", "paper"),
        ("pretexttrans", "disek", ("--pool", "origin"), "PretextTrans, Origin", "paper"),
        ("tpeval", "disek", (), "TPEval", "paper"),
        ("tpeval", "disek", ("--shots", "0"), "TPEval", "paper"),
        ("medfact", "disek", (), "medfact", "paper"),
        ("mkj", "mkj", (), "MKJ", "mkj"),
        ("mkj", "mkj", ("--question", "paper"), "MKJ", "paper"),
    ],
)
def test_a_report_names_its_method_and_its_rephraser(
    protocol: str, name: str, more: tuple[str, ...], method: str, question: str, data: dict[str, Path], medfact: Medfact
) -> None:
    row = run_baseline(medfact, protocol, data[name], "--limit", 4, *more)
    report = report_run(medfact, row["run"])
    assert (report["protocol"], report["method"], report["rephraser"]) == (protocol, method, None)
    assert report["question"] == question
    assert report["retrieval"] == "none"


@pytest.mark.parametrize("protocol", ["pretexttrans", "tpeval"])
def test_one_fact_is_tested_of_each_relation_and_disease(protocol: str, disek: Path, medfact: Medfact) -> None:
    """Both papers draw one of the tails that are known of a disease in a relation; which one depends on the seed."""
    drawn = []
    for seed in (0, 1):
        rows = command_rows(medfact("facts", "--protocol", protocol, "--facts", disek, "--seed", seed))
        tested = [(row["head"], row["relation"], row["tail"]) for row in rows if row["positive"] and row["role"] == "test"]
        assert len({(head, relation) for head, relation, _ in tested}) == len(tested) == 4 * (HEADS - HELD_OUT_HEADS)
        drawn.append(set(tested))
    known = Counter((head, relation) for head, relation, _ in KNOWN_FACTS)
    assert max(known.values()) > 1
    assert drawn[0] != drawn[1]


# ------------------------------------------------------------------------- the papers' exact text

TABLES_10_AND_11 = {
    "disease_has_abnormal_cell": (
        "[X] has the abnormal cell [Y] .",
        "The abnormal cell type [Y] is detected within [X].",
        "If a patient suffers from [X], then he/she has the abnormal cell [Y].",
        "If a patient has the abnormal cell [Y], then he/she may suffer from [X].",
        "[X] does not has the abnormal cell [Y].",
        "The abnormal cell type [Y] is not detected within [X].",
        "A patient that suffers from [X] does not have the abnormal cell [Y].",
        "A patient that has the abnormal cell [Y] does not suffer from [X].",
    ),
    "gene_encodes_gene_product": (
        "The gene [X] encodes gene product [Y] .",
        "The gene product [Y] is encoded by the gene [X].",
        "If the expression level of [X] decreases, it may lead to a reduction in the production or activity of [Y].",
        "If the production or activity of [Y] decreases, it may caused by the reduction in the expression level of [X].",
        "The gene [X] does not encode gene product [Y] .",
        "The gene product [Y] is not encoded by the gene [X]",
        "A decrease in the expression level of [X] does not affect the production and activity of [Y].",
        "A decrease in the production or activity of [Y] is not caused by the reduction in the expression level of [X].",
    ),
    "may_treat": (
        "[X] might treat [Y] .",
        "[Y] may be treated by [X]",
        "If a patient takes [X], he/she can treat [Y].",
        "If a patient suffers from [Y], he/she should take [X].",
        "[X] is not able to treat [Y] .",
        "[Y] cannot be treated by [X]",
        "Taking [X] have no effect on treating [Y].",
        "A patient that suffers from [Y] has no need to take [X].",
    ),
    "occurs_after": (
        "[X] occurs after [Y] .",
        "[Y] may occur before [X].",
        "If a patient occurs [X], he/she may occur [Y] before.",
        "If a patient occurs [Y], he/she may occur [X] afterwards.",
        "[X] does not occur after [Y] .",
        "[Y] cannot occur before [X].",
        "A patient occurs [X] will not occur [Y] before.",
        "A patient occurs [Y] will not occur [X] afterwards.",
    ),
}
"""PretextTrans, Tables 10 and 11, four of the 17 relations; the last sentence of all with its slots put right."""

TABLE_12 = {
    "symptoms": (
        "[Y] is a common symptom of [X].",
        "Common symptoms of [X] include [Y].",
        "If a patient has [X], they are very likely to have symptoms of [Y].",
        "If a patient has symptoms of [Y], they are very likely to have [X].",
        "[Y] is not a common symptom of [X].",
        "Common symptoms of [X] do not include [Y].",
        "Patients with [X] are unlikely to have symptoms of [Y].",
        "Patients with symptoms of [Y] are unlikely to have [X].",
    ),
    "therapeutic drugs": (
        "[Y] is a common medication for [X].",
        "Common medications for treating [X] include [Y].",
        "If a patient has [X], [Y] can be used to treat their condition.",
        "If [Y] can be used to treat a patient’s condition, they may have [X].",
        "[Y] is not a common medication for [X].",
        "Common medications for treating [X] do not include [Y].",
        "Patients with [X] do not commonly use [Y] for treatment.",
        "Patients who can be treated with [Y] are unlikely to have [X].",
    ),
}
"""PretextTrans, Table 12, two of its four relations."""

TPEVAL_TABLE_4 = {
    "symptoms": (
        "[Y] is a common symptom of [X].",
        "The common symptoms of [X] include [Y].",
        "If a patient only suffers from [X], then he/she is likely to have symptoms of [Y].",
        "If a patient does not have the symptoms of [Y], then it is unlikely that he/she only suffer from [X].",
        "[Y] is not a common symptom of [X].",
        "The common symptoms of [X] do not include [Y].",
        "If a patient only suffers from [X], then he/she is unlikely to have the symptoms of [Y].",
        "If a patient have the symptoms of [Y], then it is unlikely that he/she only suffer from [X].",
    ),
    "affected sites": (
        "[Y] is the affected site of [X].",
        "The affected sites of [X] include [Y].",
        "If a patient only suffers from [X], then he/she may have lesions in [Y].",
        "If a patient does not have lesions in [Y], then it is unlikely that he/she only suffers from [X].",
        "[Y] is not the affected site of [X].",
        "The affected sites of [X] do not include [Y].",
        "If a patient only suffers from [X], then he/she is unlikely to have lessions in [Y].",
        "If a patient have lesions in [Y], then it is unlikely that he/she only suffers from [X].",
    ),
    "therapeutic drugs": (
        "[Y] is a common therapeutic drug for [X].",
        "The common therapeutic drugs used to treat [X] include [Y].",
        "If a patient only suffers from [X], then [Y] can be used to treat his/her condition.",
        "If [Y] cannot be used to treat a patient's condition, then it is unlikely that he/she only suffers from [X].",
        "[Y] is not a common therapeutic drug for [X].",
        "The common therapeutic drugs used to treat [X] do not include [Y].",
        "If a patient only suffers from [X], then it is unlikely that [Y] can be used to treat his/her condition.",
        "If [Y] can be used to treat a patient's condition, then it is unlikely that he/she only suffers from [X].",
    ),
    "surgical procedures": (
        "[Y] is a common surgical procedure for [X].",
        "The common surgical procedures used to treat [X] include [Y].",
        "If a patient only suffers from [X], then [Y] can be used to treat his/her condition.",
        "If [Y] cannot be used to treat a patient's condition, then it is unlikely that he/she only suffers from [X].",
        "[Y] is not a common surgical procedure for [X].",
        "The common surgical procedures used to treat [X] do not include [Y].",
        "If a patient only suffers from [X], then it is unlikely that [Y] can be used to treat his/her condition.",
        "If [Y] can be used to treat a patient's condition, then it is unlikely that he/she only suffers from [X].",
    ),
}
"""TPEval, Table 4, with its A as [Y] and its B as [X]; A' is taken for A."""

PRINTED = [
    ("pretexttrans", "medlama", TABLES_10_AND_11, tuple(IMPLICATIONS)),
    ("pretexttrans", "disek", TABLE_12, tuple(IMPLICATIONS)),
    ("tpeval", "disek", TPEVAL_TABLE_4, tuple(TRUTH_PRESERVING)),
]


@pytest.mark.parametrize("question", ["paper", "code"])
@pytest.mark.parametrize(("protocol", "name", "printed", "variants"), PRINTED)
def test_prompts_are_the_papers_letter_by_letter(
    question: str,
    protocol: str,
    name: str,
    printed: Mapping[str, Sequence[str]],
    variants: Sequence[str],
    data: dict[str, Path],
    medfact: Medfact,
) -> None:
    rows = command_rows(medfact("prompts", "--protocol", protocol, "--facts", data[name], "--question", question))
    seen = Counter()
    for row in rows:
        if row["relation"] not in printed:
            continue
        seen[row["relation"], row["variant"]] += 1
        sentence = printed[row["relation"]][variants.index(row["variant"])]
        assert row["statement"] == fill_sentence(sentence, row["head"], row["tail"])
        for text, _ in parse_shots(row["prompt"], row["statement"], question):
            assert any(same(text, fill_sentence(sentence, head, tail)) for head, tail in pairs_of(row["relation"]))
    assert set(seen) == {(relation, variant) for relation in printed for variant in variants}
    assert min(seen.values()) >= 2 * (HEADS - HELD_OUT_HEADS)


def same(shown: str, statement: str) -> bool:
    """Whether a demonstration shows this statement; the paper's question takes its full stop away."""
    return shown in {statement, statement.removesuffix(".").rstrip()}


def pairs_of(relation: str) -> Iterator[tuple[str, str]]:
    """Every head of a relation with every tail of it: its true and its false facts."""
    pairs = [(head, tail) for head, r, tail in KNOWN_FACTS if r == relation]
    return ((head, tail) for head in {head for head, _ in pairs} for tail in {tail for _, tail in pairs})


def test_mkjs_prompts_are_its_figure_8_letter_by_letter(mkj: Path, medfact: Medfact) -> None:
    rows = command_rows(medfact("prompts", "--protocol", "mkj", "--facts", mkj))
    published = [make_mkj_entry(i) for i in range(100)]
    expected = {(entry["pos_qa"]["statement"], True) for entry in published}
    expected |= {(text, False) for entry in published for text in entry["neg_qa"]["statement"]}
    assert {(row["statement"], row["label"]) for row in rows} == expected
    assert len(rows) == 400
    for row in rows:
        assert row["prompt"] == FIGURE_8.format(row["statement"])


# ------------------------------------------------------------------------- demonstrations


class Group:
    """What is asked of one (relation, variant): the statements' facts, and the demonstrations that all of them share."""

    def __init__(self, rows: Sequence[Row], question: str, pool: str) -> None:
        self.relation, self.variant = rows[0]["relation"], rows[0]["variant"]
        self.tested = {(row["head"], row["tail"]) for row in rows}
        self.prefixes = {row["prompt"].removesuffix(make_question(row["statement"], question)) for row in rows}
        self.shots = parse_shots(rows[0]["prompt"], rows[0]["statement"], question)
        made = load_pool(pool)
        self.sentence = made.relations[str(made.canonical(self.relation))].sentences[self.variant]

    def facts(self) -> Iterator[tuple[str, str, bool]]:
        """Head, tail and label of each demonstration."""
        for text, label in self.shots:
            ((head, tail),) = (pair for pair in pairs_of(self.relation) if same(text, fill_sentence(self.sentence, *pair)))
            yield head, tail, label


def groups(rows: Iterable[Row], question: str, pool: str) -> list[Group]:
    found: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        found[row["relation"], row["variant"]].append(row)
    return [Group(members, question, pool) for members in found.values()]


@pytest.mark.parametrize(("protocol", "name", "pool"), [case[:3] for case in PAPERS_DATA[:3]])
@pytest.mark.parametrize(("question", "more"), [("paper", ("--shot-seed", "7")), ("code", ("--seed", "3"))])
def test_demonstrations_are_five_of_other_facts_and_fixed_for_their_group(
    question: str, protocol: str, name: str, pool: str, more: tuple[str, ...], data: dict[str, Path], medfact: Medfact
) -> None:
    arguments = ("--protocol", protocol, "--facts", data[name], "--question", question, *more)
    found = groups(command_rows(medfact("prompts", *arguments)), question, pool)
    variants = load_pool(pool).forms
    majorities: defaultdict[str, list[bool]] = defaultdict(list)
    for group in found:
        assert len(group.prefixes) == 1
        facts = list(group.facts())
        assert len(facts) == 5
        assert len({head for head, _, _ in facts}) == 5, "five other heads"
        assert {head for head, _, _ in facts}.isdisjoint(head for head, _ in group.tested)
        assert {label for _, _, label in facts} == {True, False}
        for head, tail, label in facts:
            assert label is (((head, group.relation, tail) in KNOWN_FACTS) != VARIANTS[group.variant].negated)
        majorities[group.relation].append(sum(label for _, _, label in facts) > 2)
    assert {(group.relation, group.variant) for group in found} == {(r, v) for r in majorities for v in variants}
    assert {tuple(sorted(of)) for of in majorities.values()} == {(False,) * 4 + (True,) * 4}


@pytest.mark.parametrize(
    ("protocol", "name", "shots"), [("mkj", "mkj", 5), ("pretexttrans", "disek", 40)], ids=["none aside", "too few aside"]
)
def test_a_run_with_fewer_demonstrations_than_asked_for_says_so(
    protocol: str, name: str, shots: int, data: dict[str, Path], medfact: Medfact
) -> None:
    """A relation with too few heads takes fewer, and says so; a run does not pass for one of more shots."""
    arguments = ("prompts", "--protocol", protocol, "--facts", data[name], "--limit", 4, "--shots", shots)
    outcome = medfact(*arguments)
    if outcome.code == 2:
        assert "shots" in error_line(outcome)
        return
    most = max(row["prompt"].count("True\n") + row["prompt"].count("False\n") for row in command_rows(outcome))
    assert most >= shots or any("shots" in note for note in note_lines(outcome))


# ------------------------------------------------------------------------- MKJ's accuracies


def test_negatives_of_plain_triplets_are_three_of_the_same_semantic_type(tmp_path: Path, medfact: Medfact) -> None:
    made = make_triplets("may treat")
    write_json(tmp_path / "triplets_collection.json", made)
    objects = [entry["triplet"]["object"] for entry in made]
    types = {"Disease or Syndrome": objects[:7], "Finding": objects[7:]}
    write_json(tmp_path / "semantic_to_entity.json", types)
    rows = command_rows(medfact("statements", "--protocol", "mkj", "--facts", tmp_path))
    type_of = {name: kind for kind, names in types.items() for name in names}
    by_head: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_head[row["head"]].append(row)
    assert len(by_head) == HEADS
    for members in by_head.values():
        assert [row["label"] for row in members] == [True, False, False, False]
        assert len({row["tail"] for row in members}) == 4
        assert len({type_of[row["tail"]] for row in members}) == 1


@pytest.mark.parametrize("negatives", [1, 5])
def test_mkjs_false_statements_do_not_vanish_where_another_number_is_asked_for(
    negatives: int, mkj: Path, medfact: Medfact
) -> None:
    """More than the data's three cannot be had; then they stay, or a line says what became of them."""
    outcome = medfact("statements", "--protocol", "mkj", "--facts", mkj, "--limit", 10, "--negatives", negatives)
    if outcome.code == 2:
        error_line(outcome)
        return
    false = [row for row in command_rows(outcome) if not row["label"]]
    said = [note for note in note_lines(outcome) if "UMLS licence" not in note]
    assert len(false) == 10 * negatives or said


# ------------------------------------------------------------------------- demonstrations and questions of one's own

SHOTS = [
    {"relation": aspect, "variant": variant, "statement": f"Shot {i} of {aspect}, {variant}; exactly so.", "label": label}
    for aspect in ASPECTS
    for variant in IMPLICATIONS
    for i, label in enumerate(["True", "false", "TRUE"])
]


def demonstrated(medfact: Medfact, facts: Path, folder: Path, shots: Sequence[Mapping[str, object]], *more: object) -> Any:
    path = write_csv(folder / "shots.csv", shots)
    return medfact("prompts", "--protocol", "pretexttrans", "--facts", facts, "--demonstrations", path, *more)


@pytest.mark.parametrize("question", ["paper", "code"])
def test_given_demonstrations_are_used_word_for_word(question: str, disek: Path, tmp_path: Path, medfact: Medfact) -> None:
    rows = command_rows(demonstrated(medfact, disek, tmp_path, SHOTS, "--question", question))
    assert len(rows) == 4 * (HEADS - HELD_OUT_HEADS) * 2 * 8
    for row in rows:
        texts = [f"Shot {i} of {row['relation']}, {row['variant']}; exactly so." for i in range(3)]
        shots = "".join(make_shot(text, label, question) for text, label in zip(texts, (True, False, True), strict=True))
        assert row["prompt"] == shots + make_question(row["statement"], question)
    run = run_baseline(medfact, "pretexttrans", disek, "--demonstrations", tmp_path / "shots.csv")
    assert run["shots"] == 3


def test_demonstrations_under_another_name_of_a_relation_are_kept(disek: Path, tmp_path: Path, medfact: Medfact) -> None:
    """`symptom` and `symptoms` are one relation: its demonstrations are all there, in the order of the file."""
    shots = [{**shot, "relation": "Symptom" if i % 3 == 1 else shot["relation"]} for i, shot in enumerate(SHOTS[:24])]
    rows = command_rows(demonstrated(medfact, disek, tmp_path, [*shots, *SHOTS[24:]]))
    for row in rows:
        shown = [text for text, _ in parse_shots(row["prompt"], row["statement"], "paper")]
        assert [text.split()[1] for text in shown] == ["0", "1", "2"]


def test_demonstrations_of_mkj(mkj: Path, tmp_path: Path, medfact: Medfact) -> None:
    shot = {"relation": "may be treated by", "variant": "none", "statement": "The tea treats Disease 1000.", "label": "false"}
    path = write_csv(tmp_path / "shots.csv", [shot])
    rows = command_rows(medfact("prompts", "--protocol", "mkj", "--facts", mkj, "--limit", 3, "--demonstrations", path))
    for row in rows:
        preface, _, _ = FIGURE_8.partition("Statement:")
        shown = "Statement: The tea treats Disease 1000.\nAnswer: False\n\n"
        assert row["prompt"] == f"{preface}{shown}Statement: {row['statement']}"


def without(column: str) -> list[dict[str, object]]:
    return [{name: value for name, value in shot.items() if name != column} for shot in SHOTS]


@pytest.mark.parametrize(
    ("shots", "words"),
    [
        ([s for s in SHOTS if (s["relation"], s["variant"]) != ("symptoms", "ins+dn")], ["'symptoms'", "'ins+dn'"]),
        ([s for s in SHOTS if s["relation"] != "affected sites"], ["'affected sites'", "8 are missing"]),
        ([*SHOTS, {**SHOTS[0], "label": "maybe"}], [f"row {len(SHOTS) + 2}", "label", "true or false"]),
        ([*SHOTS, {**SHOTS[0], "label": ""}], [f"row {len(SHOTS) + 2}", "label"]),
        ([*SHOTS, {**SHOTS[0], "statement": " "}], [f"row {len(SHOTS) + 2}", "statement"]),
        ([*SHOTS, {**SHOTS[0], "variant": "denied"}], [f"row {len(SHOTS) + 2}", "'denied'"]),
        (without("label"), ["row 1", "label"]),
        (without("variant"), ["row 1", "variant"]),
    ],
    ids=["form", "relation", "label", "no label", "no statement", "unknown form", "label column", "variant column"],
)
@pytest.mark.parametrize("command", ["prompts", "run"])
def test_demonstrations_that_cannot_be_used_are_one_sentence(
    command: str, shots: list[dict[str, object]], words: list[str], disek: Path, tmp_path: Path, medfact: Medfact
) -> None:
    path = write_csv(tmp_path / "shots.csv", shots)
    model = ("--model", "baseline:random") if command == "run" else ()
    line = error_line(medfact(command, "--protocol", "pretexttrans", "--facts", disek, "--demonstrations", path, *model))
    assert line.startswith("medfact: shots.csv")
    for word in words:
        assert word in line


def test_a_number_of_shots_beside_given_demonstrations_is_not_passed_over(
    disek: Path, tmp_path: Path, medfact: Medfact
) -> None:
    """Zero shots with demonstrations contradict each other: one of the two is told, or heeded."""
    outcome = demonstrated(medfact, disek, tmp_path, SHOTS, "--shots", 0, "--limit", 4)
    if outcome.code == 2:
        assert "shots" in error_line(outcome)
    else:
        asked_bare = all(row["prompt"] == make_question(row["statement"], "paper") for row in command_rows(outcome))
        assert asked_bare or any("shots" in note for note in note_lines(outcome))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--question", "nonsense"), "no question format 'nonsense'"),
        (("--question", "papr"), "Did you mean 'paper'?"),
        (("--shot-draws", "0"), "The number of shot draws is 0"),
        (("--shot-draws", "-3"), "The number of shot draws is -3"),
        (("--shot-draws", "1000"), "The number of shot draws is 1000"),
        (("--shot-draws", "2", "--shots", "0"), "Several draws"),
        (("--shot-draws", "two"), "invalid int value"),
        (("--demonstrations", "nothing.csv"), "nothing.csv"),
        (("--shots", "-1"), "The number of shots is -1"),
        (("--protocol", "pretext"), "no protocol 'pretext'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
@pytest.mark.parametrize("command", ["statements", "run"])
def test_options_that_make_no_sense_are_one_line(
    command: str, options: tuple[str, ...], words: str, disek: Path, medfact: Medfact
) -> None:
    model = ("--model", "baseline:random") if command == "run" else ()
    assert words in error_line(medfact(command, "--facts", disek, *model, *options))
    assert command_rows(medfact("runs")) == []
