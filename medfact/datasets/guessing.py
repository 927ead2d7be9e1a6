"""Which columns of a user's table are those of facts, guessed by their names in five languages and by their cells."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, islice, pairwise
from pathlib import Path

from medfact.assets import ENGLISH, table_words
from medfact.datasets.cells import is_missing
from medfact.datasets.columns import CONSTANT, MARK, NO_PATIENTS, PATIENTS, REQUIRED, SPLIT, TAIL_OF, named_columns, of_prefix
from medfact.datasets.denials import is_mark, is_read, truth
from medfact.datasets.elsewhere import CONDITION, DRUG, SIGN, kinds_of_name
from medfact.datasets.headers import LOOKED_AT, Columns, Limits
from medfact.datasets.table_reader import open_table
from medfact.errors import ColumnsMissing
from medfact.facts import COLUMNS, IDENTIFIER, spelled

COMMAS = (",", "、", "，")
"""Separators that names hold, too: cells are split at them only where a person says so."""

_SEPARATORS = ("\n", ";", "；", "|", "/", *COMMAS)
_PARTS = re.compile(r"[/|()\[\],;:&+]")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NUMBERED = re.compile(r"[\s\d.]+$")
_PERSON = re.compile(r"[^\W\d_]+(?:[-'’ ][^\W\d_]+){0,3},? [^\W\d_]+\.?")
_HIDDEN = "…"
_NOTHING: Mapping[str, str] = {}
_OF_KIND = {SIGN: "symptoms", DRUG: "therapeutic drugs"}
"""The likeliest relation of a condition to tails of a kind."""

_EXAMPLE = {"head": "YOURS", "tail": "YOURS", "relation": "=symptoms"}
_OWN = frozenset(map(spelled, COLUMNS))

_KIND_OF = {"condition": "condition", "symptoms": "sign", "drug": "drug", "therapeutic drugs": "drug"}
"""Role or relation of a column → the kind of its names, as the list `identifiers` says it."""


@dataclass(frozen=True)
class Guess:
    """The columns of facts in a table."""

    columns: Mapping[str, str]
    """Role, such as head, tail, head_id or positive → header."""
    relation: str | None = None
    """The relation of all rows, by the header of the tails; only likely where `open` has "relation"."""
    wide: Mapping[str, str] = field(default_factory=dict)
    """Header → relation, where each column holds the tails of one."""
    open: tuple[str, ...] = ()
    """Roles that a person has to name, because nothing or several things fit."""
    language: str = ENGLISH
    """Code of the language of the headers and the relations."""
    personal: tuple[str, ...] = ()
    """Headers of columns about patients, such as a name or a date of birth."""
    splits: Mapping[str, str] = field(default_factory=dict)
    """Header → the separator of several tails in a cell, where most cells have it."""
    sample: tuple[tuple[str, ...], ...] = ()
    """Three rows, whose cells about patients are hidden."""
    marks: tuple[str, ...] = ()
    """Headers that are tails themselves: a cell below marks a head that has this tail."""

    def column_map(self) -> dict[str, str]:
        """The guess as the column map of `load_file`, without lists by comma, which a person has to confirm."""
        relation = {} if self.relation is None or self.wide else {"relation": f"{CONSTANT}{self.relation}"}
        splits = {name: sign for name, sign in self.splits.items() if sign not in COMMAS}
        return {
            **self.columns,
            **relation,
            **{f"{TAIL_OF}{name}": f"{CONSTANT}{relation}" for name, relation in self.wide.items()},
            **{f"{MARK}{name}": f"{CONSTANT}{name.strip()}" for name in self.marks},
            **{f"{SPLIT}:{name}": f"{CONSTANT}{sign}" for name, sign in splits.items()},
        }


# ------------------------------------------------------------------------------------------------ words


def _plain(header: str) -> str:
    return spelled(_HUMP.sub(" ", header))


@cache
def _words() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Word → role of a column, or relation of its tails → languages in which the word says so."""
    words: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for language, roles in table_words()["columns"].items():
        for role, names in roles.items():
            for name in map(spelled, names):
                for ending in ("", "s", "es", "e", "n", "en") if len(name) > 2 and name.isascii() else ("",):
                    words[name + ending][role].add(language)
    return {word: {role: frozenset(languages) for role, languages in roles.items()} for word, roles in words.items()}


@cache
def _relations() -> frozenset[str]:
    return frozenset(table_words()["columns"][ENGLISH]) - {"condition", "drug", "head", "relation", "tail"}


