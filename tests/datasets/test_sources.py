"""The sources that state the bundled facts: what is decided of them, where they open, and what a run of sourced facts asks."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from small_facts import make_fact_rows, write_csv

from medfact.datasets import bundled_names, load_bundled
from medfact.datasets.bundled import rows_of
from medfact.datasets.sources import EDITORS, KINDS, SITES, has_source, independent, source_at, sources_of
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.runs.plan import plan, select_facts
from medfact.spec import RunSpec
from medfact.views.fragments import environment

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "datasets"
DECISIONS = {"states", "repeats", "does not state", "denies", "not read"}


def shown(fact: Fact) -> str:
    """The line below a fact on the page."""
    return str(environment().from_string('{% from "macros.html" import source %}{{ source(fact) }}').render(fact=fact))


@pytest.mark.parametrize("name", bundled_names())
def test_what_was_decided_is_of_the_sets_facts_and_opens(name: str) -> None:
    facts = {(fact.head, fact.relation, fact.tail) for fact in load_bundled(name).facts}
    for row in rows_of(f"{name}.sources.csv"):
        assert (row["head"], row["relation"], row["tail"]) in facts
        assert row["decision"] in DECISIONS
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["read_on"])
        assert row["decision"] != "denies", "what a source denies is no fact"
        if row["decision"] == "states":
            assert source_at(row["source"], row["source_id"]).address.startswith("https://"), row


@pytest.mark.parametrize(
    ("name", "one", "two", "link"),
    [
        ("clinical-core", 1_627, 777, 1_464),
        ("core-medicine", 460, 147, 425),
        ("biomedical-core", 602, 211, 566),
        ("rare-core", 4_014, 1_690, 4_014),
    ],
)
def test_so_many_facts_have_one_source_two_independent_ones_and_a_link_that_shows_them(
    name: str, one: int, two: int, link: int
) -> None:
    sources = [sources_of(fact) for fact in load_bundled(name).facts]
    counts = list(map(independent, sources))
    assert (sum(count > 0 for count in counts), sum(count > 1 for count in counts)) == (one, two)
    assert sum(any(source.address and not source.opens for source in of) for of in sources) == link
    card = " ".join((FOLDER / f"{name}.md").read_text(encoding="utf-8").split())
    if name != "rare-core":
        assert f"{one:,} facts ({one / len(sources):.0%}".replace("%", " %") in card
        assert f"{two} ({two / len(sources):.0%}".replace("%", " %") in card
        assert f"{link:,} " in card


def test_sources_that_go_back_to_one_another_count_once_and_the_page_says_so() -> None:
    table = [source_at("LabeledIn", "6916|C0018213"), source_at("DrugCentral", "DOID:12361|DB00763")]
    topic = source_at("MPlusHealthTopics", "https://www.nlm.nih.gov/medlineplus/acutemyeloidleukemia.html")
    institute = source_at("CancerGov", "https://www.cancer.gov/types/leukemia/patient/adult-aml-treatment-pdq")
    assert (independent(table), independent([topic, institute]), independent([*table, topic, institute])) == (1, 1, 2)
    page = environment().from_string('{% from "macros.html" import stated_by %}{{ stated_by(sources) }}')
    told = page.render(sources=[*table, institute])
    assert "Stated by 3 sources, 2 of them independent:" in told
    assert told.count("(opens the drug&#39;s page at ") == 2
    assert "independent" not in page.render(sources=[table[0], institute])
    rule = source_at("CDC: decision support for vaccines", "CDSi Zoster 158")
    assert "(opens the source&#39;s front page)" in page.render(sources=[rule])


@pytest.mark.parametrize("name", bundled_names())
def test_every_identifier_that_a_set_names_opens(name: str) -> None:
    rows = [row for file in (f"{name}.csv", f"{name}.judged.csv") for row in rows_of(file)]
    named = [row for row in rows if not row["source"].startswith(EDITORS)]
    for row in named:
        if row["source_id"]:
            assert source_at(row["source"], row["source_id"]).address.startswith("https://"), row
    assert not any(row["source_id"] for row in rows if row not in named), "the editors have no page"
    without = sum(not row["source_id"] for row in named)
    assert without == (26 if name == "was-true" else 0), "the card of was-true says how many: 64 - 38"


def test_what_denies_a_fact_is_a_source_of_false_ones_alone() -> None:
    denying = re.compile(r" NOT$| \d+/\d+$")
    assert not any(denying.search(row["source_id"]) for row in rows_of("rare-core.csv"))
    assert all(denying.search(row["source_id"]) for row in rows_of("rare-core.judged.csv"))


def test_sampled_sources_were_opened_and_what_says_no_counts_no_longer() -> None:
    rows = list(rows_of("sources_opened.csv"))
    assert len(rows) == len({(row["dataset"], row["head"], row["relation"], row["tail"]) for row in rows}) == 60
    for row in rows:
        fact = next(
            fact
            for fact in load_bundled(row["dataset"]).facts
            if (fact.head, fact.relation, fact.tail) == (row["head"], row["relation"], row["tail"])
        )
        counts = row["source_id"] in {one.identifier for one in sources_of(fact)}
        assert row["says"] in {"yes", "partly", "no"}
        assert counts == ("no longer counts" not in row["remark"]), row
        assert counts or row["says"] != "yes"
        assert row["says"] != "no" or not counts
        assert "words" not in row, "no text of others"


def test_a_fact_has_each_source_once_and_its_own_first() -> None:
    for fact in load_bundled("rare-core").facts[:200]:
        assert sources_of(fact)[0].title == KINDS["Orphanet (HPO annotations)"].title
        assert max(Counter(one.title for one in sources_of(fact)).values()) == 1


def test_a_users_fact_has_no_link_of_ours_and_none_of_its_own() -> None:
    fact = next(fact for fact in load_bundled("clinical-core").facts if sources_of(fact))
    own = replace(fact, source="<b>my book</b>", source_id="https://example.org/page")
    assert sources_of(own) == ()
    assert has_source(own)
    assert "Stated by" not in shown(own)
    assert 'href="https://example.org' not in shown(own), "the registers of its identifiers alone are links"
    assert "&lt;b&gt;my book" in shown(own)
    assert not has_source(replace(own, source=None))


@pytest.mark.parametrize(
    ("source", "identifier"),
    [
        ("NIDDK", "javascript:alert(1)"),
        ("NIDDK", "https://www.niddk.nih.gov.example.org/page"),
        ("NIDDK", 'https://www.niddk.nih.gov/"onclick="x'),
        ("Mondo", "MONDO:0000001/../x"),
        ("LabeledIn", "१|C0000001"),
        ("nobody", "https://www.niddk.nih.gov/page"),
        ("web page", "https://example.org/page"),
        ("web page", "https://uktis.org.example.org/page"),
        ("web page", "https://example.org/?to=https://uktis.org/page"),
        ("web page", "https://uktis.org"),
        ("PubMed", "16469680"),
        ("PubMed Central", "PMC6148195/../x"),
        ("NCBI Bookshelf", "NBK572854/table/a/b"),
    ],
)
def test_what_is_of_no_declared_shape_is_no_link(source: str, identifier: str) -> None:
    assert source_at(source, identifier).address == ""


@pytest.mark.parametrize(
    ("source", "identifier", "title", "address"),
    [
        ("PubMed", "PMID:449947", "article, at PubMed", "https://pubmed.ncbi.nlm.nih.gov/449947/"),
        (
            "PubMed Central",
            "PMC6148195/table/T3",
            "article, at PubMed Central",
            "https://pmc.ncbi.nlm.nih.gov/articles/PMC6148195/table/T3/",
        ),
        ("NCBI Bookshelf", "NBK548249", "NCBI Bookshelf", "https://www.ncbi.nlm.nih.gov/books/NBK548249/"),
        ("article", "doi:10.1155/2018/2170484", "article", "https://doi.org/10.1155/2018/2170484"),
        (
            "web page",
            "http://jcsm.aasm.org/ViewAbstract.aspx?pid=31579",
            "Journal of Clinical Sleep Medicine",
            "https://jcsm.aasm.org/ViewAbstract.aspx?pid=31579",
        ),
    ],
)
def test_articles_and_listed_sites_open_under_a_plain_title(source: str, identifier: str, title: str, address: str) -> None:
    found = source_at(source, identifier)
    assert (found.title, found.address) == (title, address)


def test_a_listed_site_is_one_of_a_page_that_was_read_and_no_copy_of_another() -> None:
    """Whoever reads one more site lists it; no proxy, search or redirection is a source."""
    read = [
        row["source_id"] for name in bundled_names() for row in rows_of(f"{name}.sources.csv") if row["source"] == "web page"
    ]
    assert {urlsplit(page).netloc for page in read} == set(SITES)
    assert not [page for page in read if re.search(r"external-ref|utm_|proxy|scribd|researchgate", page)]


def test_every_false_fact_of_not_indicated_says_where_it_is_written() -> None:
    false = [fact for fact in load_bundled("not-indicated").facts if not fact.positive]
    assert len(false) == 500
    for fact in false:
        assert any(one.address.startswith("https://") for one in sources_of(fact)), (fact.head, fact.tail)


def test_the_page_links_each_source_with_its_day() -> None:
    fact = next(fact for fact in load_bundled("clinical-core").facts if len(sources_of(fact)) == 2)
    line = shown(fact)
    assert "Stated by 2 sources" in line
    assert line.count('target="_blank" rel="noopener noreferrer nofollow"') == 2
    assert "(read 2026-11-27)" in line


def test_a_run_of_sourced_facts_asks_no_other_and_keeps_the_same_aside() -> None:
    every, sourced = (select_facts(RunSpec("baseline:tail", sourced=flag)) for flag in (False, True))
    tested = [fact for fact in sourced.test if fact.positive]
    assert tested
    assert all(map(has_source, tested))
    assert {fact.fact_id for fact in tested} == {fact.fact_id for fact in every.test if fact.positive and has_source(fact)}
    assert sourced.shots == every.shots
    assert sum(sourced.population.values()) == len(tested)


def test_a_false_fact_that_is_nobodys_partner_needs_a_source_too() -> None:
    tested = select_facts(RunSpec("baseline:tail", dataset="not-indicated", sourced=True)).test
    assert all(has_source(fact) for fact in tested if fact.positive or fact.negative_of is None)


def test_a_file_that_names_no_source_is_said(tmp_path: Path) -> None:
    spec = RunSpec("baseline:tail", facts=str(write_csv(tmp_path / "facts.csv", make_fact_rows())), sourced=True)
    with pytest.raises(Mistake, match="names its source"):
        plan(spec)
    named = [row | {"source": "my book"} if row["tail"] != "sign03" else row | {"source": ""} for row in make_fact_rows()]
    made = plan(replace(spec, facts=str(write_csv(tmp_path / "named.csv", named))))
    assert "The run tests only facts that an outside source confirms, with their false partners." in made.notes
    assert {fact.source for fact in made.facts if fact.positive} == {"my book"}
