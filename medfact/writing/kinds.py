"""The kinds of writing: what a language model can be told to write, each told once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from medfact.answers.prompts import FINAL_RETRY, LLM_EVAL, REPHRASE, RETRY, TEMPLATE, TEMPLATES, TERMS
from medfact.statements import IMPLICATIONS
from medfact.store import Run


@dataclass(frozen=True)
class WritingKind:
    """Something that a language model can be told to write.

    name: as the command line calls it.
    tasks: names of its instructions (`answers.INSTRUCTIONS`), one an attempt.
    does: what the writer does, before the name of the facts.
    set_name: what a set of its sentences is called, before the writer; "" where it writes none that can be asked.
    forms: of the templates that it drafts for a relation, in the order in which they are written.
    """

    name: str
    tasks: tuple[str, ...]
    does: str
    set_name: str = ""
    forms: tuple[str, ...] = ()


REPHRASING = WritingKind("rephrase", (REPHRASE, RETRY, FINAL_RETRY), "rephrases the sentence templates of", "rephrased by")
EIGHT_STATEMENTS = WritingKind("llmeval", (LLM_EVAL,), "writes eight statements about each fact of", "written by LLMEval with")
KINDS: Mapping[str, WritingKind] = {
    "rephrase": REPHRASING,
    "llmeval": EIGHT_STATEMENTS,
    "templates": WritingKind("templates", (TEMPLATES,), "drafts eight templates a relation of", forms=tuple(IMPLICATIONS)),
    "template": WritingKind("template", (TEMPLATE,), "drafts a template a relation of", forms=("none",)),
}
"""PretextTrans's rephrasing and LLMEval; our eight templates for every relation that has none, and MKJ's one."""

_TERMS = WritingKind("terms", (TERMS,), "writes about")
"""What a construction has written before its templates: no statement."""

_OF_TASK = {task: kind for kind in KINDS.values() for task in kind.tasks}


def writing_kind(run: Run) -> WritingKind:
    """The kind of a run that writes."""
    return _OF_TASK.get(str(run.spec.task), _TERMS)
