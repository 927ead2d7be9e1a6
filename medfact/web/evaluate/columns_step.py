"""Which columns of an uploaded table hold what: what was guessed, with three rows, and the question for what is open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from medfact.datasets.columns import CONSTANT, PATIENTS, SPLIT, named_columns
from medfact.datasets.guessing import COMMAS, Guess
from medfact.datasets.isolated import fails_again, guess_isolated
from medfact.errors import MedfactError, Mistake
from medfact.kept import keep
from medfact.views.fragments import render
from medfact.web.evaluate.form import People, Setup, Unmapped
from medfact.web.pages import Visitor

ONE_RELATION = "(one relation for all rows)"
ROLES = {"head": "condition", "relation": "relation", "tail": "finding"}
SHOWN_CELL = 60

guess_of = keep(64, fails=fails_again)(guess_isolated)
"""The headers of a visitor's table, and what is guessed of it. Raises FactsError."""


def is_asked(guess: Guess) -> bool:
    """Whether a person has to say or confirm something before the table is read."""
    return bool(guess.personal or guess.open or guess.wide or guess.marks or guess.splits)


def waiting_for(file: Path, headers: Sequence[str], people: People = "", personal: Sequence[str] = ()) -> dict[str, object]:
    """What of the set-up changes where a table waits for a person. personal: columns that may be about patients."""
    asks_people = personal and not people
    reason = f"First say whether {file.name} is about patients." if asks_people else f"First match the columns of {file.name}."
    return {"mapping": Unmapped(path=str(file), columns=list(headers[:200]), people=people), "pending": reason}


def says_columns(note: str) -> bool:
    """Whether a note tells the command line what was guessed, which the page shows."""
    return note.endswith("; say otherwise with --column.")


def mapping(visitor: Visitor, setup: Setup) -> Markup:
    """The columns of a file that waits for them, or of that in use. Nothing of a table that may be about patients is shown
    before a person has said what to do.
    """
    waiting, given = setup.mapping, _given(setup)
    path = waiting.path if waiting else (setup.source or {}).get("facts")
    people = waiting.people if waiting else given.get(PATIENTS, "").removeprefix(CONSTANT)
    try:
        file = visitor.services.uploads.of(visitor.owner, path) if path else None
        headers, guess = guess_of(str(file), people) if file else ((), Guess({}))
    except MedfactError:
        return Markup()  # said where the facts stand
    is_plain = not given and named_columns(list(headers)).keys() >= ROLES.keys() and not guess.personal
    if file is None or (waiting is None and is_plain):
        return Markup()  # nothing was guessed
    if guess.personal and not people:
        return render("facts_personal", name=file.name, personal=guess.personal)
    relation = f"{CONSTANT}{guess.relation}" if guess.relation else ""
    columns = {**({"relation": relation} if relation else {}), **guess.columns, **given}
    shown = [name for name in headers if name not in guess.personal]
    places = [at for at, name in enumerate(headers) if name in shown]
    return render(
        "facts_mapping",
        name=file.name,
        waiting=waiting is not None,
        roles=[(role, label, columns.get(role, ""), role in guess.open) for role, label in ROLES.items()],
        headers=shown,
        left_out=guess.personal,
        rows=[[row[at][:SHOWN_CELL] if at < len(row) else "" for at in places] for row in guess.sample],
        one_relation=ONE_RELATION,
        constant=columns.get("relation", "").removeprefix(CONSTANT) if columns.get("relation", "").startswith(CONSTANT) else "",
        wide=guess.wide,
        marks=guess.marks,
        splits=list(_splits(headers, guess, given)),
    )


def _given(setup: Setup) -> dict[str, str]:
    """What was said of the columns of the file in use."""
    columns = (setup.source or {}).get("columns")
    return {} if setup.mapping or not isinstance(columns, list) else {str(ours): str(theirs) for ours, theirs in columns}


def _splits(headers: tuple[str, ...], guess: Guess, given: Mapping[str, str]) -> Iterator[tuple[str, list[str], bool]]:
    """A cell with several names of each column that has such, the names, and whether it is likely a list."""
    for name, sign in guess.splits.items():
        at = headers.index(name)
        cells = [row[at] for row in guess.sample if at < len(row) and sign in row[at]]
        cell = cells[0] if cells else f"…{sign}…"
        is_likely = sign not in COMMAS if not given else f"{SPLIT}:{name}" in given and given[f"{SPLIT}:{name}"] != _WHOLE
        yield " ".join(cell.split()), [part.strip() for part in cell.split(sign) if part.strip()], is_likely


_WHOLE = f"{CONSTANT}none"


def chosen_columns(guess: Guess, people: str, fields: Mapping[str, str]) -> dict[str, str]:
    """The column map of what a person chose. Raises Mistake, which names what is missing."""
    chosen = {role: fields.get(role, "") for role in ROLES}
    spread = guess.column_map() if (guess.wide or guess.marks) and not chosen["tail"] else {}
    if spread and chosen["relation"] not in ("", ONE_RELATION):
        spread["relation"] = chosen["relation"]
    constant = fields.get("constant", "").strip()
    if chosen["relation"] in ("", ONE_RELATION):
        chosen["relation"] = f"{CONSTANT}{constant}" if constant and not guess.wide else ""
    said = {role: name for role, name in chosen.items() if name}
    in_spread = {"tail"} | ({"relation"} if guess.wide else set()) if spread else set()
    if missing := [label for role, label in ROLES.items() if role not in said.keys() | in_spread]:
        raise Mistake(
            f"Which column holds the {missing[0]}?",
            "Choose it, or type one relation for all rows." if missing[0] == ROLES["relation"] else "Choose one.",
        )
    splits = {f"{SPLIT}:{name}": f"{CONSTANT}{sign if 'split' in fields else 'none'}" for name, sign in guess.splits.items()}
    return {**spread, **said, **splits, **({PATIENTS: f"{CONSTANT}{people}"} if people else {})}
