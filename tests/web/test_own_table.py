"""A visitor's own table over HTTP: what is guessed of it, what is asked first, and relations without sentences."""

from __future__ import annotations

from html import unescape

from visitors import Visitor, visitor_fixture

PATIENTS = "Disease;Symptoms;Treatment;Patient\n" + "".join(
    f"{disease};{sign};{drug};Jane Doe {number}\n"
    for number, (disease, sign, drug) in enumerate(
        [("gout", "podagra", "allopurinol"), ("asthma", "wheezing", "salbutamol"), ("migraine", "photophobia", "sumatriptan")]
    )
)


visitor = visitor_fixture("address")


def test_nothing_of_a_table_about_patients_is_shown_before_a_person_says_so(visitor: Visitor) -> None:
    asked = visitor.press_button("take_file", visitor.upload("ward.csv", PATIENTS.encode()))
    told = str(asked["fragments"])
    assert "<b>Patient</b> may identify patients" in told
    assert "Jane Doe" not in told
    assert "allopurinol" not in told
    assert "Say first whether the table is about patients" in str(
        visitor.press_button("use_columns", setup=asked["setup"])["fragments"]
    )
    left = visitor.press_button("say_people", "left out", setup=asked["setup"])
    assert "Jane" not in str(left)
    assert "<b>Symptoms</b> (symptoms), <b>Treatment</b> (therapeutic drugs)" in left["fragments"]["mapping"]
    used = visitor.press_button("use_columns", setup=left["setup"], fields={"head": "Disease", "relation": "", "tail": ""})
    assert "6 true facts read" in used["fragments"]["facts-said"]
    assert ["patients", "=left out"] in used["setup"]["source"]["columns"]
    assert "Jane" not in str(used)


def test_a_cell_of_several_names_is_split_where_that_is_ticked(visitor: Visitor) -> None:
    text = "Disease,Symptoms\ngout,podagra; tophi\nasthma,wheezing; cough\nmigraine,photophobia; nausea\n"
    asked = visitor.press_button("take_file", visitor.upload("lists.csv", text.encode()))
    assert "“podagra; tophi” becomes “podagra” and “tophi”." in unescape(asked["fragments"]["mapping"])
    fields = {"head": "Disease", "relation": "", "constant": "symptoms", "tail": "Symptoms"}
    whole = visitor.press_button("use_columns", setup=asked["setup"], fields=fields)
    assert "3 true facts read" in whole["fragments"]["facts-said"]
    split = visitor.press_button("use_columns", setup=whole["setup"], fields={**fields, "split": "on"})
    assert "6 true facts read" in split["fragments"]["facts-said"]


def test_own_sentences_are_asked_at_once_and_a_mistake_is_named(visitor: Visitor) -> None:
    rows = "".join(f"disease {number},typical sign,sign {number}\n" for number in range(8))
    visitor.press_button("take_file", visitor.upload("signs.csv", f"condition,relation,finding\n{rows}".encode()))
    begun = visitor.press_button("write_sentences", "typical sign")
    names = ("plain", "backwards", "in_patient", "in_patient_backwards")
    fields = {name: begun["setup"][name] for name in names}
    assert fields["plain"] == "[Y] is a typical sign of [X]."
    wrong = visitor.press_button(
        "use_sentences", "typical sign", setup=begun["setup"], fields={**fields, "backwards": "[X] goes with [Y]."}
    )
    assert "cannot be used: it cannot be denied by one word" in wrong["fragments"]["facts-said"]
    assert wrong["setup"]["backwards"] == "[X] goes with [Y].", "what was typed stays"
    used = visitor.press_button("use_sentences", "typical sign", setup=wrong["setup"], fields=fields)
    assert used["show"]["studio"] == "medfact:own"
    assert "8 of 8 true facts can be asked" in used["fragments"]["facts"]
    assert "is not a typical sign of disease" in used["fragments"]["facts"]
