"""Sentences of one's own: a benchmark's templates under `origin`, pool files, and MKJ's templates."""

import itertools
import re
import sys
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from small_facts import write_csv
from small_papers import (
    ASPECTS,
    HEADS,
    HELD_OUT_HEADS,
    Medfact,
    command_rows,
    error_line,
    fill_sentence,
    make_disek_rows,
    make_triplets,
    note_lines,
    parse_shots,
    report_run,
    write_json,
    write_medlama,
)

from medfact.prototypes import load_pool
from medfact.prototypes.pool_files import read_pool


@pytest.fixture
def disek(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "disek.csv", make_disek_rows())


# ------------------------------------------------------------------------- origin

PROMPTS_CSV = [
    {"pid": "may_treat", "default_prompt": "[X] may_treat [Y] .", "human_prompt": "[X] might be a cure of [Y] ."},
    {"pid": "may_prevent", "default_prompt": "[X] may prevent [Y] .", "human_prompt": ""},
    {"pid": "occurs_after", "default_prompt": "x", "human_prompt": "[Y] comes before [X]"},
]
"""MedLAMA's own sentences for three relations: the human one where there is one."""

OWN = {
    "may_treat": "[X] might be a cure of [Y].",
    "may_prevent": "[X] may prevent [Y].",
    "occurs_after": "[Y] comes before [X].",
}
TWO = ("may_treat", "disease_has_abnormal_cell")
"""A relation that these templates have, and one that they have not."""

PLAIN = {"disease_has_abnormal_cell": "[X] has the abnormal cell [Y] ."}
"""PretextTrans, Table 10."""


class WrittenOut(yaml.SafeDumper):
    """Writes a record in each place where it stands, and no alias."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def origin(medfact: Medfact, facts: Path, *more: object, protocol: str = "pretexttrans") -> Any:
    return medfact("statements", "--protocol", protocol, "--facts", facts, "--pool", "origin", *more)


def assert_stated(outcome: Any, sentences: Mapping[str, str]) -> None:
    """Every statement is its relation's one sentence, under the pool `origin`."""
    rows = command_rows(outcome)
    assert {row["relation"] for row in rows} == set(sentences)
    for row in rows:
        assert (row["pool"], row["variant"]) == ("origin", "none")
        assert row["statement"] == fill_sentence(sentences[row["relation"]], row["head"], row["tail"])
        assert row["label"] is row["positive"]


@pytest.mark.parametrize("place", ["folder", "parent", "file"])
def test_origin_takes_medlamas_own_sentences_where_they_lie(place: str, tmp_path: Path, medfact: Medfact) -> None:
    folder = write_medlama(tmp_path / "medlama" / "2021AA", TWO)
    write_csv((folder.parent if place == "parent" else folder) / "prompts.csv", PROMPTS_CSV)
    facts = folder / "may_treat_1000.csv" if place == "file" else folder
    outcome = origin(medfact, facts)
    assert_stated(outcome, {"may_treat": OWN["may_treat"], **({} if place == "file" else PLAIN)})
    (note,) = (note for note in note_lines(outcome) if "origin" in note)
    assert "prompts.csv" in note


def test_origin_takes_the_templates_that_are_named(tmp_path: Path, medfact: Medfact) -> None:
    folder = write_medlama(tmp_path / "2021AA", tuple(OWN))
    write_csv(folder / "prompts.csv", [{**row, "human_prompt": "[X] or [Y]"} for row in PROMPTS_CSV])
    outcome = origin(medfact, folder, "--templates", write_csv(tmp_path / "mine.csv", PROMPTS_CSV))
    assert_stated(outcome, OWN)
    assert any("mine.csv" in note for note in note_lines(outcome))


