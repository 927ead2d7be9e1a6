"""The page Facts over HTTP: a line a fact, one open; what is looked at is in the address; a file of one's own is taken here."""

from __future__ import annotations

import re
from typing import Any

from visitors import Visitor, visitor_fixture

OWN = b"head,relation,tail\n" + b"".join(b"disease %d,symptoms,sign %d\n" % (n, n) for n in range(12))


visitor = visitor_fixture("address")


def opened_at(visitor: Visitor, query: str) -> dict[str, Any]:
    """What a browser shows that opens this address."""
    return dict(visitor.http.post("/updates", json={"page": "facts", "address": query}).json())


def ids(shown: dict[str, Any]) -> list[str]:
    return re.findall(r'data-key="open-([0-9a-f]+)"', shown["fragments"]["cards"])


def test_one_line_a_fact_and_one_open(visitor: Visitor) -> None:
    shown = visitor.fetch_page("facts")
    cards = shown["fragments"]["cards"]
    assert len(ids(shown)) == 20
    assert cards.count("8 ways") == 20
    assert cards.count("FALSE (test statement)") == 20, "each false partner has its mark"
    assert "mf-sentence" not in cards
    opened = visitor.fetch_page("facts", fact=ids(shown)[3])["fragments"]["cards"]
    assert opened.count('class="mf-sentence"') == 16, "its eight sentences and its partner's"
    assert opened.count('aria-expanded="true"') == 1
    assert "Could “" in opened
    assert visitor.fetch_page("facts", fact="nonsense")["show"]["fact"] == ""


def test_an_open_fact_says_where_it_holds_and_its_partner_until_when_it_did(visitor: Visitor) -> None:
    (fact, *_) = ids(visitor.fetch_page("facts", data="was-true", search="pharyngitis"))
    opened = visitor.fetch_page("facts", data="was-true", search="pharyngitis", fact=fact)["fragments"]["cards"]
    assert "In the European Union, <b><bdi>pharyngitis</bdi></b>" in opened
    assert "Source: European Medicines Agency" in opened
    assert ", was true until 2016" in opened
    assert "In the European Union, fusafungine is a medication used to treat pharyngitis." in opened
    assert "In the European Union, fusafungine is not a medication used to treat pharyngitis." in opened
    assert "FALSE (test statement)" in opened


def test_what_is_looked_at_is_in_the_address_and_comes_from_it(visitor: Visitor) -> None:
    fact = ids(visitor.fetch_page("facts", search="arteritis", relation="symptoms"))[0]
    chosen = {"search": "arteritis", "relation": "symptoms", "protocol": "mkj", "pool": "medfact", "fact": fact}
    query = visitor.fetch_page("facts", **chosen)["query"]
    again = opened_at(visitor, query)
    assert {name: again["show"][name] for name in chosen} == chosen
    assert again["query"] == query
    assert again["stop"]["search"] == "arteritis", "the browser's history has it, too"
    paged = visitor.fetch_page("facts", page=3)
    assert ids(opened_at(visitor, paged["query"])) == ids(paged) != ids(visitor.fetch_page("facts"))
    assert "page" not in visitor.fetch_page("facts")["query"]


def test_the_words_of_a_search_are_joined(visitor: Visitor) -> None:
    for search in ("giant cell arteritis prednisone", "Prednisone  giant-cell"):
        shown = visitor.fetch_page("facts", search=search)
        assert len(ids(shown)) == 1
        assert "prednisone" in shown["fragments"]["cards"]


def test_a_file_of_ones_own_is_taken_here_and_is_in_use_on_evaluate(visitor: Visitor) -> None:
    filtered = {"search": "x", "relation": "symptoms", "page": 2}
    shown = visitor.press_button("take_file", visitor.upload("own.csv", OWN), "facts", **filtered)
    assert "12 true facts read" in shown["fragments"]["said"]
    assert len(ids(shown)) == 12, "no filter hides what was just brought"
    assert "own.csv" in shown["fragments"]["in-use"]
    assert "own" not in shown["query"], "a file of one's own is in no link"
    assert "own.csv" in visitor.fetch_page("evaluate")["fragments"]["facts"]
    dropped = visitor.press_button("drop_file", "", "facts", data="own")
    assert dropped["show"]["data"] == "clinical-core"
    assert dropped["fragments"]["in-use"] == ""