@cache
def _lists(name: str) -> frozenset[str]:
    return frozenset(map(spelled, table_words()[name]))


@cache
def roles_of(text: str) -> Mapping[str, frozenset[str]]:
    """The roles that the name of a column, or the relations that a text, may mean → languages in which it does."""
    whole = _plain(text)
    parts = [whole] if whole in _words() else [_NUMBERED.sub("", _plain(part)) for part in _PARTS.split(text)]
    roles: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for part in parts:
        core = " ".join(word for word in part.split() if word not in _lists("beside_columns"))
        for role, languages in (_words().get(part) or _words().get(core) or {}).items():
            roles[role] |= languages
    return roles


def names_facts(headers: Sequence[str]) -> bool:
    """Whether some of the names of columns are words for both ends of a fact."""
    roles = [set(roles_of(name)) for name in headers if name.strip()]
    heads = sum(bool(of & {"condition", "drug", "head"}) for of in roles)
    tails = sum(bool(of & (_relations() | {"tail", "relation"})) for of in roles)
    return bool(heads and tails) and sum(map(bool, roles)) > 1


def _identifies(header: str) -> str:
    """The kind of thing that the identifiers in a column are of, by its name: "any" of any; "" where it says none."""
    words = _PARTS.sub(" ", _plain(header)).split()
    spelling = {*words, " ".join(words), *map(" ".join, pairwise(words))}
    kinds = table_words()["identifiers"]
    return next((kind for kind in ("condition", "sign", "drug", "any") if spelling & set(map(spelled, kinds[kind]))), "")


# ------------------------------------------------------------------------------------------------ columns


@dataclass(frozen=True)
class _Column:
    """A column that no role has by its own name. cells: those that are filled."""

    name: str
    cells: tuple[str, ...]

    @property
    def roles(self) -> Collection[str]:
        """Its roles by its name, unless its cells are no names."""
        return () if self.is_number else roles_of(self.name).keys()

    @property
    def is_number(self) -> bool:
        return bool(self.cells) and all(cell.replace(".", "").replace(",", "").isdecimal() for cell in self.cells)

    @property
    def is_identifier(self) -> bool:
        """Whether its cells are identifiers rather than names."""
        coded = sum(bool(IDENTIFIER.fullmatch(cell)) for cell in self.cells)
        return 2 * coded > len(self.cells) or bool(
            _identifies(self.name) and self.cells and all(any(map(str.isdigit, cell)) for cell in self.cells)
        )

    @property
    def is_personal(self) -> bool:
        """Whether it is about patients, by its name, or by names of people below a bare "Name"."""
        parts = {_NUMBERED.sub("", _plain(part)) for part in (*_PARTS.split(self.name), self.name)}
        cores = {" ".join(word for word in part.split() if word not in _lists("beside_columns")) for part in parts}
        if (parts | cores) & _lists("personal"):
            return True
        people = sum(bool(_PERSON.fullmatch(cell)) and cell.title() == cell for cell in self.cells)
        return bool(parts & _lists("names_of_people")) and 2 * people > len(self.cells) and not self.kind

    @property
    def kind(self) -> str:
        """The kind of thing, such as a condition, that the bundled sets know most of its names as; "" where they know few."""
        names = list(dict.fromkeys(part.strip() for cell in self.cells[:60] for part in re.split(r"[;|\n/、]", cell)))
        counts = Counter(kind for name in names for kind in kinds_of_name(name))
        best = counts.most_common(2)
        is_clear = best and (len(best) == 1 or best[0][1] > best[1][1])
        return best[0][0] if is_clear and best[0][1] >= max(2, len(names) / 4) else ""

    @property
    def says_relations(self) -> bool:
        """Whether its cells are relations: few, or again and again, some of them known."""
        values = dict.fromkeys(self.cells)
        known = sum(bool(_relation_in(value)) for value in values)
        return bool(known) and 3 * known >= len(values) and (2 * len(values) <= len(self.cells) or known == len(values))

    def tells_apart(self, names: _Column) -> bool:
        """Whether it has about as many different cells as there are names, as identifiers have."""
        return 2 * len(set(self.cells)) >= len(set(names.cells))

    @property
    def marks(self) -> bool:
        """Whether its cells only mark heads."""
        signs = [is_mark(cell) for cell in self.cells]
        return any(signs) and all(sign or truth(cell) is False for sign, cell in zip(signs, self.cells, strict=True))


def _relation_in(text: str) -> str:
    """The relation that a text means, by the words for the columns of its tails; "" where none."""
    return next((role for role in roles_of(text) if role in _relations()), "")


