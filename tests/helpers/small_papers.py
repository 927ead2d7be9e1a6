"""Small files in the formats of MedLAMA, DiseK and MKJ; the papers' questions; and results of commands."""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Medfact = Callable[..., Any]
"""(arguments of the command line) → outcome, with `code`, `out`, `err` and `rows`."""

Row = dict[str, Any]
"""A parsed JSON line of a command's output."""

HEADS = 12
"""Heads per relation."""

HELD_OUT_HEADS = 5
"""Heads per relation that the protocols hold out."""

MEDLAMA = [
    "associated_morphology_of",
    "disease_has_abnormal_cell",
    "disease_has_associated_anatomic_site",
    "disease_has_normal_cell_origin",
    "disease_has_normal_tissue_origin",
    "disease_mapped_to_gene",
    "disease_may_have_associated_disease",
    "disease_may_have_finding",
    "disease_may_have_molecular_abnormality",
    "gene_encodes_gene_product",
    "gene_product_has_associated_anatomy",
    "gene_product_has_biochemical_function",
    "gene_product_plays_role_in_biological_process",
    "has_physiologic_effect",
    "may_prevent",
    "may_treat",
    "occurs_after",
]
"""The papers' 17 relations of MedLAMA's 19."""

INVERSES = {
    "gene_associated_with_disease": "disease_mapped_to_gene",
    "gene_product_encoded_by_gene": "gene_encodes_gene_product",
}
"""MedLAMA's other two relations → the relation whose inverse each is."""

MEDLAMA_COLUMNS = "head_cui head_name rel tail_cuis_list tail_names_list tail_names tail_cuis tail_cuis_len tail_names_len"
"""Header of MedLAMA's files."""

ODD_NAMES = {"h15n00": "[X] sequelae", "h15n01": 'Paget\'s "mammary" disease, NOS', "t15n02": "Ménière (H₁)", "t15n03": "[Y]"}
"""Names that break loaders, in the relation may_treat."""


def medlama_pairs(relation: str) -> list[tuple[str, str]]:
    """Returns the (head, tail) pairs of a relation of MEDLAMA: head i has the tails i and i + 1 (after the last, 0)."""
    number = MEDLAMA.index(relation)
    names = [(f"h{number:02}n{i:02}", f"t{number:02}n{(i + k) % HEADS:02}") for i in range(HEADS) for k in (0, 1)]
    return [(ODD_NAMES.get(head, head), ODD_NAMES.get(tail, tail)) for head, tail in names]


KNOWN_FACTS = {(head, relation, tail) for relation in MEDLAMA for head, tail in medlama_pairs(relation)}
"""(head, relation, tail) of all true facts in the files of MedLAMA and DiseK."""


def write_medlama(folder: Path, relations: Sequence[str] = (*MEDLAMA, *INVERSES)) -> Path:
    """Writes MedLAMA's files, one per relation, a head in each row with all its tails in lists; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for relation in relations:
        tails: defaultdict[str, list[str]] = defaultdict(list)
        for pair in medlama_pairs(INVERSES.get(relation, relation)):
            head, tail = reversed(pair) if relation in INVERSES else pair
            tails[head].append(tail)
        with (folder / f"{relation}_1000.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(MEDLAMA_COLUMNS.split())
            for head, names in tails.items():
                cuis = [f"C{name}" for name in names]
                lists = (cuis, names, " || ".join(names), " || ".join(cuis), len(cuis), len(names))
                writer.writerow([f"C{head}", head, relation, *lists])
    return folder


ASPECTS = {
    "symptoms": "sign",
    "affected sites": "site",
    "therapeutic drugs": "drug",
    "surgical procedures": "operation",
}
"""DiseK's aspect of a disease → beginning of the names of its entities."""


def make_disek_rows() -> list[dict[str, str]]:
    """Returns DiseK's rows: disease i has entity i of each aspect, and symptom i + 1 (after the last, 0)."""
    rows = []
    for i in range(HEADS):
        for aspect, entity in ASPECTS.items():
            rows.append({"disease": f"disease{i:02}", "aspect": aspect, "entity": f"{entity}{i:02}"})
        rows.append({"disease": f"disease{i:02}", "aspect": "symptoms", "entity": f"sign{(i + 1) % HEADS:02}"})
    return rows


KNOWN_FACTS |= {(row["disease"], row["aspect"], row["entity"]) for row in make_disek_rows()}

MKJ_SENTENCE = "The {} may be used to treat {}."
"""Statement of a tail and a head, in this order."""


def make_mkj_entry(i: int) -> dict[str, Any]:
    """Returns entry i of MKJ's file: a true statement about disease i and three false ones, all negated if 5 divides i."""
    head, tail, others = f"Disease {i}", f"drug-{i}a", [f"metal-{i}{c}" for c in "bcd"]
    sentence = "The {} does not treat {}." if i % 5 == 0 else MKJ_SENTENCE
    return {
        "original_triplet": {"subject": head, "predicate": "may be treated by", "object": tail},
        "semantic_type": [f"Type {i % 12}"],
        "pos_qa": {"statement": sentence.format(tail, head), "answer": True},
        "neg_qa": {"statement": [sentence.format(other, head) for other in others], "answer": False},
    }


