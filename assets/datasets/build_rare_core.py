"""Make `rare-core` from the Human Phenotype Ontology's own files, and from what joins other sources to them.

    python assets/datasets/build_rare_core.py FOLDER

FOLDER holds `hp.obo`, `phenotype.hpoa` and `genes_to_phenotype.txt` of one release; `orphanet_omim.tsv`, Mondo's joins of
Orphanet's diseases to OMIM's; `maxo_annotations.tsv`, treatments of rare diseases; and `medquad.parquet`, pages of US
institutes. What is made depends on these files alone.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rare_core_sources import ROOT, Ontology, Row, read_sources
from rare_core_truth import Truth

HERE = Path(__file__).parent
DISEASES, FACTS_A_DISEASE, FEWEST_FACTS = 400, 12, 8
MANY_FINDINGS = 12
FEWEST_HEADS = 3
"""A term that fewer diseases have as a finding is no candidate for others."""
MOST_SPREAD = 0.06
"""A term that a larger share of all Orphanet's diseases have, or one below it, is left out: it may be true without a word."""
MOST_TRUE = 0.6
"""A disease of which a larger share of the findings is true is left out: one of its annotations is too general."""
FINDING, GENE = "disease may have finding", "disease mapped to gene"
FINDING_TYPES, GENE_TYPES = ("Disease or Syndrome", "Finding"), ("Disease or Syndrome", "Gene or Genome")
SOURCE, OMIM = "Orphanet (HPO annotations)", "OMIM (HPO annotations)"
OFTEN = {"HP:0040280": "obligate", "HP:0040281": "very frequent"}
FREQUENT = "HP:0040282"
GENES_IN_DOUBT = {
    "Hallermann-Streiff syndrome",
    "Jacobsen syndrome",
    "Marshall syndrome",
    "Stickler syndrome",
    "TSH-secreting pituitary adenoma",
}
"""Diseases with other genes than the one that is listed, or with one that is no settled cause."""
SEEN_ANYWAY = {
    "Acne",
    "Arthralgia",
    "Astigmatism",
    "Back pain",
    "Constipation",
    "Decreased muscle mass",
    "Dental crowding",
    "Hypercholesterolemia",
    "Hyperlipidemia",
    "Increased body weight",
    "Inguinal hernia",
    "Insomnia",
    "Irritability",
    "Large for gestational age",
    "Melanocytic nevus",
    "Migraine",
    "Myalgia",
    "Myopia",
    "Nausea",
    "Obesity",
    "Osteoarthritis",
    "Otitis media",
    "Pes planus",
    "Poor appetite",
    "Premature birth",
    "Sinusitis",
    "Skin rash",
    "Slender build",
    "Small for gestational age",
    "Type II diabetes mellitus",
    "Umbilical hernia",
    "Vomiting",
}
"""Findings that many people have without the disease: a fact only where a second source gives them to it."""
ARGUABLE = {
    ("Refsum disease", "Skeletal dysplasia"),
    ("Vascular Ehlers-Danlos syndrome", "Melanocytic nevus"),
}
"""Annotations that a clinician may doubt, though a second source seems to agree."""
TRUE_BY_READING = {
    "Achondroplasia": {"Broad nasal tip", "Wide nasal base"},
    "Alström syndrome": {"Retinopathy"},
    "Amyotrophic lateral sclerosis": {"Cough"},
    "Autosomal recessive hypophosphatemic rickets": {"Chronic fatigue"},
    "Autosomal recessive malignant osteopetrosis": {"Large fontanelles"},
    "Cystinosis": {"Increased muscle lipid content"},
    "KBG syndrome": {"Bulbous nose"},
    "Mandibuloacral dysplasia": {"Subcutaneous nodule"},
    "Marshall-Smith syndrome": {"Tooth malposition"},
    "Microscopic polyangiitis": {"Hypertension"},
    "Panhypophysitis": {"Female hypogonadism"},
    "Pediatric-onset Graves disease": {"Hypothyroidism"},
    "Roussy-Lévy syndrome": {"Poor fine motor coordination"},
    "Turner syndrome": {"Decreased female libido"},
    "Walker-Warburg syndrome": {"Wide anterior fontanel"},
    "Werner syndrome": {"Arthritis"},
}
"""Findings of a disease that no annotation gives it in these words, and that its other findings or case reports do."""
LEARNED = {
    "Jacobsen syndrome": {"Decreased circulating antibody concentration", "Microtia"},
    "KBG syndrome": {"Broad nasal tip", "Prominent nose"},
    "Panhypophysitis": {"Male hypogonadism"},
    "Poliomyelitis": {
        "CSF pleocytosis",
        "Increased CSF protein concentration",
        "Neuronal loss in central nervous system",
        "Talipes equinovarus",
    },
    "Smith-Lemli-Opitz syndrome": {"Short nose"},
    "Treacher-Collins syndrome": {"Underdeveloped nasal alae"},
    "Turner syndrome": {"Increased susceptibility to fractures"},
}
"""The same, found when the set had been drawn. Sisters of what reading found, the findings below one of its parents, are barred
with it: where one name was missing, others may be.
"""
IN_SINGLE_PATIENTS = {
    "AGel amyloidosis": {"Muscle spasm"},
    "Chédiak-Higashi syndrome": {"Sparse hair"},
    "Jacobsen syndrome": {"Conductive hearing impairment"},
    "Nijmegen breakage syndrome": {"Lymphadenopathy"},
    "Schinzel-Giedion syndrome": {"Polyhydramnios"},
    "Wiskott-Aldrich syndrome": {"Hypertension", "Leukopenia"},
}
"""Findings of one to three published patients of a disease: too few for a fact, too many for a false one."""
LEARNED_ON = "2026-11-30"
NOSE = re.compile(r"\b(?:nose|nares|nasal (?:alae|base|bridge|ridge|tip))\b")
"""Findings of the nose and its parts: who looks at one part sees the others, and describes what the next observer does not."""
COUNTERPARTS = {"female": "male", "upper limb": "lower limb", "hand": "foot", "finger": "toe"}
"""Words of which one finding has the one, and its counterpart in the other sex or limb the other."""
STEPS_ABOVE = 2
"""Levels of the ontology that are kept above each term: what `medfact.negatives` calls a branch."""