def test_what_a_file_denies_is_said_on_both_pages(visitor: Visitor) -> None:
    """Twelve facts, of which a column denies one and retires another: neither is asked as true, and the pages say why."""
    header, *rows = OWN.splitlines()
    marked = [
        header + b",negated,active",
        rows[0] + b",true,1",
        rows[1] + b",false,0",
        *(row + b",false,1" for row in rows[2:]),
    ]
    shown = visitor.press_button("take_file", visitor.upload("own.csv", b"\n".join(marked)), "facts")
    assert "10 true facts read" in shown["fragments"]["said"]
    for fragment in (shown["fragments"]["in-use"], visitor.fetch_page("evaluate")["fragments"]["facts"]):
        assert "the column &#39;negated&#39; says &#39;true&#39; in 1 row: this is a false fact" in fragment
        assert "the column &#39;active&#39; says &#39;0&#39; in 1 row, left out" in fragment
    gold = [header + b",gold", *(row + b",F" for row in rows[:3]), *(row + b",T" for row in rows[3:])]
    refused = visitor.press_button("take_file", visitor.upload("gold.csv", b"\n".join(gold)), "facts")
    assert "column &#39;gold&#39; says true or false and is not read" in str(refused["fragments"])


def test_a_file_with_other_columns_asks_which_is_which(visitor: Visitor) -> None:
    path = visitor.upload("mine.csv", OWN.replace(b"head,relation,tail", b"a,b,c"))
    shown = visitor.press_button("take_file", path, "facts")
    assert "Match your columns" in shown["fragments"]["mapping"]
    fields = {"head": "a", "relation": "b", "tail": "c"}
    used = visitor.press_button("use_columns", "", "facts", fields=fields)
    assert "12 true facts read" in used["fragments"]["said"]
    assert len(ids(used)) == 12


def test_no_word_of_the_file_format_is_on_the_page(visitor: Visitor) -> None:
    """A clinician reads of conditions and findings."""
    fact = ids(visitor.fetch_page("facts"))[0]
    for shown in (visitor.fetch_page("facts", fact=fact), visitor.fetch_page("facts", fact=fact, protocol="pretexttrans")):
        text = re.sub(r"<[^>]*>", " ", " ".join(shown["fragments"].values()))
        assert not re.search(r"\b(heads?|tails?)\b", text), re.findall(r".{30}\b(?:heads?|tails?)\b.{30}", text)


def test_sources_are_named_and_linked_by_what_the_bundled_files_give_alone(visitor: Visitor) -> None:
    """Not by a bare code; and an address in somebody's own file is text."""
    (first, *_) = ids(visitor.fetch_page("facts", search="myocardial infarction", relation="symptoms"))
    shown = visitor.fetch_page("facts", search="myocardial infarction", fact=first)["fragments"]["cards"]
    assert "Source: medfact editors (this project, from textbook knowledge" in shown
    assert ">Disease Ontology DOID:5844</a>" in shown
    assert 'rel="noopener noreferrer nofollow"' in shown
    (label, *_) = ids(visitor.fetch_page("facts", data="not-indicated", search="benznidazole Cockayne"))
    shown = visitor.fetch_page("facts", data="not-indicated", fact=label, search="benznidazole Cockayne")["fragments"]["cards"]
    assert "a label approved by the US Food and Drug Administration" in shown
    assert ">the drug&#39;s labels at DailyMed</a>" in shown
    rows = OWN.replace(b"tail\n", b"tail,source,source_id\n", 1).replace(b"sign 0\n", b"sign 0,me,https://evil.example/x\n")
    visitor.press_button("take_file", visitor.upload("own.csv", rows), page_name="facts")
    (own, *_) = ids(visitor.fetch_page("facts", search="disease 0"))
    shown = visitor.fetch_page("facts", search="disease 0", fact=own)["fragments"]["cards"]
    assert "Source: me, entry https://evil.example/x" in shown
    assert 'href="https://evil' not in shown


