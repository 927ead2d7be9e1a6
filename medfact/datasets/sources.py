"""Sources of facts: those that state a bundled fact, with links that open, and registers of identifiers.

`NAME.sources.csv` beside a bundled set holds what an editor read at each proposed source, or what identifiers tell: whether it
states the fact. What states it counts, as does the source that the set itself names. Where a source's identifiers open is told
once, in `KINDS`: an address that is of no such shape becomes no link, and a user's file adds none. A page of a site that is
no kind of its own is a "web page", if `SITES` lists its host.

Sources that go back to one another are a family and count once where independent ones are counted: tables made from labels of
the FDA, GARD's lists of findings and Orphanet, and a page of MedlinePlus and the institute that it credits at its end
(`source_credits.csv`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from typing import NamedTuple

from medfact.datasets.bundled import bundled_names, rows_of
from medfact.datasets.bundled import sources as source_descriptions
from medfact.facts import Fact

EDITORS = "medfact editors"
"""What a fact's source begins with where nobody but this project states it."""

STATES = "states"
"""The decision of a source that says what the fact says, in words of its own."""


class Kind(NamedTuple):
    """A kind of source: what it is called, what its identifiers look like, and where one opens.

    family: the name that it shares with kinds that go back to the same source, "" if there are none.
    opens: what opens in place of the page that states the fact, "" if that page does.
    """

    title: str
    shape: str
    address: str
    family: str = ""
    opens: str = ""


def _pages(title: str, host: str) -> Kind:
    """A kind whose identifiers are the addresses of its pages."""
    return Kind(title, rf"https?://({re.escape(host)}/[\w./%?=&+,:;()~#-]*)", r"https://\1")


SITES: Mapping[str, str] = {
    "acgcasereports.gi.org": "ACG Case Reports Journal",
    "beta.nhs.uk": "NHS, United Kingdom",
    "choosingwiselyitaly.org": "Choosing Wisely Italy",
    "dailymed.nlm.nih.gov": "FDA label, at DailyMed",
    "emedicine.medscape.com": "Medscape",
    "jcsm.aasm.org": "Journal of Clinical Sleep Medicine",
    "jnnp.bmj.com": "Journal of Neurology, Neurosurgery and Psychiatry",
    "journals.lww.com": "Obstetrics & Gynecology",
    "jsurgacad.com": "Journal of Surgical Academia",
    "karger.com": "article, at Karger",
    "kclpure.kcl.ac.uk": "article, at King's College London",
    "koreamed.org": "article, at KoreaMed",
    "medicinesinpregnancy.org": "UK Teratology Information Service",
    "oncotarget.com": "Oncotarget",
    "pfizermedicalinformation.com": "FDA label, at Pfizer",
    "research.rug.nl": "article, at the University of Groningen",
    "rightdecisions.scot.nhs.uk": "NHS Scotland",
    "scilit.com": "article, at Scilit",
    "sma.org": "Southern Medical Journal",
    "synapse.koreamed.org": "article, at KoreaMed",
    "uktis.org": "UK Teratology Information Service",
    "www.aafp.org": "American Family Physician",
    "www.accessdata.fda.gov": "US Food and Drug Administration",
    "www.acog.org": "American College of Obstetricians and Gynecologists",
    "www.bloodresearch.or.kr": "Blood Research",
    "www.cdph.ca.gov": "California Department of Public Health",
    "www.cureus.com": "Cureus",
    "www.drugs.com": "package leaflet, at Drugs.com",
    "www.lhp.leedsth.nhs.uk": "NHS, Leeds Teaching Hospitals",
    "www.medicinesinpregnancy.org": "UK Teratology Information Service",
    "www.mhra.gov.uk": "MHRA, United Kingdom",
    "www.msdmanuals.com": "MSD Manual",
    "www.nps.org.au": "package leaflet, at NPS MedicineWise",
    "www.scilit.net": "article, at Scilit",
    "wwwnc.cdc.gov": "CDC, Emerging Infectious Diseases",
}
"""Host of a page that an editor read → what a reader of the link is told."""

_DRUGBANK = r"https://go.drugbank.com/drugs/\1"
_LABELS, _ORPHANET = "FDA labels", "Orphanet"
_FRONT_PAGE, _OF_A_DRUG, _A_SEARCH = "the source's front page", "the drug's page at DrugBank", "a search for the term"