_NAME = re.compile(r"[A-Z][^\W\d]+(?:[ -][^\W\d]+){0,3}")
_TOO_GENERAL = re.compile(r"abnormal|morphology|functional|phenotype|\bor\b|\bof the\b", re.IGNORECASE)
_NO_DISEASE = re.compile(r"deletion|duplication|related|trisomy|monosomy|chromosome|deficiency$|associated", re.IGNORECASE)


def place(*parts: str) -> str:
    """A fixed order that has nothing to do with the alphabet."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def is_told(disease: str, finding: str) -> bool:
    """Whether the finding's name stands in the disease's: nothing would be asked."""
    first = {word[:5] for word in re.findall(r"\w{4,}", disease.lower())}
    return any(word[:5] in first for word in re.findall(r"\w{4,}", finding.lower()))


def usable(identifier: str, ontology: Ontology) -> bool:
    """Whether a term can stand in a sentence and says something definite."""
    name = ontology.terms[identifier].name
    plain = len(name) <= 45 and name[0].isalpha() and not re.search(r"[(),/;:%]", name)
    return plain and not _TOO_GENERAL.search(name) and ROOT in ontology.above(identifier)


def spread_of(rows: Iterable[Row], ontology: Ontology) -> dict[str, float]:
    """Term → share of Orphanet's diseases that are annotated with it or with a term below it."""
    of_disease: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.disease.startswith("ORPHA") and not row.denied:
            of_disease[row.disease] |= {row.term, *ontology.above(row.term)}
    counts = Counter(term for terms in of_disease.values() for term in terms)
    return {term: count / len(of_disease) for term, count in counts.items()}


def chosen_diseases(rows: Iterable[Row], ontology: Ontology) -> dict[str, str]:
    """Identifier → name of Orphanet's diseases with a plain name: first those with a finding that curators deny, then those
    with most findings.
    """
    frequent: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    denied = {row.disease for row in rows if row.denied and usable(row.term, ontology)}
    for row in rows:
        common = not row.denied and row.frequency in (*OFTEN, FREQUENT) and usable(row.term, ontology)
        named = row.disease.startswith("ORPHA") and _NAME.fullmatch(row.name) and not _NO_DISEASE.search(row.name)
        if common and named:
            frequent[row.disease, row.name].add(row.term)
    many = [disease for disease in frequent if len(frequent[disease]) >= MANY_FINDINGS]
    ranked = sorted(many, key=lambda disease: (disease[0] not in denied, -len(frequent[disease]), disease))
    return dict(ranked[:DISEASES])


