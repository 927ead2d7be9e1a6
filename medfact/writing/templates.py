"""Sentence templates that a language model drafts for relations without prototypes (MKJ, Section 3.3). Nothing is asked with
them before a person has accepted them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from medfact.answers.prompts import LLM_EVAL_STATEMENTS, TEMPLATE, TEMPLATES
from medfact.datasets import Collection
from medfact.errors import Mistake, PoolError
from medfact.facts import Fact
from medfact.prototypes import Pool
from medfact.prototypes.pool_files import build_pool, problems_by_form
from medfact.statements import VARIANTS, Statement
from medfact.writing.guards import HEAD, TAIL, denials_in, masked, names_in_a_sentence
from medfact.writing.kinds import KINDS

MOST_WORDS = 60
"""A longer line is prose, not a statement."""

_BULLET = re.compile(
    r"^\s*(?:[-*•–—>]+\s+|\(?\d{1,2}[.):]\s*|\d{1,2}\s+(?=[A-Z])|[a-h][.)]\s+|(?:statement|sentence)\s+\d{1,2}\s*[:.)-]\s*)+",
    re.IGNORECASE,
)
_INTRODUCES = re.compile(
    r":\s*$|^\s*(?:here (?:are|is)|sure\b|certainly\b|of course\b|below (?:are|is)|the following\b|these are\b|based on the\b|"
    r"note\b|i hope\b|let me\b|knowledge triplet\b)",
    re.IGNORECASE,
)
_QUOTES = "\"'“”‘’«»`*_ \t"


def usable_lines(reply: str) -> tuple[str, ...]:
    """The statements in a reply: its lines without numbers, bullets and quotation marks. Left out are empty lines,
    introductions, questions, what has fewer than three words or more than MOST_WORDS, and what stands there twice.
    """
    return tuple(dict.fromkeys(_statements(reply)))


def eight_of(reply: str) -> tuple[str, ...] | None:
    """The first eight statements of a reply, or None if it has fewer: then its fact is left out."""
    lines = usable_lines(reply)
    return lines[:LLM_EVAL_STATEMENTS] if len(lines) >= LLM_EVAL_STATEMENTS else None


def without_bullet(line: str) -> str:
    """A line without its number or bullet, and without quotation marks around it."""
    return _BULLET.sub("", line).strip(_QUOTES)


def _statements(reply: str) -> Iterator[str]:
    for line in reply.replace("\\n", "\n").splitlines():
        if _INTRODUCES.search(line):
            continue
        text = " ".join(without_bullet(line).split())
        if text and "?" not in text and 3 <= len(text.split()) <= MOST_WORDS:
            yield text if text.endswith((".", "!")) else f"{text}."


FORMS = {kind.tasks[0]: kind.forms for kind in KINDS.values() if kind.forms}
"""Task → the forms that it drafts."""

_VERBS = (
    "affect",
    "arise",
    "cause",
    "encode",
    "follow",
    "indicate",
    "involve",
    "occur",
    "precede",
    "prevent",
    "produce",
    "treat",
)
OPERATORS = (
    *((f" {verb} ", f" {verb} not ") for verb in ("is", "are", "was", "were")),
    (" can ", " cannot "),
    (" can be ", " cannot be "),
    *((f" {verb} ", f" do not {verb} ") for verb in ("include", "have", "undergo", *_VERBS)),
    *((f" {verb}s ", f" does not {verb} ") for verb in ("include", *_VERBS)),
    (" has ", " does not have "),
    (" {has|have} ", " {does|do} not have "),
)
"""Affirmed → denied: a drafted denial differs from its sentence by one of these alone."""

_LABELS = re.compile(r"^\s*(?:your generated statement|statement|sentence|template)\s*+(?:\d++\s*+)?[:.)-]\s*", re.IGNORECASE)
_TOO_STRONG = re.compile(r"\b(?:should|must|always|never|only|likely|probabl[ey]|certainly)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Draft:
    """What a model drafted for a relation.

    sentences: by form, with [X] and [Y]; fewer than the forms where fewer were written. problem: the rule that they break, as a
    sentence; None where they break none. example: the fact that the model was shown. reply: what it wrote.
    """

    relation: str
    sentences: Mapping[str, str]
    problem: str | None
    example: Fact
    reply: str


def examples_of(collection: Collection, pool: Pool, task: str) -> Iterator[Statement]:
    """A statement for each relation that a pool does not state: its first fact, as the instruction shows it.

    Raises Mistake if there is no such relation.
    """
    first: dict[str, Fact] = {}
    for fact in collection.facts:
        if fact.positive and fact.tail and not pool.states(fact) and pool.withheld_reason(fact.relation) is None:
            first.setdefault(fact.relation, fact)
    if not first:
        raise Mistake(
            f"The sentences {pool.title!r} state every relation of {collection.name}: none needs a draft.",
            "Choose facts of your own whose relation is new.",
        )
    for fact in first.values():
        yield Statement(fact, task, "none", shown_triplet(fact, task))


def shown_triplet(fact: Fact, task: str) -> str:
    if task == TEMPLATE:
        return json.dumps({"subject": fact.head, "predicate": fact.relation, "object": fact.tail}, ensure_ascii=False)
    return "(" + ", ".join(json.dumps(text, ensure_ascii=False) for text in (fact.head, fact.relation, fact.tail)) + ")"


def draft_in(reply: str, example: Fact, task: str) -> Draft:
    """The draft in a reply: its first lines that look like sentences, one a form."""
    forms = FORMS[task]
    lines = [text for line in reply.replace("\\n", "\n").splitlines() if (text := _slotted(line, example))]
    sentences = dict(zip(forms, lines, strict=False))
    return Draft(example.relation, sentences, problem_of(example.relation, sentences, forms), example, reply)


def _slotted(line: str, example: Fact) -> str:
    """A line without its number, and with slots for names; "" for what states nothing."""
    text = " ".join(without_bullet(_LABELS.sub("", line)).split())
    names = names_in_a_sentence(example.head), names_in_a_sentence(example.tail or "")
    text = masked(text, *names).replace(HEAD, "[X]").replace(TAIL, "[Y]")
    return text if len(text.split()) >= 3 and ("[X]" in text or "[Y]" in text) else ""


def problem_of(relation: str, sentences: Mapping[str, str], forms: Iterable[str]) -> str | None:
    """The first rule that a relation's sentences break, as a sentence; None if they break none.

    Beside the rules of pool files: an affirmed sentence denies nothing, a denied one once; one sentence, one full stop;
    nothing stronger or weaker than the relation itself; no sentence twice.
    """
    try:
        build_pool(Path("the draft"), _record([(relation, sentences)], tuple(forms)))
    except PoolError as error:
        return error.problem
    problems = problems_of(sentences, tuple(forms), OPERATORS)
    return next((f"the draft, relation {relation!r}, form {form!r}: {why}" for form, why in problems.items()), None)


def problems_of(sentences: Mapping[str, str], forms: Sequence[str], operators: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Form → the first rule that its sentence breaks; forms without a problem are not in it. operators: of negation, affirmed →
    denied; where there are none, a denial need only differ.
    """
    return problems_by_form(sentences, forms, operators, _broken_rule)