def test_a_fact_whose_false_partner_has_left_the_set_says_so_and_links_of_others_name_the_page(visitor: Visitor) -> None:
    (alone, *_) = ids(visitor.fetch_page("facts", data="not-indicated", search="febuxostat gout"))
    shown = visitor.fetch_page("facts", data="not-indicated", fact=alone, search="febuxostat gout")["fragments"]["cards"]
    assert "Its false partner was withdrawn from the data set, and has no replacement." in shown
    assert ">withdrawn</span>" in shown
    assert not re.search("safe to call false|no safe partner found|How did medfact choose the false partner", shown)
    (false, *_) = ids(visitor.fetch_page("facts", data="not-indicated", search="domperidone prolactinoma"))
    shown = visitor.fetch_page("facts", data="not-indicated", fact=false, search="domperidone prolactinoma")["fragments"][
        "cards"
    ]
    assert "Stated by 1 source: " in shown
    assert ">package leaflet, at NPS MedicineWise</a> (read 2026-11-28)" in shown


SPANISH = {"search": "migraine photophobia", "language": "es"}


def test_facts_are_shown_and_found_in_another_language(visitor: Visitor) -> None:
    shown = visitor.fetch_page("facts", **SPANISH)
    (fact,) = ids(shown)
    cards = shown["fragments"]["cards"]
    assert '<bdi lang="es" title="migraine">migraña</bdi>' in cards
    assert '<bdi lang="es" title="photophobia">fotofobia</bdi>' in cards
    for search in ("migraña fotofobia", "MIGRANA  Fotofobia"):
        assert ids(visitor.fetch_page("facts", search=search, language="es")) == [fact], (
            "by its names there, with accents and without"
        )
        assert ids(visitor.fetch_page("facts", search=search)) == [], "in English by its English names alone"
    opened = visitor.fetch_page("facts", **SPANISH, fact=fact)["fragments"]["cards"]
    assert opened.count('<p class="mf-sentence" lang="es">') == 16
    assert "In English: " in opened
    assert "<bdi>migraine</bdi>" in opened
    assert "for “photophobia”" in opened, "where the name comes from"
    assert opened.count("FALSE (test statement)") >= 8, "what is false is marked in every language"


def test_chinese_names_are_found_by_a_part_of_them(visitor: Visitor) -> None:
    assert ids(visitor.fetch_page("facts", search="偏头痛 畏光", language="zh")) == ids(visitor.fetch_page("facts", **SPANISH))


def test_a_language_stays_in_the_address_and_only_where_the_sentences_are_medfacts_own(visitor: Visitor) -> None:
    query = visitor.fetch_page("facts", **SPANISH)["query"]
    assert "language=es" in query
    assert opened_at(visitor, query)["show"]["language"] == "es"
    assert visitor.fetch_page("facts", **SPANISH, protocol="mkj")["show"]["language"] == "en"
    assert 'data-set="language"' not in visitor.fetch_page("facts", **SPANISH, protocol="mkj")["fragments"]["filters"]
    for nonsense in ("xx", "../es", "<b>"):
        assert visitor.fetch_page("facts", language=nonsense)["show"]["language"] == "en"


def test_what_a_language_cannot_ask_is_said(visitor: Visitor) -> None:
    relation = "associated morphology of"
    shown = visitor.fetch_page("facts", data="biomedical-core", relation=relation, language="de")["fragments"]["cards"]
    assert f"Nothing of “{relation}” of biomedical-core can be asked in German" in shown
    bounded = visitor.fetch_page("facts", data="was-true", language="zh")["fragments"]
    assert "64 of 64 true facts can be asked" in bounded["filters"], "there are words for its places and groups"
    safety = visitor.fetch_page("facts", data="safety-core", relation="", language="de")["fragments"]
    assert "360 of 361 true facts can be asked in this language" in safety["filters"]
    of = visitor.fetch_page("facts", data="clinical-core", language="de")["fragments"]["filters"]
    assert re.search(r"2,5\d\d of 2,5\d\d true facts can be asked in this language", of)


def test_facts_are_shown_in_the_language_that_evaluate_asks_in(visitor: Visitor) -> None:
    visitor.fetch_page("evaluate", setup={"asked_in": "fr"})
    shown = visitor.fetch_page("facts", search="migraine photophobia")
    assert shown["show"]["language"] == "fr"
    assert "language" not in shown["query"]
    assert "language=en" in visitor.fetch_page("facts", language="en")["query"], "who looks at English there says so"