def _separator(cells: Sequence[str]) -> str:
    """The separator of several names in most of some cells; "" where there is none."""
    for sign in _SEPARATORS:
        lists = [parts for cell in cells if len(parts := [part.strip() for part in cell.split(sign)]) > 1 and all(parts)]
        if 2 * len(lists) > len(cells) and (sign != "/" or min(len(part) for parts in lists for part in parts) > 2):
            return sign
    return ""


# ------------------------------------------------------------------------------------------------ guesses


def guess(headers: Sequence[str], rows: Sequence[Sequence[str]], given: Mapping[str, str] = _NOTHING) -> Guess:
    """Guesses the columns of facts from the header and the first rows of a table. given: a column map that a person gave."""
    table = [_Column(name, _filled(rows, at)) for at, name in enumerate(headers) if name and name not in headers[:at]]
    named = {ours: theirs[0] for ours, theirs in named_columns(list(headers)).items()} | _edges(table) | dict(given)
    named = {ours: theirs for ours, theirs in named.items() if theirs in headers or ours == "relation"}
    is_of_people = given.get(PATIENTS) != f"{CONSTANT}{NO_PATIENTS}"
    personal = tuple(one.name for one in table if is_of_people and one.name not in named.values() and one.is_personal)
    free = [column for column in table if column.name not in (*named.values(), *personal)]
    said = Guess(named, wide=of_prefix(given, TAIL_OF), marks=tuple(of_prefix(given, MARK)))
    found = _with_tails(_with_head(said, free, table), free, table)
    found = replace(found, splits=_splits(found, table))
    columns = {**_identified(found, free, table), **found.columns}
    order = {role: at for at, role in enumerate(COLUMNS)}
    return replace(
        found,
        columns={role: columns[role] for role in sorted(columns, key=lambda role: order.get(role, len(order)))},
        language=_language(table, found),
        personal=personal,
        sample=tuple(
            tuple(_HIDDEN if name in personal and cell else cell for name, cell in zip(headers, row, strict=False))
            for row in rows[:3]
        ),
    )


def _filled(rows: Sequence[Sequence[str]], at: int) -> tuple[str, ...]:
    cells = (row[at].strip() for row in rows if at < len(row))
    return tuple(cell for cell in cells if cell and not is_missing(cell))


def _edges(table: Sequence[_Column]) -> dict[str, str]:
    """The ends of the edges of a graph, such as x_name and y_name, with their types and identifiers."""
    columns = {_plain(column.name): column for column in table}
    for ends in table_words()["ends_of_edges"]:
        for word in (" name", " label", ""):
            if all(f"{end}{word}" in columns for end in ends):
                return {
                    f"{role}{kind}": columns[f"{end}{beside}"].name
                    for role, end in zip(("head", "tail"), ends, strict=True)
                    for kind, beside in (("", word), ("_type", " type"), ("_id", " id"))
                    if f"{end}{beside}" in columns
                    and (kind != "_id" or columns[f"{end}{beside}"].tells_apart(columns[f"{end}{word}"]))
                }
    return {}


def _with_head(said: Guess, free: Sequence[_Column], table: Sequence[_Column]) -> Guess:
    """The guess with the column of the relations, where there is one, and that of the heads."""
    columns, unsure = dict(said.columns), []
    if "relation" not in columns and not said.wide:
        among = [column for column in free if "relation" in column.roles] or [
            column for column in free if not column.roles and column.says_relations
        ]
        columns |= {"relation": among[0].name} if len(among) == 1 else {}
    free = [column for column in free if column.name not in columns.values()]
    if "head" not in columns:
        heads = _heads([column for column in free if not column.is_identifier], "relation" in columns) or _heads(free, True)
        columns |= {"head": heads[0].name} if len(heads) == 1 else {}
        unsure += [] if len(heads) == 1 else ["head"]
    return replace(said, columns=columns, open=tuple(unsure))


def _heads(free: Sequence[_Column], has_relation: bool) -> list[_Column]:
    """The columns that may be that of the heads: of conditions by their names, of drugs, of anything, or by their cells."""
    conditions = [column for column in free if "condition" in column.roles]
    conditions = [column for column in conditions if not _relations() & set(column.roles)] or conditions
    drugs = [column for column in free if "drug" in column.roles]
    if conditions and drugs and has_relation:
        return [column for column in free if column in conditions or column in drugs][:1]
    is_about_drugs = any(set(table_words()["of_drugs"]) & set(column.roles) for column in free)
    return (
        conditions
        or (drugs if has_relation or is_about_drugs else [])
        or [column for column in free if "head" in column.roles]
        or [column for column in free if not column.roles and column.kind == CONDITION]
    )