@pytest.mark.parametrize("protocol", ["pretexttrans", "tpeval"])
def test_origin_is_the_plain_form_where_there_are_no_templates_and_says_so(
    protocol: str, disek: Path, medfact: Medfact
) -> None:
    first = load_pool("tpeval" if protocol == "tpeval" else "pretexttrans-disek")
    outcome = origin(medfact, disek, protocol=protocol)
    assert_stated(outcome, {aspect: first.relations[aspect].sentences[first.forms[0]] for aspect in ASPECTS})
    (note,) = (note for note in note_lines(outcome) if "origin" in note)
    assert "no templates" in note
    assert "plain form" in note


def test_the_note_of_origin_names_the_pool_of_the_plain_form(tmp_path: Path, medfact: Medfact) -> None:
    """PretextTrans has two pools; the note must not call what they make together "origin", which is what it explains."""
    folder = write_medlama(tmp_path / "2021AA", TWO)
    (note,) = (note for note in note_lines(origin(medfact, folder)) if "origin" in note)
    assert "of the pool 'origin'" not in note
    assert "states no templates" not in note, "a sentence"


def test_the_note_of_origin_counts_the_relations_that_are_tested(tmp_path: Path, medfact: Medfact) -> None:
    folder = write_medlama(tmp_path / "2021AA", TWO)
    write_csv(folder / "prompts.csv", PROMPTS_CSV)
    (note,) = (note for note in note_lines(origin(medfact, folder)) if "origin" in note)
    assert set(re.findall(r"\d+", note)) <= {"1"}, "one of the two in the words of the file, one in the plain form"


def test_templates_in_the_folder_are_no_facts(tmp_path: Path, medfact: Medfact) -> None:
    folder = write_medlama(tmp_path / "2021AA", TWO)
    before = medfact("facts", "--facts", folder, "--protocol", "pretexttrans")
    for content in (PROMPTS_CSV, [{"head": "a", "relation": "may_treat", "tail": "b"}], [{"anything": "else"}]):
        write_csv(folder / "prompts.csv", content)
        after = medfact("facts", "--facts", folder, "--protocol", "pretexttrans")
        assert (after.code, after.out, after.err) == (0, before.out, before.err)
    assert command_rows(medfact("prompts", "--facts", folder, "--protocol", "pretexttrans", "--limit", 1)), (
        "nor are they looked at"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pid,human_prompt\nmay_prevent,[X] prevents [Y]\nmay_treat,[X] cures\n", ["row 3", "'may_treat'", "[Y] occurs 0"]),
        ("pid,human_prompt\nmay_treat,[X] cures [X] of [Y]\n", ["row 2", "'may_treat'", "[X] occurs 2"]),
        ("pid,default_prompt,human_prompt\nmay_treat,,\n", ["row 2", "'may_treat'"]),
        ("pid,prompt\nmay_treat,[X] cures [Y]\n", ["row 1", "human_prompt"]),
        ('pid,human_prompt\nmay_treat,"[X] cures [Y]\n', ["row 2", "quotation mark"]),
        ("pid,human_prompt\nmay_treat,[X] cures, or not, [Y]\n", ["row 2", "cells"]),
        ("", ["is empty"]),
    ],
    ids=["no slot", "slot twice", "no sentence", "no column", "quote", "comma", "empty"],
)
@pytest.mark.parametrize("by", ["folder", "option"])
def test_broken_templates_are_one_sentence_with_row_and_relation(
    by: str, text: str, words: list[str], tmp_path: Path, medfact: Medfact
) -> None:
    folder = write_medlama(tmp_path / "2021AA", TWO)
    path = (folder if by == "folder" else tmp_path / "mine") / "prompts.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    line = error_line(origin(medfact, folder, *(("--templates", path) if by == "option" else ())))
    assert line.startswith("medfact: prompts.csv")
    for word in words:
        assert word in line


def test_templates_that_are_not_there_are_one_sentence(disek: Path, medfact: Medfact) -> None:
    assert "nothing.csv" in error_line(origin(medfact, disek, "--templates", "nothing.csv"))


# ------------------------------------------------------------------------- pools of one's own

