"""The command that makes facts from one's own documents: they propose, reviewers decide, what is accepted is a facts file."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from medfact.cli import OK, print_data, say
from medfact.cli.rows import check_output, emit, kept
from medfact.curation.beginning import RELATIONS, Begun, begin
from medfact.curation.checks import (
    ACCEPTED,
    MENDED,
    REFUSED,
    WRONG_ON_PURPOSE,
    candidate_row,
    candidate_text,
    check_closable,
    curation_row,
    decided,
    fact_rows,
    following,
    last_of,
    outcome_row,
    outcome_text,
    progress_of,
    settled,
    standing,
    withdrawn,
)
from medfact.curation.proposals import Proposing
from medfact.datasets.table_writer import json_line
from medfact.datasets.text import one_line
from medfact.errors import Mistake
from medfact.facts import normalize_space
from medfact.results.wording import counted
from medfact.store import Candidate, Curation, Store

DECIDED = {"accept": ACCEPTED, "mend": MENDED, "refuse": REFUSED}
"""What is typed → the decision."""

_HOW = ("per_relation", "passages", "controls", "seed")
_TO_MEND = ("head", "relation", "tail")
_OF_A_PROJECT = ("reviewer", "decide", "number", "note", "export", "by", "erase", "close", *_TO_MEND)


def curate(options: argparse.Namespace) -> int:
    """Begins a curation from documents; goes on with one (--project); or lists all."""
    if options.documents:
        _check_unused(options, ("project", *_OF_A_PROJECT), "it belongs to a curation that is begun", "Leave out DOCUMENTS.")
        return _begun(options)
    _check_unused(
        options,
        ("diseases", "relations", "names", "column", "name", "encoder", "reviewers", *_HOW),
        "there are no documents",
        "Name a file or a folder of documents first.",
    )
    store = kept(options.db)
    if not options.project:
        _check_unused(options, _OF_A_PROJECT, "no curation is named", "Add --project ID; `curate` alone lists them.")
        listed = ((one, progress_of(one, standing(store.curations.log(one.curation)))) for one in store.curations.listed())
        return emit((curation_row(*one) for one in listed), options.output)
    return _with_project(options, store, store.curations.one(options.project))


def _check_unused(options: argparse.Namespace, names: Iterable[str], why: str, hint: str) -> None:
    """Raises Mistake for an option that would change nothing."""
    typed = next((name for name in names if getattr(options, name) is not None and getattr(options, name) is not False), None)
    if typed:
        raise Mistake(f"--{typed.replace('_', '-')} would change nothing: {why}.", hint)


def _typed(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """The options of these names that were typed."""
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _begun(options: argparse.Namespace) -> int:
    if not options.diseases or not options.relations:
        raise Mistake("A curation needs diseases and relations.", f"Add --diseases FILE and {RELATIONS}.")
    asked = Begun(
        Path(options.documents),
        Path(options.diseases),
        tuple(options.relations.split(",")),
        Path(options.names) if options.names else None,
        options.column,
        options.encoder or "",
        options.name or "",
        **_typed(options, ("reviewers",)),
        how=Proposing(**_typed(options, _HOW)),
    )
    check_output(options.output)
    store = Store(options.db)
    made = begin(asked, store, say)
    candidates = store.curations.candidates(made.curation)
    if options.output:
        emit((candidate_row(one, made.candidates) for one in candidates), options.output)
    print_data(json_line(curation_row(made, progress_of(made, {}))))
    say(f"{counted(made.candidates, 'candidate')} to check, by {counted(made.reviewers, 'reviewer')}. {WRONG_ON_PURPOSE}")
    say("check them in `medfact app`, on Facts, tab From documents, or here:")
    say(f"medfact curate --project {made.curation[:8]} --reviewer NAME")
    return OK


def _with_project(options: argparse.Namespace, store: Store, curation: Curation) -> int:
    candidates = store.curations.candidates(curation.curation)
    if options.erase:
        rest = ("output", *(name for name in _OF_A_PROJECT if name != "erase"))
        _check_unused(options, rest, "--erase removes the whole curation", "Leave one of the two out; export first.")
        store.curations.erase(curation.curation)
        say(f"{curation.name} is erased, with {counted(len(candidates), 'candidate')} and all decisions")
        return OK
    if options.close:
        rest = ("output", *(name for name in _OF_A_PROJECT if name != "close"))
        _check_unused(options, rest, "--close ends the checking", "Leave one of the two out; export afterwards.")
        progress = progress_of(curation, standing(store.curations.log(curation.curation)))
        check_closable(progress)
        store.curations.close(curation.curation)
        say(f"{curation.name} is closed; facts are what {progress.wanted} or more have checked: add --export FILE")
        return OK
    _check_unused(options, ("output",), "a curation that is begun writes its facts", "Use --export FILE.")
    if options.export:
        of_a_reviewer = (name for name in _OF_A_PROJECT if name not in ("export", "by", "erase"))
        _check_unused(options, of_a_reviewer, "--export writes what all have accepted", "Leave one of the two out.")
        return _exported(options, store, curation, candidates)
    _check_unused(options, ("by",), "nothing is exported", "Add --export FILE.")
    if options.reviewer:
        return _checked(options, store, curation, candidates)
    _check_unused(options, (*_OF_A_PROJECT,), "nobody is named", "Add --reviewer NAME.")
    said = standing(store.curations.log(curation.curation))
    if options.json:
        print_data(json_line(outcome_row(curation, candidates, said)))
    else:
        print("\n".join(map(one_line, outcome_text(curation, candidates, said))))
    return OK


def _exported(options: argparse.Namespace, store: Store, curation: Curation, candidates: list[Candidate]) -> int:
    check_output(options.export)
    said = standing(store.curations.log(curation.curation))
    progress, rule = progress_of(curation, said), options.by or "all"
    if progress.finished < progress.wanted or progress.finished < len(progress.done):
        say(
            f"note: {progress.finished} of {counted(progress.wanted, 'reviewer')} finished; what fewer than {progress.wanted} "
            "have checked is left out"
        )
    found = settled(candidates, said, rule, curation.reviewers)
    if not found:
        raise Mistake("Nothing is accepted yet.", "Check candidates with --reviewer NAME, or on Facts, tab From documents.")
    emit(fact_rows(found), options.export)
    say(f"evaluate a model on them: medfact run --facts {options.export} --model SPEC")
    return OK


def _checked(options: argparse.Namespace, store: Store, curation: Curation, candidates: list[Candidate]) -> int:
    """Records what a reviewer decides, if anything is typed, and shows the next candidate."""
    name, part = normalize_space(options.reviewer), store.curations
    reviewer = f"{store.owner}/{name}"
    if options.decide:
        _decide(options, store, curation, candidates, reviewer)
    else:
        _check_unused(options, ("note", *_TO_MEND), "nothing is decided", "Add --decide accept, mend, refuse or undo.")
    said = standing(part.log(curation.curation))
    shown = (None if options.decide else _chosen(options, candidates)) or following(candidates, said, reviewer)
    done = sum(reviewer in of for of in said.values())
    if shown is None:
        say(f"{name} has decided all of {counted(len(candidates), 'candidate')}")
        return OK
    if options.json:
        print_data(json_line(candidate_row(shown, len(candidates))))
    else:
        print("\n".join(map(one_line, candidate_text(shown, len(candidates), done))))
        say(WRONG_ON_PURPOSE)
        say("decide with --decide accept, refuse, undo, or mend with --head, --relation or --tail TEXT")
    return OK


def _decide(options: argparse.Namespace, store: Store, curation: Curation, candidates: list[Candidate], reviewer: str) -> None:
    """Raises Mistake where nothing can be decided."""
    part = store.curations
    log = part.log(curation.curation)
    said = standing(log)
    if progress_of(curation, said).is_finished:
        raise Mistake("All reviewers have finished, and what they decided is shown.", "Decisions stand; export the facts.")
    if options.decide != "mend":
        _check_unused(options, _TO_MEND, "only `mend` changes a fact", "Use --decide mend.")
    if options.decide == "undo":
        if (last := last_of(log, reviewer)) is None:
            raise Mistake("There is nothing to take back.", "")
        part.record(curation.curation, [withdrawn(last)])
        return
    one = _chosen(options, candidates) or following(candidates, said, reviewer)
    if one is None:
        raise Mistake("All candidates are decided.", "Name one with --number N to decide it anew.")
    fact = (options.head or one.head, options.relation or one.relation, options.tail or one.tail)
    part.record(curation.curation, [decided(one, options.reviewer, DECIDED[options.decide], fact, options.note or "")])


def _chosen(options: argparse.Namespace, candidates: list[Candidate]) -> Candidate | None:
    """The candidate that was typed, if one was. Raises Mistake where there is none."""
    if options.number is None:
        return None
    if not 1 <= options.number <= len(candidates):
        raise Mistake(f"There is no candidate {options.number}.", f"Give 1 to {len(candidates):,}.")
    number: int = options.number
    return candidates[number - 1]