def _with_tails(said: Guess, free: Sequence[_Column], table: Sequence[_Column]) -> Guess:
    """The guess with the columns of the tails, and their relations by the names of these."""
    if "tail" in said.columns or said.wide or (said.marks and "relation" in said.columns):
        return _with_relation(said, table)
    left = [column for column in free if column.name not in said.columns.values() and not column.is_identifier]
    head = next((column for column in table if column.name == said.columns.get("head")), None)
    is_drug = head is not None and "drug" in head.roles and "condition" not in head.roles
    of_drugs = set(table_words()["of_drugs"])
    fitting = of_drugs if is_drug else _relations() - of_drugs
    related = {column.name: role for column in left for role in column.roles if role in fitting}
    if "relation" not in said.columns and len(related) > 1:
        return replace(said, wide=related)
    marks = tuple(column.name for column in left if column.marks and not is_read(column.name))
    if not related and len(marks) > 1:
        return _with_relation(replace(said, marks=marks), table)
    tails = (
        [column.name for column in left if "tail" in column.roles]
        or list(related)
        or [column.name for column in left if is_drug and "condition" in column.roles]
        or [column.name for column in left if not column.roles and column.kind]
    )
    if len(tails) != 1:
        said = replace(said, open=(*said.open, "tail"))
        return said if "relation" in said.columns else replace(said, open=(*said.open, "relation"))
    return _with_relation(replace(said, columns={**said.columns, "tail": tails[0]}), table)


def _with_relation(said: Guess, table: Sequence[_Column]) -> Guess:
    """The guess with one relation for all rows, where no column has it: certain by the name of the tails' column, or where
    most heads of columns are known signs; likely by the kind of the tails.
    """
    if "relation" in said.columns or said.wide:
        return said
    name = said.columns.get("tail", "")
    column = _Column("", said.marks) if said.marks else next(one for one in table if one.name == name)
    if relation := _relation_in(name):
        return replace(said, relation=relation)
    likely = _OF_KIND.get(column.kind)
    is_sure = said.marks and likely == "symptoms" and "head" in said.columns
    return replace(said, relation=likely, open=said.open if is_sure else (*said.open, "relation"))


def _splits(said: Guess, table: Sequence[_Column]) -> dict[str, str]:
    names = {said.columns.get("tail"), said.columns.get("tail_id"), *said.wide}
    found = {column.name: _separator(column.cells) for column in table if column.name in names}
    return {name: sign for name, sign in found.items() if sign}


def _identified(said: Guess, free: Sequence[_Column], table: Sequence[_Column]) -> dict[str, str]:
    """The columns with identifiers of the heads or the tails: by a word or a kind that both have, or by their neighbour."""
    ends = {role: column for column in table for role in ("head", "tail") if said.columns.get(role) == column.name}
    found: dict[str, str] = {}
    for column in free:
        if column in ends.values() or not column.is_identifier or column.name in (*said.columns.values(), *said.wide):
            continue
        kind, words = _identifies(column.name), set(_plain(column.name).split())
        of_kind = [role for role, end in ends.items() if words & set(_plain(end.name).split()) or kind in _kinds_named(end)]
        at = table.index(column)
        near = [role for place in (at - 1, at + 1) for role, end in ends.items() if table.index(end) == place]
        role = next(iter((*of_kind, *near)), "")
        splits = said.splits.get(said.columns.get("tail", ""), "") if role == "tail" else ""
        if role and _separator(column.cells) == splits and column.tells_apart(ends[role]):
            found.setdefault(f"{role}_id", column.name)
    return found


def _kinds_named(column: _Column) -> set[str]:
    """The kinds of things that the name of a column speaks of, as `identifiers` names them."""
    return {kind for role, kind in _KIND_OF.items() if role in column.roles}


def _language(table: Sequence[_Column], said: Guess) -> str:
    """The language of most headers and relations, English where none is ahead of it."""
    relations = next((column.cells for column in table if column.name == said.columns.get("relation")), ())
    texts = [column.name for column in table if spelled(column.name) not in _OWN] + list(dict.fromkeys(relations))
    votes = Counter(chain.from_iterable(frozenset().union(*roles_of(text).values()) for text in texts))
    return max(votes, key=lambda code: (votes[code], code == ENGLISH), default=ENGLISH)


# ------------------------------------------------------------------------------------------------ files