KINDS: Mapping[str, Kind] = {
    "ANSM: thesaurus of interactions": Kind(
        "ANSM (France), thesaurus of drug interactions",
        r"20\d\d-\d\d [\w .'-]+ \+ [\w .'-]+",
        "https://ansm.sante.fr/documents/reference/thesaurus-des-interactions-medicamenteuses-1",
        opens=_FRONT_PAGE,
    ),
    "CDC: decision support for vaccines": Kind(
        "CDC, decision support for immunization",
        r"CDSi [\w -]+ \d{3}",
        "https://www.cdc.gov/iis/cdsi/index.html",
        opens=_FRONT_PAGE,
    ),
    "CDC": _pages("CDC", "www.cdc.gov"),
    "CancerGov": _pages("National Cancer Institute", "www.cancer.gov"),
    "ChEBI": Kind("ChEBI", r"CHEBI:(\d{1,7})", r"https://www.ebi.ac.uk/chebi/searchId.do?chebiId=CHEBI:\1"),
    "DrugCentral": Kind(
        "DrugCentral", r"(?:DOID:\d{1,9}\|)?(DB\d{5})(?:\|N\d{10})?", _DRUGBANK, family=_LABELS, opens=_OF_A_DRUG
    ),
    "EFO": Kind("Experimental Factor Ontology", r"EFO:(\d{7})", r"https://www.ebi.ac.uk/ols4/search?q=EFO:\1"),
    "FDA label: contraindicated": _pages("FDA label, at DailyMed", "dailymed.nlm.nih.gov")._replace(family=_LABELS),
    "Federal Register": Kind(
        "Federal Register of the United States", r"(\d{1,3}) FR (\d{1,6})", r"https://www.federalregister.gov/citation/\1-FR-\2"
    ),
    "GARD": Kind(
        "Genetic and Rare Diseases Information Center",
        r"https://rarediseases\.info\.nih\.gov/gard/(\d{1,6})/([\w%.,-]+)",
        r"https://rarediseases.info.nih.gov/diseases/\1/\2",
        family=_ORPHANET,
    ),
    "GHR": Kind(
        "MedlinePlus Genetics",
        r"https?://ghr\.nlm\.nih\.gov/(condition|gene)/([\w%.-]+)",
        r"https://medlineplus.gov/genetics/\1/\2/",
    ),
    "Gene Ontology, experimental evidence": Kind(
        "Gene Ontology, experimental evidence", r"\d{1,9}\|(GO:\d{7})", r"https://amigo.geneontology.org/amigo/term/\1"
    ),
    "Human Disease Ontology": Kind(
        "Human Disease Ontology", r"(DOID:\d{1,9})(?:\|\w+:\d{7})?", r"https://disease-ontology.org/?id=\1"
    ),
    "LabeledIn": Kind(
        "LabeledIn",
        r"(\d{1,9})\|C\d{7}",
        r"https://mor.nlm.nih.gov/RxNav/search?searchBy=RXCUI&searchTerm=\1",
        family=_LABELS,
        opens="the drug's page at RxNav",
    ),
    "MAxO": Kind(
        "Medical Action Ontology",
        r"MONDO:\d{7}\|(MAXO:\d{7})\|HP:\d{7}",
        r"https://www.ebi.ac.uk/ols4/search?q=\1",
        opens=_A_SEARCH,
    ),
    "MPlusHealthTopics": Kind(
        "MedlinePlus", r"https?://www\.nlm\.nih\.gov/medlineplus/([\w%.-]+\.html)", r"https://medlineplus.gov/\1"
    ),
    "Mondo": Kind("Mondo", r"MONDO[:_](\d{7})(?:\|UBERON_\d{7})?", r"https://monarchinitiative.org/MONDO:\1"),
    "NCBI Bookshelf": Kind("NCBI Bookshelf", r"(NBK\d{1,9}(?:/table/[\w-]+)?)", r"https://www.ncbi.nlm.nih.gov/books/\1/"),
    "NCBI Gene": Kind("NCBI Gene", r"(\d{1,9})", r"https://www.ncbi.nlm.nih.gov/gene/\1"),
    "NHLBI": _pages("NHLBI, NIH", "www.nhlbi.nih.gov"),
    "NIDDK": _pages("NIDDK, NIH", "www.niddk.nih.gov"),
    "NIHSeniorHealth": Kind(
        "NIHSeniorHealth, as archived",
        r"https?://(nihseniorhealth\.gov/[\w./%-]*)",
        r"https://web.archive.org/web/2017/http://\1",
    ),
    "NINDS": _pages("NINDS, NIH", "www.ninds.nih.gov"),
    "OMIM (HPO annotations)": Kind(
        "OMIM, by HPO's annotations", r"OMIM:(\d{6})(?: HP:\d{7}(?: \d{1,4}/\d{1,4})?)?", r"https://omim.org/entry/\1"
    ),
    "Orphanet (HPO annotations)": Kind(
        "Orphanet, by HPO's annotations",
        r"ORPHA:(\d{1,6})(?: HP:\d{7}(?: NOT)?)?",
        r"https://www.orpha.net/en/disease/detail/\1",
        family=_ORPHANET,
    ),
    "PharmacotherapyDB": Kind("PharmacotherapyDB", r"DOID:\d{1,9}\|(DB\d{5})", _DRUGBANK, family=_LABELS, opens=_OF_A_DRUG),
    "PubMed": Kind("article, at PubMed", r"PMID:(\d{1,8})", r"https://pubmed.ncbi.nlm.nih.gov/\1/"),
    "PubMed (HPO annotations)": Kind(
        "article, by HPO's annotations", r"PMID:(\d{1,8}) HP:\d{7}", r"https://pubmed.ncbi.nlm.nih.gov/\1/"
    ),
    "PubMed Central": Kind(
        "article, at PubMed Central", r"(PMC\d{1,9}(?:/table/[\w-]+)?)", r"https://pmc.ncbi.nlm.nih.gov/articles/\1/"
    ),
    "UniProt": Kind("UniProt", r"DI-(\d{5})", r"https://www.uniprot.org/diseases/DI-\1"),
    "article": Kind("article", r"doi:(10\.\d{4,9}/[\w.()/-]+)", r"https://doi.org/\1"),
    "web page": Kind(
        "web page",
        rf"https?://(?P<site>{'|'.join(map(re.escape, SITES))})(/[\w./%?=&+,:;()~#-]*)",
        r"https://\g<site>\2",
    ),
}
"""Name of a source, as the files of the bundled sets have it → its kind."""