POOL = {
    "name": "mine",
    "forms": ["none", "inv", "dn", "inv+dn"],
    "operators": [[" is ", " is not "], [" include ", " do not include "]],
    "relations": {
        "signs": {
            "aliases": ["symptoms"],
            "sentences": {
                "none": "[Y] is a sign of [X].",
                "inv": "Signs of [X] include [Y].",
                "dn": "[Y] is not a sign of [X].",
                "inv+dn": "Signs of [X] do not include [Y].",
            },
        }
    },
}
SENTENCES = POOL["relations"]["signs"]["sentences"]


def pool_with(relation: Mapping[str, Any] | None = None, **sentences: Any) -> dict[str, Any]:
    """The pool with other sentences, and other entries of its relation; a sentence of None is left out."""
    kept = {form: text for form, text in {**SENTENCES, **sentences}.items() if text is not None}
    return {**POOL, "relations": {"signs": {"aliases": ["symptoms"], "sentences": kept, **(relation or {})}}}


def stated(medfact: Medfact, facts: Path, folder: Path, pool: Any, command: str = "statements") -> Any:
    """What a command gives with a pool file, which is a record or a text."""
    path = folder / "mine.yaml"
    path.write_text(pool if isinstance(pool, str) else yaml.dump(pool, Dumper=WrittenOut, sort_keys=False), encoding="utf-8")
    model = ("--model", "baseline:negation-cue") if command == "run" else ()
    return medfact(command, "--facts", facts, "--protocol", "pretexttrans", "--pool", path, *model)


def test_a_pool_of_ones_own_is_stated_asked_and_reported(disek: Path, tmp_path: Path, medfact: Medfact) -> None:
    outcome = stated(medfact, disek, tmp_path, POOL)
    rows = command_rows(outcome)
    assert len(rows) == (HEADS - HELD_OUT_HEADS) * 2 * 4
    for row in rows:
        assert (row["pool"], row["relation"]) == ("mine", "symptoms")
        assert row["statement"] == fill_sentence(SENTENCES[row["variant"]], row["head"], row["tail"])
    assert sum("no sentences" in note for note in note_lines(outcome)) == 3
    for row in command_rows(stated(medfact, disek, tmp_path, POOL, "prompts")):
        assert len(parse_shots(row["prompt"], row["statement"], "paper")) == 5
    (run,) = command_rows(stated(medfact, disek, tmp_path, POOL, "run"))
    report = report_run(medfact, run["run"])
    assert (report["pool"], report["average_accuracy"]["value"], report["statements"]) == ("mine", 0.5, len(rows))
    assert list(report["by_variant"]) == ["none", "inv", "dn", "inv+dn"]
    assert list(report["by_implications"]) == ["none", "+dn", "+dn+inv"]