def chosen_facts(disease: str, name: str, rows: list[Row], allowed: set[str], ontology: Ontology) -> Iterator[Row]:
    """A disease's facts: what is obligate or very frequent first, then what is frequent."""
    own = {row.term: row for row in rows if row.disease == disease and not row.denied}
    good = [row for row in own.values() if row.term in allowed and not is_told(name, ontology.terms[row.term].name)]
    for often in (True, False):
        some = [row for row in good if (row.frequency in OFTEN) is often and row.frequency in (*OFTEN, FREQUENT)]
        yield from sorted(some, key=lambda row: place(disease, row.term))


# ---------------------------------------------------------------------------------------------- writing


def write(name: str, columns: list[str], rows: Iterable[Iterable[str]]) -> int:
    """Writes a table; how many rows it has."""
    rows = list(rows)
    with (HERE / f"rare-core{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    return len(rows)


def allowed_terms(rows: Iterable[Row], of_chosen: Iterable[Row], ontology: Ontology) -> set[str]:
    """The terms that enough of the chosen diseases often have, and few enough of all diseases have at all."""
    often = Counter(row.term for row in of_chosen if not row.denied and row.frequency in (*OFTEN, FREQUENT))
    spread = spread_of(rows, ontology)
    return {
        term
        for term, heads in often.items()
        if heads >= FEWEST_HEADS and spread[term] <= MOST_SPREAD and usable(term, ontology)
    }


def doubtful(disease: str, name: str, truth: Truth) -> set[str]:
    """The terms that are no fact about a disease, though it is annotated with them."""
    elsewhere, terms = truth.elsewhere(disease, name), truth.ontology.terms
    alone = {term for term in truth.annotated([disease]) - elsewhere if terms[term].name in SEEN_ANYWAY}
    return alone | {term for term in truth.annotated([disease]) if (name, terms[term].name) in ARGUABLE}


def facts_of(diseases: dict[str, str], of_chosen: list[Row], truth: Truth) -> tuple[list[list[str]], list[list[str]]]:
    """The rows of the table about findings, and those about genes, of diseases with enough findings."""
    ontology, genes = truth.ontology, truth.sources.genes
    allowed = allowed_terms(truth.sources.rows, of_chosen, ontology)
    findings, symbols = [], []
    for disease, name in diseases.items():
        clear = allowed - doubtful(disease, name, truth)
        listed = list(chosen_facts(disease, name, of_chosen, clear, ontology))[:FACTS_A_DISEASE]
        if len(listed) < FEWEST_FACTS:
            continue
        for row in listed:
            strength = "a common" if row.frequency in OFTEN else "a"
            term, source = ontology.terms[row.term].name, f"{disease} {row.term}"
            findings.append([name, FINDING, term, *FINDING_TYPES, disease, row.term, strength, SOURCE, source])
        if len(genes[disease]) == 1 and name not in GENES_IN_DOUBT:
            gene = f"{next(iter(genes[disease]))} gene"
            symbols.append([name, GENE, gene, *GENE_TYPES, disease, "", "a", SOURCE, disease])
    return findings, symbols


def denied_of(disease: str, name: str, rows: Iterable[Row], true: set[str], ontology: Ontology) -> Iterator[list[str]]:
    """The rows of the table about what curators deny of a disease, under any of its identifiers."""
    for row in rows:
        same = row.disease == disease or row.name.lower() == name.lower()
        if same and row.denied and row.term not in true and usable(row.term, ontology):
            term, source = ontology.terms[row.term].name, f"{row.disease} {row.term} {row.frequency or 'NOT'}"
            if not is_told(name, term):
                whose = OMIM if row.disease.startswith("OMIM:") else SOURCE
                yield [name, FINDING, term, *FINDING_TYPES, disease, row.term, whose, source]


def counterparts(finding: str) -> set[str]:
    """What a finding is called in the other sex, or of the other limbs: "Male hypogonadism" of "Female hypogonadism"."""
    pairs = [*COUNTERPARTS.items(), *((two, one) for one, two in COUNTERPARTS.items())]
    named = {re.sub(rf"\b{one}\b", two, finding.lower()) for one, two in pairs}
    return {name.capitalize() for name in named} - {finding}


def of_its_kind(head: str, facts: set[str], barred: set[str], parents: Mapping[str, set[str]]) -> list[list[str]]:
    """The rows of what is barred with the facts of a disease and with what is barred already, but for these.

    parents: a finding of the set → those directly above it, by name.
    """
    read = TRUE_BY_READING.get(head, set()) | LEARNED.get(head, set())
    above = set().union(*(parents.get(finding, set()) for finding in read))
    kinds = {
        "true by its other findings or case reports": read,
        "seen in single patients": IN_SINGLE_PATIENTS.get(head, set()),
        "below the same term as a finding that is true": {finding for finding, its in parents.items() if its & above},
        "of the nose, as a finding of the disease": {finding for finding in parents if NOSE.search(finding)}
        if any(map(NOSE.search, facts | read))
        else set(),
        "in the other sex": {name for finding in facts | barred | read if "male" in finding for name in counterparts(finding)},
        "of the other limbs": {name for finding in facts | read for name in counterparts(finding)},
    }
    rows, done = [], facts | barred
    for why, findings in kinds.items():
        if new := (findings & parents.keys()) - done:
            rows.append([head, FINDING, " | ".join(sorted(new)), LEARNED_ON, why])
            done = done | new
    return rows


def steps_above(terms: set[str], ontology: Ontology) -> list[tuple[str, str]]:
    """(name, broader name) of the terms and of those a few levels above them."""
    edges, level = set(), terms
    for _ in range(STEPS_ABOVE):
        steps = {(term, parent) for term in level for parent in ontology.terms[term].parents}
        edges |= steps
        level = {parent for _, parent in steps} - {ROOT}
    return sorted((ontology.terms[below].name, ontology.terms[above].name) for below, above in edges)


def main() -> None:
    """Reads the release, chooses, and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    sources = read_sources(parser.parse_args().folder)
    ontology, rows, truth = sources.ontology, sources.rows, Truth(sources)
    diseases = chosen_diseases(rows, ontology)
    findings, symbols = facts_of(diseases, [row for row in rows if row.disease in diseases], truth)
    tails, genes = {row[6] for row in findings}, {row[2] for row in symbols}
    true_of = {row[0]: truth.terms(row[5], row[0]) for row in findings}
    vague = {name for name, true in true_of.items() if len(true & tails) > MOST_TRUE * len(tails)}
    findings, symbols = ([row for row in made if row[0] not in vague] for made in (findings, symbols))
    parents = {row[2]: {ontology.terms[one].name for one in ontology.terms[row[6]].parents} for row in findings}
    also, learned, denied = [], [], []
    for name, disease in {row[0]: row[5] for row in findings}.items():
        said = {row[2] for row in findings + symbols if row[0] == name}
        barred = {ontology.terms[term].name for term in true_of[name] & tails}
        more = barred | TRUE_BY_READING.get(name, set())
        learned += of_its_kind(name, said & parents.keys(), more, parents)
        of_genes = {f"{gene} gene" for gene in truth.genes(disease, name)} & genes - said
        also += [
            [name, relation, " | ".join(sorted(true))] for relation, true in ((FINDING, more - said), (GENE, of_genes)) if true
        ]
        denied += denied_of(disease, name, rows, true_of[name], ontology)
    columns = ["head", "relation", "tail", "head_type", "tail_type", "head_id", "tail_id", "strength", "source", "source_id"]
    heads = len({row[0] for row in findings})
    print(write("", columns, findings + symbols), "facts about", heads, "diseases,", len(symbols), "of them about genes")
    print(len(vague), "diseases left out, of which too much may be true:", ", ".join(sorted(vague)))
    print(write(".also-true", ["head", "relation", "tail"], also), "rows of what is also true of diseases")
    print(write(".learned", ["head", "relation", "tail", "since", "why"], learned), "rows of what was learned since")
    print(write(".judged", [c for c in columns if c != "strength"], denied), "judged false")
    edges = steps_above(tails | {row[6] for row in denied}, ontology)
    print(write(".is-a", ["name", "broader"], edges), "steps of the ontology")


if __name__ == "__main__":
    main()