def _broken_rule(form: str, text: str) -> str | None:
    wanted = int(VARIANTS[form].negated)
    if denials_in(text) != wanted:
        return "it denies something, and should affirm." if not wanted else "it does not deny once."
    if strong := _TOO_STRONG.search(text):
        return f"it says “{strong.group()}”: that is another claim."
    if len(re.findall(r"[.!?](?=\s|$)", text)) != 1 or not text.endswith("."):
        return "it is not one sentence with one full stop."
    return None


def _record(drafts: Iterable[tuple[str, Mapping[str, str]]], forms: tuple[str, ...]) -> dict[str, Any]:
    return {
        "forms": list(forms),
        "operators": [list(pair) for pair in OPERATORS] if len(forms) > 1 else [],
        "relations": {relation: {"sentences": dict(sentences)} for relation, sentences in drafts},
    }


def pool_file(drafts: Mapping[str, Mapping[str, str]], task: str, writer: str, accepted: str, extends: str) -> str:
    """A pool file, as YAML, of drafts: relation → sentences. accepted: when a person accepted them; "" if nobody has.

    extends: the pool that states the other relations. Raises Mistake where there is no draft.
    """
    if not drafts:
        raise Mistake("There is no draft to use.", "Accept one first; a draft that breaks a rule can be edited.")
    forms = FORMS[task]
    head = {
        "name": "drafted",
        "title": f"drafted by {writer}"[:200],
        "drafted_by": writer,
        **({"accepted": accepted} if accepted else {}),
        **({"extends": extends} if extends else {}),
        "grammar": task == TEMPLATES,
    }
    return yaml.safe_dump({**head, **_record(drafts.items(), forms)}, allow_unicode=True, sort_keys=False, width=1_000)