BROKEN_POOLS = {
    "a form is missing": (pool_with(inv=None), ["relation 'signs'", "form 'inv'", "missing"]),
    "a form is empty": (pool_with(dn=" "), ["relation 'signs'", "form 'dn'", "missing"]),
    "a slot twice": (pool_with(none="[Y] is a sign of [X], [Y]."), ["relation 'signs'", "form 'none'", "[Y] occurs 2"]),
    "a slot missing": (pool_with(inv="Signs include [Y]."), ["relation 'signs'", "form 'inv'", "[X] occurs 0"]),
    "more than the negation": (pool_with(dn="[Y] is never a sign of [X]."), ["relation 'signs'", "form 'dn'", "negation"]),
    "another operator": ({**POOL, "operators": [[" has ", " has not "]]}, ["relation 'signs'", "form 'dn'", "negation"]),
    "an operator alone": ({**POOL, "operators": [" is "]}, ["operators"]),
    "an unknown relation": (
        {**POOL, "relations": {**POOL["relations"], "cures": {"sentences": SENTENCES}}},
        ["relation 'cures'", "form 'none'", *ASPECTS],
    ),
    "an unknown form": ({**POOL, "forms": ["none", "denied"]}, ["form 'denied'"]),
    "a form too many": (pool_with(ins="[X] has [Y]."), ["relation 'signs'", "form 'ins'"]),
    "no forms": ({**POOL, "forms": []}, ["form"]),
    "no relations": ({**POOL, "relations": {}}, ["relations"]),
    "a relation of text": ({**POOL, "relations": {"signs": "[X] has [Y]."}}, ["relation 'signs'"]),
    "broken YAML": ("name: [mine\nforms: none\n", ["line 2", "YAML"]),
    "a tag": ("name: !!python/name:os.system\n", ["YAML"]),
    "an empty file": ("", ["relations"]),
    "comments alone": ("# nothing yet\n", ["relations"]),
    "a list": ("- none\n", ["relations"]),
    "aliases that are a number": (pool_with({"aliases": 5}), []),
    "defects that are a number": (pool_with({"defects": 5}), []),
    "notes that are a number": ({**POOL, "notes": 5}, []),
    "a date that is none": (yaml.safe_dump(POOL).replace("name: mine", "name: 2020-13-45"), []),
    "a denied form without its affirmed one": (
        {**POOL, "forms": ["dn"], "relations": {"signs": {"aliases": ["symptoms"], "sentences": {"dn": SENTENCES["dn"]}}}},
        [],
    ),
    "brackets that go too far": ("[" * 3000, []),
    "no form denies another": (
        {
            **POOL,
            "forms": ["none", "inv"],
            "relations": {"symptoms": {"sentences": {f: SENTENCES[f] for f in ("none", "inv")}}},
        },
        ["has no form that denies it"],
    ),
    "a denial that denies nothing": (pool_with(dn="[Y] is a sign of [X]."), ["relation 'signs'", "form 'dn'"]),
    "another slot": (pool_with(dn="[Y] is not a sign of [X], nor of [Z]."), ["relation 'signs'", "form 'dn'"]),
    "a number for a sentence": (pool_with(dn=5), ["relation 'signs'", "form 'dn'"]),
    "a very long sentence": (pool_with(dn="[X] [Y] " + "and " * 400), ["relation 'signs'", "form 'dn'"]),
    "a form twice": ("forms: [none, none]\nrelations:\n  symptoms:\n    sentences:\n      none: '[Y] of [X].'\n", []),
    "two sentences of a form": (
        "forms: [none]\nrelations:\n  symptoms:\n    sentences:\n      none: '[Y] of [X].'\n      none: '[Y] in [X].'\n",
        [],
    ),
    "a relation twice": (
        "forms: [none]\nrelations:\n"
        "  symptoms:\n    sentences:\n      none: '[Y] of [X].'\n"
        "  symptoms:\n    sentences:\n      none: '[Y] in [X].'\n",
        [],
    ),
    "an alias that is a relation": (
        "forms: [none]\nrelations:\n"
        "  symptoms:\n    sentences:\n      none: '[Y] of [X].'\n"
        "  affected sites:\n    aliases: [symptoms]\n    sentences:\n      none: '[Y] in [X].'\n",
        [],
    ),
}
"""Pool files, each with words of the line that refuses it."""


@pytest.mark.parametrize(
    ("case", "command"), [*((case, "statements") for case in BROKEN_POOLS), ("a form is missing", "prompts"), ("a list", "run")]
)
def test_a_broken_pool_is_one_line_with_file_relation_and_form(
    case: str, command: str, disek: Path, tmp_path: Path, medfact: Medfact
) -> None:
    pool, words = BROKEN_POOLS[case]
    line = error_line(stated(medfact, disek, tmp_path, pool, command))
    assert "mine.yaml" in line
    for word in words:
        assert word in line