def guess_file(path: Path, people: str, limits: Limits) -> tuple[tuple[str, ...], Guess]:
    """The headers of a table in a file, and what is guessed of it. people: what a person says of columns about patients."""
    table = open_table(path, limits, Columns(names_facts, fewest=2))
    begun = [row for _, row in islice(table.rows, LOOKED_AT)]
    given = {PATIENTS: f"{CONSTANT}{people}"} if people else {}
    return tuple(table.columns), guess(table.columns, [[row.get(name, "") for name in table.columns] for row in begun], given)


def completed(
    place: str, headers: Sequence[str], rows: Sequence[Mapping[str, str]], given: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """A column map with what is guessed of a table, and notes on that. rows: the first ones. given: what a person said.

    Raises ColumnsMissing where something is open: columns, lists by comma, and columns about patients.
    """
    guessed = guess(headers, [[row.get(name, "") for name in headers] for row in rows], given)
    if guessed.personal and PATIENTS not in given and not {"head", "tail"} <= given.keys():
        names = ", ".join(map(repr, guessed.personal))
        raise ColumnsMissing(
            f"{place}: {names} may tell who a patient is; nothing of the file was read.",
            "Take such columns out of the file. If no row is about a patient, add --column patients==none; or name the columns "
            "to read with --column head=… and --column tail=….",
            list(headers),
        )
    if guessed.open:
        raise _open(place, headers, guessed)
    listed = next((name for name, sign in guessed.splits.items() if sign in COMMAS), None)
    if listed is not None and not {SPLIT, f"{SPLIT}:{listed}"} & given.keys():
        sign = guessed.splits[listed]
        cell = next(cell for row in rows if sign in (cell := row.get(listed, "").strip()))
        raise ColumnsMissing(
            f"{place}: the cells of {listed!r} seem to be lists, such as {cell[:80]!r}.",
            f"Add --column split=={sign} to make a fact of each name, or --column split==none where it belongs to the names.",
            list(headers),
        )
    columns = {**guessed.column_map(), **given}
    return columns, tuple(_notes(place, headers, guessed, given))


def _open(place: str, headers: Sequence[str], guessed: Guess) -> ColumnsMissing:
    """The refusal of a table whose columns are not clear, with what is guessed of it and its first rows."""
    subject = f"column {guessed.open[0]} is" if len(guessed.open) == 1 else f"columns {' and '.join(guessed.open)} are"
    shown = " / ".join(" | ".join(cell.strip()[:40] for cell in row[:8]) for row in guessed.sample)
    likely = f" (likely {guessed.relation})" if guessed.relation else ""
    sure = ", ".join(f"{role} = {name}" for role, name in guessed.columns.items() if role in REQUIRED)
    return ColumnsMissing(
        f"{place}, row 1: the {subject} missing{likely}; the file has {', '.join(headers)[:200]}."
        f"{f' Read: {sure}.' if sure else ''} The first rows: {shown}.",
        "Name the columns head, relation and tail, or say which of yours they are. On the command line, add "
        + " and ".join(f"--column {role}={_EXAMPLE[role]}" for role in guessed.open)
        + ".",
        list(headers),
    )


def _notes(place: str, headers: Sequence[str], guessed: Guess, given: Mapping[str, str]) -> Iterator[str]:
    """What was guessed, and the columns that are not read."""
    own = named_columns(list(headers))
    roles = {role: name for role, name in guessed.columns.items() if role not in own and role not in given}
    said = [f"{role} = {name}" for role, name in roles.items()]
    said += [f"relation = {guessed.relation}"] if guessed.relation else []
    said += [f"{name} = tails of {relation}" for name, relation in guessed.wide.items() if f"{TAIL_OF}{name}" not in given]
    if guessed.marks:
        said.append(f"a mark such as 1 or x below {_few(guessed.marks)} gives the head that tail, any other cell nothing")
    if SPLIT not in given:
        said += [
            f"the cells of {name} are split at {_shown(sign)}" for name, sign in guessed.splits.items() if sign not in COMMAS
        ]
    if said:
        yield f"{place}: read: {', '.join(said)}; say otherwise with --column."
    used = {*guessed.columns.values(), *guessed.wide, *guessed.marks, *given.values()}
    unread = [name for name in headers if name and name not in used and spelled(name) not in _OWN and not is_read(name)]
    if unread:
        yield f"{place}: not read: {_few(unread)}."


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 8 else f"{', '.join(names[:8])} and {len(names) - 8} more"


def _shown(sign: str) -> str:
    return "line breaks" if sign == "\n" else repr(sign)
