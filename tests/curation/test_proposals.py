"""Documents become passages of whole sentences, and sentences candidates, with denials marked and controls mixed in."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_documents import DISEASES, disease_name, ineffective_remedy, is_stated, stated_remedies, write_documents, write_lists

from medfact.curation.beginning import RELATIONS, Begun, begin
from medfact.curation.names import (
    Finder,
    Name,
    grouped,
    read_names,
    read_passages,
    sentences_of,
    stems,
    tails_of,
    with_known_names,
)
from medfact.curation.proposals import Proposing, cue_in, marked
from medfact.datasets.documents import MOST_WORDS
from medfact.errors import FactsError, MissingColumns, Mistake
from medfact.store import Candidate, Store

# ------------------------------------------------------------------------------------------------ passages


def test_a_text_is_split_at_the_ends_of_sentences_and_not_at_abbreviations() -> None:
    text = "Give a diuretic, e.g. furosemide. Dr. Who\n agrees! Is it so? Yes"
    assert list(sentences_of(text)) == ["Give a diuretic, e.g. furosemide.", "Dr. Who agrees!", "Is it so?", "Yes"]


@given(st.lists(st.lists(st.sampled_from(["gout", "is", "red.", "e.g.", "Dr.", "hot!", "x"]), max_size=260), max_size=4))
def test_no_word_is_lost_and_no_passage_is_too_long(texts: list[list[str]]) -> None:
    for words in texts:
        passages = list(grouped(sentences_of(" ".join(words))))
        assert [word for passage in passages for sentence in passage for word in sentence.split()] == words
        assert all(sum(len(sentence.split()) for sentence in passage) <= MOST_WORDS for passage in passages)


def test_a_table_says_what_its_documents_are_about_and_where_they_stand(tmp_path: Path) -> None:
    file = tmp_path / "qa.csv"
    file.write_text(
        "source,url,focus,synonyms,question_type,answer\nNIDDK,https://x.example/1,Gout,podagra|urate,symptoms,It hurts."
    )
    (passage,) = read_passages(file)
    assert (passage.sentences, passage.about) == (("It hurts.",), ("Gout", "podagra", "urate"))
    assert (passage.source, passage.address, passage.section) == ("NIDDK", "https://x.example/1", "symptoms")
    assert passage.searched == "Gout podagra urate symptoms It hurts."


def test_a_folder_of_texts_is_read_each_about_what_its_file_is_called(tmp_path: Path) -> None:
    (tmp_path / "atrial_fibrillation.txt").write_text("It may be silent.\n\nApixaban prevents strokes.")
    (tmp_path / "empty.txt").write_text("")
    found = read_passages(tmp_path)
    assert [one.title for one in found] == ["atrial fibrillation"] * 2
    assert [(one.source, one.address) for one in found] == [
        ("atrial_fibrillation.txt", "line 1"),
        ("atrial_fibrillation.txt", "line 3"),
    ]


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(FactsError, match="no file or folder 'none'"):
        read_passages(tmp_path / "none")
    file = tmp_path / "two.csv"
    file.write_text("a,b\nx,y")
    with pytest.raises(MissingColumns, match=r"does not say which column holds the text.*--column"):
        read_passages(file)
    assert read_passages(file, "b")[0].sentences == ("y",)
    with pytest.raises(MissingColumns, match="has no column 'c'"):
        read_passages(file, "c")
    (tmp_path / "blank.txt").write_text(" \n")
    with pytest.raises(FactsError, match="holds no text"):
        read_passages(tmp_path / "blank.txt")


# ------------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("one", "other"),
    [("Crohn's disease", "Crohn disease"), ("rashes", "rash"), ("Headaches", "headache"), ("haemorrhage", "hemorrhage"),
     ("biopsies", "biopsy"), ("beta-blockers", "beta blocker")],
)  # fmt: skip
def test_spellings_are_one_name(one: str, other: str) -> None:
    assert stems(one) == stems(other)


@pytest.mark.parametrize(("one", "other"), [("arthritis", "arthriti"), ("lupus", "lupu"), ("pus", "pu"), ("gas", "ga")])
def test_what_only_looks_like_a_plural_is_none(one: str, other: str) -> None:
    assert stems(one) != stems(other)


def test_the_longest_name_is_found_once() -> None:
    finder = Finder([Name("pain"), Name("chest pain"), Name("nausea", also=("feeling sick",))])
    sentence = "Chest pain, pain in the arm and feeling sick; painful."
    assert [(one.name.name, sentence[one.start : one.end]) for one in finder.find(sentence)] == [
        ("chest pain", "Chest pain"),
        ("pain", "pain"),
        ("nausea", "feeling sick"),
    ]


def test_lists_are_read_from_texts_and_tables(tmp_path: Path) -> None:
    text = tmp_path / "list.txt"
    text.write_text("gout | podagra\n\n gout \nflu\n")
    assert read_names(text) == (Name("gout", ("podagra",)), Name("flu"))
    table = tmp_path / "list.csv"
    table.write_text("tail,also,relation,tail_type\naspirin,ASA|acetylsalicylic acid,drugs,Drug\n")
    assert read_names(table) == (Name("aspirin", ("ASA", "acetylsalicylic acid"), "drugs", "Drug"),)
    table.write_text("a,b\nx,y\n")
    with pytest.raises(FactsError, match="does not say which column holds the names"):
        read_names(table)
    with pytest.raises(FactsError, match="There is no file"):
        read_names(tmp_path / "none.txt")


def test_the_bundled_sets_know_names_and_tails() -> None:
    known = with_known_names(Name("myocardial infarction"))
    assert "heart attack" in known.also
    assert (known.type, known.identifier) == ("Disease or Syndrome", "DOID:5844")
    assert {"chest pain", "diaphoresis"} <= {one.name for one in tails_of("has_symptom")}
    with pytest.raises(Mistake, match="Nothing is known that stands at the end of 'cures'"):
        tails_of("cures")
    own = [Name("rest", relation="cures"), Name("tea", relation="soothes"), Name("soup")]
    assert [one.name for one in tails_of("cures", own)] == ["rest", "soup"]


# ------------------------------------------------------------------------------------------------ candidates


@pytest.mark.parametrize(
    ("sentence", "cue"),
    [("It is Not treated so.", "not"), ("It doesn't help.", "n't"), ("Unlike gout, it is mild.", "unlike"),
     ("A notable nodule in the north.", ""), ("Use rest rather than drugs.", "rather than")],
)  # fmt: skip
def test_words_that_may_deny_are_found(sentence: str, cue: str) -> None:
    assert cue_in(sentence) == cue


def test_names_and_denials_are_marked_and_the_sentence_stays_whole() -> None:
    one = Candidate("gout", "therapeutic drugs", "aspirin", "Gout is not treated with <b>aspirin</b>.")
    pieces = list(marked(one))
    assert "".join(text for text, _ in pieces) == one.sentence
    assert [piece for piece in pieces if piece[1]] == [("Gout", "head"), ("not", "cue"), ("aspirin", "tail")]


def test_the_relations_that_are_named_as_an_example_are_known_and_the_others_are_told() -> None:
    """It said: --relations symptoms,treatments; and then, that nothing is known of treatments."""
    for relation in RELATIONS.split('"')[1].split(","):
        assert tails_of(relation)
    with pytest.raises(Mistake) as told:
        tails_of("treatments")
    assert told.value.hint.startswith("Give a list of such names with --names FILE, or name one of: ")
    assert "symptoms, " in told.value.hint
    assert "therapeutic drugs" in told.value.hint


def test_documents_of_the_folder_where_one_is_have_its_name(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "ward"
    folder.mkdir()
    write_documents(folder)
    diseases, remedies = write_lists(tmp_path)
    monkeypatch.chdir(folder)
    made = begin(Begun(Path("."), diseases, ("treatments",), remedies), store, lambda _: None)
    assert (made.name, made.documents) == ("ward", "ward")


def begun(folder: Path, store: Store, **how: float) -> list[Candidate]:
    diseases, remedies = write_lists(folder)
    asked = Begun(write_documents(folder), diseases, ("treatments",), remedies, how=Proposing(**how))  # type: ignore[arg-type]
    return store.curations.candidates(begin(asked, store, lambda _: None).curation)


def test_every_remedy_is_proposed_beside_its_sentence(tmp_path: Path, store: Store) -> None:
    real = [one for one in begun(tmp_path, store) if not one.control]
    assert len(real) == 3 * DISEASES  # each document names three remedies
    for number in range(DISEASES):
        of = {one.tail: one for one in real if one.head == disease_name(number)}
        assert set(of) == {*stated_remedies(number), ineffective_remedy(number)}
        assert all(one.tail in one.sentence and one.sentence.endswith(".") for one in of.values())
        assert {name: one.cue for name, one in of.items()} == {
            **dict.fromkeys(stated_remedies(number), ""),
            ineffective_remedy(number): "not",
        }
        assert {(one.title, one.source, one.address) for one in of.values()} == {
            (disease_name(number), "Ward notes", f"note {number}")
        }
        assert all(one.tail_type == "Drug" for one in of.values())


def test_controls_say_what_their_sentence_does_not(tmp_path: Path, store: Store) -> None:
    made = begun(tmp_path, store, controls=0.2)
    controls = [one for one in made if one.control]
    assert len(controls) == 12  # a fifth of 60
    sentences = {one.sentence for one in made if not one.control}
    for one in controls:
        assert one.sentence in sentences
        assert one.tail not in one.sentence
        assert not is_stated(one.head, one.tail)
        assert one.tail_type == "Drug"
    assert [one.position for one in made] == list(range(72))
    assert sum(one.control for one in begun(tmp_path, store)) == 10, "a tenth is 6, and fewer than 10 say nothing"
    assert not any(one.control for one in begun(tmp_path, store, controls=0))


def test_the_same_seed_gives_the_same_candidates_and_another_one_others(tmp_path: Path, store: Store) -> None:
    assert begun(tmp_path, store) == begun(tmp_path, store)
    assert begun(tmp_path, store) != begun(tmp_path, store, seed=1)


def test_fewer_of_a_disease_are_those_that_do_not_deny(tmp_path: Path, store: Store) -> None:
    real = [one for one in begun(tmp_path, store, per_relation=2) if not one.control]
    assert len(real) == 2 * DISEASES
    assert all(is_stated(one.head, one.tail) for one in real)


def test_what_names_no_disease_of_the_list_proposes_nothing(tmp_path: Path, store: Store) -> None:
    _, remedies = write_lists(tmp_path)
    (tmp_path / "other.txt").write_text("plague")
    asked = Begun(write_documents(tmp_path), tmp_path / "other.txt", ("treatments",), remedies)
    with pytest.raises(Mistake, match="No sentence names a disease of the list"):
        begin(asked, store, lambda _: None)
    assert store.curations.listed() == []


@pytest.mark.parametrize(("how", "said"), [({"per_relation": 0}, "1 to 1,000"), ({"controls": 0.9}, "from 0 to 0.5")])
def test_what_cannot_be_is_said(how: dict[str, float], said: str) -> None:
    with pytest.raises(Mistake, match=said):
        Proposing(**how)  # type: ignore[arg-type]


def test_an_encoder_behind_a_service_gets_no_documents(tmp_path: Path, store: Store) -> None:
    diseases, remedies = write_lists(tmp_path)
    asked = Begun(write_documents(tmp_path), diseases, ("treatments",), remedies, encoder="openai:embedder")
    with pytest.raises(Mistake, match="behind a service, which would get your documents"):
        begin(asked, store, lambda _: None)