def test_an_alias_need_not_stand_in_a_list(disek: Path, tmp_path: Path, medfact: Medfact) -> None:
    """One alias as a text is that alias, or a mistake that is told; it is never taken for its letters."""
    outcome = stated(medfact, disek, tmp_path, pool_with({"aliases": "symptoms"}))
    if outcome.code == 2:
        assert "alias" in error_line(outcome)
    else:
        assert {row["relation"] for row in command_rows(outcome)} == {"symptoms"}


@pytest.mark.parametrize("name", ["origin", "mkj", "medfact"])
def test_a_pool_of_ones_own_does_not_pass_for_one_of_the_papers(
    name: str, disek: Path, tmp_path: Path, medfact: Medfact
) -> None:
    """A file may call itself what it likes; a report must not say that it is the paper's."""
    outcome = stated(medfact, disek, tmp_path, {**POOL, "name": name}, "run")
    if outcome.code == 2:
        assert name in error_line(outcome)
        return
    report = report_run(medfact, command_rows(outcome)[0]["run"])
    assert report["pool"] != name
    assert "Origin" not in report["method"]


@pytest.mark.parametrize("name", ["nothing.yaml", ".", "mine.txt"])
def test_a_pool_that_is_no_pool_file_is_one_line(name: str, disek: Path, tmp_path: Path, medfact: Medfact) -> None:
    (tmp_path / "mine.txt").write_text("x")
    said = "mine.txt: pools of this kind are not read" if name == "mine.txt" else "There is no pool"
    assert said in error_line(medfact("statements", "--facts", disek, "--pool", tmp_path / name))


# ------------------------------------------------------------------------- MKJ's templates

TEMPLATES = {
    "may treat": "The {object} may be treated with {subject}.",
    "ddx": "The {subject} is {predicate} of {object}.",
    "process of": "The {object} is a process.",
}
"""One sentence that can be used, one with a placeholder that nothing fills, one without its subject."""


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    return write_json(tmp_path / "own" / "triplets_collection.json", make_triplets("may treat", "ddx"))


@pytest.mark.parametrize("how", ["pool", "folder", "file"])
def test_mkjs_own_sentences_are_taken(how: str, collection: Path, tmp_path: Path, medfact: Medfact) -> None:
    path = write_json((tmp_path if how == "pool" else collection.parent) / "templates.json", TEMPLATES)
    facts = collection if how == "file" else collection.parent
    outcome = medfact("statements", "--protocol", "mkj", "--facts", facts, *(("--pool", path) if how == "pool" else ()))
    rows = command_rows(outcome)
    assert {row["relation"] for row in rows} == {"may treat"}
    assert len(rows) == HEADS * 4
    for row in rows:
        assert (row["pool"], row["variant"]) == ("mkj", "none")
        assert row["statement"] == f"The {row['tail']} may be treated with {row['head']}."
    assert not any("drafts" in note for note in note_lines(outcome))


@pytest.mark.parametrize("how", ["pool", "folder", "file"])
def test_odd_placeholders_in_mkjs_sentences_become_notes(how: str, collection: Path, tmp_path: Path, medfact: Medfact) -> None:
    path = write_json((tmp_path if how == "pool" else collection.parent) / "templates.json", TEMPLATES)
    facts = collection if how == "file" else collection.parent
    more = (*(("--pool", path) if how == "pool" else ()), "--limit", 2)
    for command in (("statements",), ("run", "--model", "baseline:random")):
        said = note_lines(medfact(*command, "--protocol", "mkj", "--facts", facts, *more))
        assert any("templates.json" in note and "'ddx'" in note and "{predicate}" in note for note in said)
        assert any("templates.json" in note and "'process of'" in note and "{subject}" in note for note in said)


def test_drafted_sentences_are_said_to_be_drafts(collection: Path, medfact: Medfact) -> None:
    outcome = medfact("statements", "--protocol", "mkj", "--facts", collection)
    assert {row["statement"].split(" is used to treat ")[0] for row in command_rows(outcome) if row["label"]} == {
        f"may treat subject{i:02}" for i in range(HEADS)
    }
    assert any("drafts" in note for note in note_lines(outcome))