class Source(NamedTuple):
    """A source that states a fact. address: where it opens, "" if it has none. read_on: the day on which it was read or
    compared, "" for the source from which the fact was taken. family, opens: as of its kind.
    """

    title: str
    identifier: str
    address: str
    read_on: str = ""
    family: str = ""
    opens: str = ""


def sources_of(fact: Fact) -> tuple[Source, ...]:
    """The sources that state a bundled fact, its own first; () where none does, and for the facts of a user."""
    return _known().get(_key(fact.head, fact.relation, fact.tail, fact.positive, fact.source, fact.source_id), ())


def independent(sources: Iterable[Source]) -> int:
    """Number of sources, those of one family counted once."""
    return len({source.family for source in sources})


def has_source(fact: Fact) -> bool:
    """Whether somebody besides this project's editors states a fact. A user's file says so itself, by naming a source."""
    return bool(sources_of(fact)) or not (fact.source or EDITORS).startswith(EDITORS)


def _key(*of_a_fact: object) -> tuple[str, ...]:
    return tuple("" if value is None else str(value) for value in of_a_fact)


@cache
def _known() -> Mapping[tuple[str, ...], tuple[Source, ...]]:
    """What identifies a bundled fact with its own source → the sources that state it."""
    stated: defaultdict[tuple[str, ...], list[tuple[str, Source]]] = defaultdict(list)
    for row in chain.from_iterable(rows_of(f"{name}.sources.csv") for name in bundled_names()):
        if row["decision"] == STATES:
            place = stated[_key(row["head"], row["relation"], row["tail"])]
            place.append((row["source"], source_at(row["source"], row["source_id"], row["read_on"])))
    found: dict[tuple[str, ...], tuple[Source, ...]] = {}
    for name in bundled_names():
        for row in rows_of(f"{name}.csv"):
            positive, own, identifier = row.get("positive", "true") == "true", row["source"], row["source_id"]
            first = {} if own.startswith(EDITORS) else {own: source_at(own, identifier)}
            if sources := first | {
                name: one for name, one in stated[_key(row["head"], row["relation"], row["tail"])] if name not in first
            }:
                key = _key(row["head"], row["relation"], row["tail"], positive, own, identifier)
                found[key] = tuple(sources.values())
    return found


def source_at(name: str, identifier: str, read_on: str = "") -> Source:
    """A source by its name and identifier, with an address if both are of a declared kind."""
    kind = KINDS.get(name, Kind(name, r"(?!)", ""))
    credited = _credits().get(identifier, name)
    family = KINDS[credited].family or credited if credited in KINDS else name
    found = re.fullmatch(kind.shape, identifier, re.ASCII)
    if not found:
        return Source(kind.title, identifier, "", read_on, family)
    title = SITES.get(found.groupdict().get("site", ""), kind.title)
    return Source(title, identifier, found.expand(kind.address), read_on, family, kind.opens)


@cache
def _credits() -> Mapping[str, str]:
    """Page of MedlinePlus → the name of the source that it credits."""
    return {row["source_id"]: row["credits"] for row in rows_of("source_credits.csv")}


REGISTERS = {
    r"DOID:\d{1,9}": ("Disease Ontology", "https://disease-ontology.org/?id={}"),
    r"DB\d{5}": ("DrugBank", "https://go.drugbank.com/drugs/{}"),
    r"UBERON:\d{7}": ("Uberon, an atlas of anatomy", "https://www.ebi.ac.uk/ols4/search?q={}"),
    r"SYMP:\d{7}": ("Symptom Ontology", "https://www.ebi.ac.uk/ols4/search?q={}"),
    r"https://dailymed\.nlm\.nih\.gov/dailymed/search\.cfm\?labeltype=all&query=[\w%+-]+": (
        "the drug's labels at DailyMed",
        "{}",
    ),
}
"""Shape of an identifier → the register's name, and the address of an entry. Nothing else from a file becomes a link."""


def about_source(name: str) -> str:
    """The description of a source of the bundled sets; "" for other sources."""
    return source_descriptions().get(name, "")


def links_of(fact: Fact) -> list[tuple[str, str, str]]:
    """The identifiers of a fact that a register has: identifier, name of the register, address there."""
    identifiers = dict.fromkeys(filter(None, (fact.head_id, fact.tail_id, fact.source_id)))
    return [
        (identifier, register, address.format(identifier))
        for identifier in identifiers
        for shape, (register, address) in REGISTERS.items()
        if re.fullmatch(shape, identifier)
    ]