def write_json(path: Path, content: Any) -> Path:
    """Writes a value as a JSON file, creates its folder if needed, and returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    return path


def make_triplets(*predicates: str) -> list[Row]:
    """Returns the contents of MKJ's `triplets_collection.json`: twelve triplets of each predicate."""
    rows = ((f"{p} subject{i:02}", p, f"{p.replace(' ', '')}object{i:02}") for p in predicates for i in range(HEADS))
    return [{"text": "…", "triplet": {"subject": s, "predicate": p, "object": o}} for s, p, o in rows]


# ------------------------------------------------------------------------- the papers' questions

PAPER = "{}, is the statement above true or false? Please answer True or False."
CODE = 'Statement: ": {}", is the statement above true or false? Please answer true/false.\nAnswer:'
FIGURE_8 = (
    "Given a statement, your task is to judge it true or false.\n"
    'Format your answer like this: "Answer: [True or False]".\n'
    "\n"
    "Statement: {}"
)
"""Questions about a statement, {}: in a paper's text, in its published code, and in Figure 8."""


def fill_sentence(sentence: str, head: str, tail: str) -> str:
    """Returns a prototype with the head in place of [X], and the tail in place of [Y]."""
    names = {"[X]": head, "[Y]": tail}
    return re.sub(r"\[[XY]\]", lambda slot: names[slot.group()], sentence)


def make_question(statement: str, source: str) -> str:
    """Returns the question about a statement.

    source: "paper" for the question of the paper's text, in which ", is" replaces the full stop of the statement; "code" for
    that of its published code, which quotes the whole statement.
    """
    return CODE.format(statement) if source == "code" else PAPER.format(statement.removesuffix(".").rstrip())


def make_shot(statement: str, label: bool, source: str) -> str:
    """Returns a demonstration: the question about a statement, its label and a line break.

    source: "paper" or "code", as of `make_question`. With "code", the label is in lower case, and a blank line follows.
    """
    question = make_question(statement, source)
    return f"{question} {str(label).lower()}\n\n" if source == "code" else f"{question} {label}\n"


def parse_shots(prompt: str, statement: str, source: str) -> list[tuple[str, bool]]:
    """Returns (statement, label) of each demonstration in a prompt.

    Asserts that the prompt is nothing but these demonstrations and the question about the statement. source: "paper" or "code".
    """
    final_question = make_question(statement, source)
    assert prompt.endswith(final_question)
    shots = prompt.removesuffix(final_question)
    demonstrations = [(text, label.lower() == "true") for text, label in re.findall(SHOT[source], shots)]
    assert shots == "".join(make_shot(text, label, source) for text, label in demonstrations)
    return demonstrations


SHOT = {
    "paper": r"(.+), is the statement above true or false\? Please answer True or False\. (True|False)\n",
    "code": r'Statement: ": (.+)", is the statement above true or false\? Please answer true/false\.\nAnswer: (true|false)\n\n',
}
"""Source of a question → pattern of its demonstrations, with the statement and the label as groups."""


# ------------------------------------------------------------------------- the command line


def command_rows(outcome: Any) -> list[Row]:
    """Asserts that a command succeeded, and returns the parsed JSON lines of its output."""
    assert outcome.code == 0, outcome.err
    rows: list[Row] = outcome.rows
    return rows


def error_line(outcome: Any) -> str:
    """Asserts that a command failed with exit code 2 and one line of message; returns that line of the error output."""
    assert outcome.code == 2, outcome.err
    assert outcome.out == ""
    (line,) = (line for line in outcome.err.splitlines() if not line.startswith("note: "))
    assert line.startswith("medfact: ")
    assert "Traceback" not in line
    return str(line)


def note_lines(outcome: Any) -> list[str]:
    """Returns the notes in the error output of a command, without the prefix "note: "."""
    return [line.removeprefix("note: ") for line in outcome.err.splitlines() if line.startswith("note: ")]


def run_baseline(medfact: Medfact, protocol: str, facts: Path, *more: object, model: str = "random") -> Row:
    """Executes one run of a baseline by the command line, and returns its row.

    protocol: such as "mkj". facts: file or folder of the data. more: further arguments. model: name of the baseline.
    """
    (row,) = command_rows(medfact("run", "--protocol", protocol, "--facts", facts, "--model", f"baseline:{model}", *more))
    return row


def report_run(medfact: Medfact, run: str) -> Row:
    """Returns the report of a run, by its id, as the command line prints it in JSON."""
    (report,) = command_rows(medfact("report", run, "--json"))
    return report