@pytest.mark.parametrize(
    ("content", "words"), [("[1]", "one object"), ("{", "line 1"), ('{"may treat": "x"}', "usable"), ("", "line 1")]
)
def test_broken_templates_of_mkj_are_one_line(
    content: str, words: str, collection: Path, tmp_path: Path, medfact: Medfact
) -> None:
    path = tmp_path / "templates.json"
    path.write_text(content, encoding="utf-8")
    line = error_line(medfact("statements", "--protocol", "mkj", "--facts", collection, "--pool", path))
    assert line.startswith("medfact: templates.json")
    assert words in line


ALIASES = "\n".join(
    ["a0: &a0 [lol]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    + ["forms: [none]", "relations: *a9"]
)
"""Nine aliases, each ten of the one before: a billion words."""

TOO_MUCH = {
    "aliases": (ALIASES, "*a0 is an alias"),
    "many bytes": (yaml.safe_dump(POOL) + "#" * 110_000, "larger than 100 kB"),
    "a number of base 60": (f"a: {':'.join(['1'] * 40_000)}.5\nforms: [none]\nrelations: []\n", "it has no relations"),
    "a long sentence": (pool_with(none="[X] has [Y] " + "x" * 1_000), "longer than 1,000 characters"),
    "a name of a list": ({**POOL, "name": ["mine"] * 3}, "`name` is not text"),
    "a sentence of a list": (pool_with(none=["[X]", "[Y]"]), "the sentence is not text"),
}


@pytest.mark.parametrize("case", TOO_MUCH)
def test_a_pool_that_would_take_much_is_one_line_at_once(case: str, disek: Path, tmp_path: Path, medfact: Medfact) -> None:
    pool, said = TOO_MUCH[case]
    tracemalloc.start()
    assert said in error_line(stated(medfact, disek, tmp_path, pool))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 100 << 20  # 4.4 GB for the aliases, where they were followed


def test_many_names_are_compared_in_one_pass(tmp_path: Path) -> None:
    """Each name is looked up, not compared with all before it: four times as many names take about four times as many calls."""

    def calls(count: int) -> int:
        names = [f"sign {n}" for n in range(count)]
        path = tmp_path / f"{count}.yaml"
        path.write_text(yaml.safe_dump(pool_with({"aliases": names})), encoding="utf-8")
        counted = itertools.count()
        sys.setprofile(lambda *_: next(counted))
        try:
            pool = read_pool(path)
        finally:
            sys.setprofile(None)
        assert len(pool.relations["signs"].aliases) == count
        return next(counted)

    assert calls(800) < 5 * calls(200)


def test_a_relation_that_a_pool_withholds_is_left_out_and_said(tmp_path: Path, disek: Path, medfact: Medfact) -> None:
    pool = {
        **POOL,
        "relations": {**POOL["relations"], "surgical procedures": {"aliases": ["operations"], "withheld": "It is unsafe."}},
    }
    outcome = stated(medfact, disek, tmp_path, pool)
    assert "'surgical procedures' is withheld: It is unsafe." in outcome.err
    assert "surgical procedures" not in {row["relation"] for row in command_rows(outcome)}


@pytest.mark.parametrize("pool", ["medfact", "origin"])
def test_what_came_after_what_is_not_stated_in_our_words(pool: str, medfact: Medfact) -> None:
    """In time alone nearly every illness can come after another: nearly all negatives of `occurs after` would be true."""
    outcome = medfact("statements", "--dataset", "biomedical-core", "--pool", pool)
    relations = {row["relation"] for row in command_rows(outcome)}
    assert len(relations) == 16
    assert "occurs after" not in relations
    assert "'occurs after' is withheld: Almost any illness can come after another" in outcome.err
    assert "occurs after" in {
        row["relation"]
        for row in command_rows(medfact("statements", "--dataset", "biomedical-core", "--pool", "pretexttrans-medlama"))
    }
