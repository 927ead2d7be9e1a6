"""Which columns of a user's table are those of facts, guessed by their names in five languages and by their cells."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import chain, islice
from pathlib import Path

from medfact.assets import ENGLISH, table_words
from medfact.datasets.cells import is_missing
from medfact.datasets.columns import (
    CONSTANT,
    MARK,
    NO_PATIENTS,
    PATIENTS,
    REQUIRED,
    SPLIT,
    TAIL_OF,
    listed,
    named_columns,
    of_prefix,
)
from medfact.datasets.denials import is_mark, is_read, truth
from medfact.datasets.headers import LOOKED_AT, Columns, Limits
from medfact.datasets.names import relation_words
from medfact.datasets.semantic_types import CONDITION, DRUG, SIGN, kinds_of_name
from medfact.datasets.table_reader import open_table
from medfact.errors import FactsError, MissingColumns
from medfact.facts import COLUMNS, IDENTIFIER, fold_text

COMMAS = (",", "、", "，")
"""Separators that names hold, too: cells are split at them only where a person says so."""

_SEPARATORS = ("\n", ";", "；", "|", "/", *COMMAS)
_PARTS = re.compile(r"[/|()\[\],;:&+]")
_PERSON = re.compile(r"[^\W\d_]+(?:[-'’ ][^\W\d_]+){0,3},? [^\W\d_]+\.?")
_MOST_SHOWN, _LONGEST_SHOWN = 8, 60
_NOTHING: Mapping[str, str] = {}

_OWN = frozenset(map(fold_text, (*COLUMNS, "role")))
"""Columns of the tables of facts that medfact writes."""


_KIND_OF = {"condition": "condition", "symptoms": "sign", "drug": "drug", "therapeutic drugs": "drug"}
"""Role or relation of a column → the kind of its names, as the list `identifiers` says it."""


@dataclass(frozen=True)
class Guess:
    """The columns of facts in a table.

    columns: role, such as head, tail, head_id or positive → header.
    relation: of all rows, by the header of the tails; only likely where `open` has "relation".
    wide: header → relation, where each column holds the tails of one.
    open: roles that a person has to name, because nothing or several things fit.
    language: code of the language of the headers and the relations.
    personal: headers of columns about patients, such as a name or a date of birth.
    splits: header → the separator of several tails in a cell, where most cells have it.
    sample: three rows, whose cells about patients are hidden.
    marks: headers that are tails themselves: a cell below marks a head that has this tail.
    """

    columns: Mapping[str, str]
    relation: str | None = None
    wide: Mapping[str, str] = field(default_factory=dict)
    open: tuple[str, ...] = ()
    language: str = ENGLISH
    personal: tuple[str, ...] = ()
    splits: Mapping[str, str] = field(default_factory=dict)
    sample: tuple[tuple[str, ...], ...] = ()
    marks: tuple[str, ...] = ()

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
    return fold_text(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", header))


def _spellings(header: str) -> list[str]:
    """The name of a column and its parts, without numbers, and without words such as "name" and "typical"."""
    parts = [
        _plain(header),
        *(_plain(part).rstrip("0123456789. ") for part in (header, *_PARTS.split(header))),
    ]
    return parts + [" ".join(word for word in part.split() if word not in _lists("beside_columns")) for part in parts]


@cache
def _lists(name: str) -> frozenset[str]:
    return frozenset(map(fold_text, table_words()[name]))


@cache
def _words() -> Mapping[str, Mapping[str, Set[str]]]:
    """Word → role of a column, or relation of its tails → languages in which the word says so."""
    words: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    of_relations = relation_words("names", "only_column")
    for language, roles in table_words()["columns"].items():
        for role, name in (
            (role, fold_text(name)) for role, names in (roles | of_relations[language]).items() for name in names
        ):
            for ending in ("", "s", "es", "e", "n", "en") if len(name) > 2 and name.isascii() else ("",):
                words[name + ending][role].add(language)
    return words


@cache
def _relations() -> frozenset[str]:
    return frozenset(relation_words("names", "only_column")[ENGLISH])


@lru_cache(maxsize=1 << 12)
def roles_of(text: str) -> Mapping[str, frozenset[str]]:
    """The roles that the name of a column, or the relations that a text, may mean → languages in which it does."""
    known = [spelling for spelling in _spellings(text) if spelling in _words()]
    words = [_words()[spelling] for spelling in (known[:1] if known and known[0] == _plain(text) else known)]
    return {role: frozenset().union(*(word.get(role, ()) for word in words)) for role in chain.from_iterable(words)}


def names_facts(headers: Sequence[str]) -> bool:
    """Whether some of the names of columns are words for both ends of a fact."""
    roles = [roles_of(name).keys() for name in headers if name.strip()]
    heads, tails = {"condition", "drug", "head"}, _relations() | {"tail", "relation"}
    return sum(map(bool, roles)) > 1 and all(any(of & end for of in roles) for end in (heads, tails))


def _identifies(header: str) -> str:
    """The kind of thing that the identifiers in a column are of, by its name: "any" of any; "" where it says none."""
    words = {*_spellings(header), *_plain(header).split()}
    return next((kind for kind, names in table_words()["identifiers"].items() if words & set(map(fold_text, names))), "")


# ------------------------------------------------------------------------------------------------ columns


@dataclass(frozen=True)
class _Column:
    """A column. cells: those that are filled."""

    name: str
    cells: tuple[str, ...]

    @property
    def roles(self) -> Set[str]:
        """Its roles by its name, unless its cells are numbers."""
        is_number = self.cells and all(cell.replace(".", "").replace(",", "").isdecimal() for cell in self.cells)
        return frozenset() if is_number else roles_of(self.name).keys()

    @property
    def is_identifier(self) -> bool:
        """Whether its cells are identifiers rather than names."""
        coded = sum(bool(IDENTIFIER.fullmatch(cell)) for cell in self.cells)
        has_digits = bool(self.cells) and all(any(map(str.isdigit, cell)) for cell in self.cells)
        return 2 * coded > len(self.cells) or (has_digits and bool(_identifies(self.name)))

    @property
    def is_personal(self) -> bool:
        """Whether it is about patients, by its name, or by names of people below a bare "Name"."""
        words = set(_spellings(self.name))
        people = sum(bool(_PERSON.fullmatch(cell)) and cell.title() == cell for cell in self.cells)
        are_people = words & _lists("names_of_people") and 2 * people > len(self.cells)
        return bool(words & _lists("personal") or (are_people and not self.kind))

    @property
    def kind(self) -> str:
        """The kind of thing, such as a condition, that the bundled sets know most of its names as; "" where they know few, or
        its own name: that is no header.
        """
        names = {part.strip() for cell in self.cells[:60] for part in re.split(r"[;|\n/、]", cell)}
        (best, count), (_, other) = [*Counter(chain(*map(kinds_of_name, names))).most_common(2), ("", 0), ("", 0)][:2]
        return best if count >= max(2, len(names) / 4, other + 1) and not kinds_of_name(self.name) else ""

    def relation(self, role: str) -> str:
        """The relation of its tails, by a role that its name has: its own name, where that may mean several."""
        is_unclear = _lists("unclear") & set(_spellings(self.name)) and self.kind != DRUG
        return self.name.strip() if is_unclear else role

    @property
    def says_relations(self) -> bool:
        """Whether its cells are relations: the same again and again, some of them known."""
        values = set(self.cells)
        known = [value for value in values if _relation_in(value)]
        return bool(known) and (len(known) == len(values) or (3 * len(known) >= len(values) <= len(self.cells) / 2))

    @property
    def is_marks(self) -> bool:
        """Whether its cells only mark heads."""
        signs = [is_mark(cell) for cell in self.cells]
        return any(signs) and all(sign or truth(cell) is False for sign, cell in zip(signs, self.cells, strict=True))

    @property
    def separator(self) -> str:
        """The separator of several names in most of its cells; "" where there is none."""
        for sign in _SEPARATORS:
            lists = [parts for cell in self.cells if len(parts := [part.strip() for part in cell.split(sign)]) > 1]
            shortest = min((len(part) for parts in lists for part in parts), default=0)
            if 2 * len(lists) > len(self.cells) and shortest > 2 * (sign == "/"):
                return sign
        return ""


def _relation_in(text: str) -> str:
    """The relation that a text means, by the words for the columns of its tails; "" where none."""
    return next((role for role in roles_of(text) if role in _relations()), "")


# ------------------------------------------------------------------------------------------------ guesses


def guess(headers: Sequence[str], rows: Sequence[Sequence[str]], given: Mapping[str, str] = _NOTHING) -> Guess:
    """Guesses the columns of facts from the header and the first rows of a table. given: a column map that a person gave."""
    table = [_Column(name, _filled(rows, at)) for at, name in enumerate(headers) if name and name not in headers[:at]]
    named = {ours: theirs[0] for ours, theirs in named_columns(list(headers)).items()}
    if "tail" not in named and "target" in map(_plain, headers):  # of a graph, whose source is no source of facts
        named.pop("source", "")
    named |= {role: name for role, name in given.items() if role in COLUMNS}
    unnamed = [column for column in table if column.name not in named.values()]
    is_of_people = given.get(PATIENTS) != f"{CONSTANT}{NO_PATIENTS}"
    personal = tuple(column.name for column in unnamed if is_of_people and column.is_personal)
    free = [column for column in unnamed if column.name not in personal]
    found = Guess(named, wide=of_prefix(given, TAIL_OF), marks=tuple(of_prefix(given, MARK)))
    found = _with_tails(_with_head(found, free), free, table)
    of_tails = {found.columns.get("tail"), found.columns.get("tail_id"), *found.wide}
    found = replace(found, splits={one.name: one.separator for one in table if one.name in of_tails and one.separator})
    columns = {**_identified(found, free, table), **found.columns}
    return replace(
        found,
        columns={role: columns[role] for role in COLUMNS if role in columns},
        open=tuple(role for role in REQUIRED if role in found.open),
        language=_language(table, found),
        personal=personal,
        sample=tuple(
            tuple("…" if name in personal and cell else cell for name, cell in zip(headers, row, strict=False))
            for row in rows[:3]
        ),
    )


def _filled(rows: Sequence[Sequence[str]], at: int) -> tuple[str, ...]:
    cells = (row[at].strip() for row in rows if at < len(row))
    return tuple(cell for cell in cells if cell and not is_missing(cell))


def _with_head(said: Guess, free: Sequence[_Column]) -> Guess:
    """The guess with the column of the relations, where there is one, and that of the heads."""
    relations = [column for column in free if "relation" in column.roles] or [
        column for column in free if not column.roles - _relations() and column.says_relations
    ]
    columns = dict(said.columns)
    if len(relations) == 1 and not said.wide:
        columns.setdefault("relation", relations[0].name)
    if "head" in columns:
        return replace(said, columns=columns)
    left = [column for column in free if column.name != columns.get("relation")]
    heads = _heads([column for column in left if not column.is_identifier], "relation" in columns) or _heads(left, True)
    return (
        replace(said, columns=columns | {"head": heads[0].name})
        if len(heads) == 1
        else replace(said, columns=columns, open=("head",))
    )


def _heads(free: Sequence[_Column], has_relation: bool) -> list[_Column]:
    """The columns that may be that of the heads: of conditions by their names, of drugs, of anything, or by their cells."""
    conditions = [column for column in free if "condition" in column.roles]
    conditions = [column for column in conditions if not _relations() & column.roles] or conditions
    drugs = [column for column in free if "drug" in column.roles]
    if conditions and drugs:
        return [column for column in free if column in conditions or column in drugs][:1]
    is_about_drugs = has_relation or any(column.roles & _lists("of_drugs") for column in free)
    return (
        conditions
        or (drugs if is_about_drugs else [])
        or [column for column in free if "head" in column.roles]
        or [column for column in free if not column.roles and column.kind == CONDITION]
    )


def _with_tails(said: Guess, free: Sequence[_Column], table: Sequence[_Column]) -> Guess:
    """The guess with the columns of the tails, and their relations by the names of these."""
    has_relation, head = "relation" in said.columns, _end("head", said, table)
    if "tail" in said.columns or said.wide or said.marks:
        return _with_relation(said, table)
    left = [column for column in free if column.name not in said.columns.values() and not column.is_identifier]
    is_drug = "drug" in head.roles and "condition" not in head.roles
    fitting = _lists("of_drugs") if is_drug else _relations() - _lists("of_drugs")
    related = {column.name: column.relation(role) for column in left for role in column.roles & fitting}
    marks = tuple(column.name for column in left if column.is_marks and not is_read(column.name))
    if len(related) > 1 and not has_relation:
        return replace(said, wide=related)
    if len(marks) > 1 and not related:
        return _with_relation(replace(said, marks=marks), table)
    tails = (
        [column.name for column in left if "tail" in column.roles]
        or list(related)
        or [column.name for column in left if is_drug and "condition" in column.roles]
        or [column.name for column in left if not column.roles and column.kind]
        or [column.name for column in left if has_relation and not column.roles and len(column.cells) == len(head.cells)]
    )
    if len(tails) == 1:
        return _with_relation(replace(said, columns={**said.columns, "tail": tails[0]}), table)
    return replace(said, open=(*said.open, "tail", *(() if has_relation else ("relation",))))


def _end(role: str, said: Guess, table: Sequence[_Column]) -> _Column:
    """The column of a role; an empty one where none is found."""
    return next((column for column in table if column.name == said.columns.get(role)), _Column("", ()))


def _with_relation(said: Guess, table: Sequence[_Column]) -> Guess:
    """The guess with one relation for all rows, where no column has it: certain by the name of the tails' column, or where
    most names of columns with marks are signs; likely by the kind of the tails.
    """
    tails = _Column("", said.marks) if said.marks else _end("tail", said, table)
    if "relation" in said.columns or said.wide:
        return said
    role = _relation_in(tails.name)
    is_named = bool(role) and tails.relation(role) == role
    likely = role if is_named else {SIGN: "symptoms", DRUG: "therapeutic drugs"}.get(tails.kind)
    is_sure = is_named or (said.marks and likely == "symptoms")
    return replace(said, relation=likely, open=said.open if is_sure else (*said.open, "relation"))


def _identified(said: Guess, free: Sequence[_Column], table: Sequence[_Column]) -> dict[str, str]:
    """The columns with identifiers and types of heads or tails: by a word or a kind that both have, or as neighbours."""
    ends = {role: end for role in ("head", "tail") if (end := _end(role, said, table)).name}
    stems = {_plain(end.name).removesuffix(" name"): role for role, end in ends.items()}
    names = {word: role for word, role in stems.items() if word != _plain(ends[role].name)}
    found: dict[str, str] = {}
    for column in free:
        stem, at, kind = _plain(column.name), table.index(column), _identifies(column.name)
        if stem.endswith(" type") and (of := names.get(stem.removesuffix(" type"))):
            found[f"{of}_type"] = column.name
        if column.name in (*said.columns.values(), *said.wide) or not column.is_identifier:
            continue
        named = [role for word, role in stems.items() if set(word.split()) & set(stem.split())]
        alike = [role for role, end in ends.items() if kind in {_KIND_OF.get(of) for of in end.roles}]
        near = [role for place in (at - 1, at + 1) for role, end in ends.items() if table.index(end) == place]
        role = next(iter((*named, *alike, *near)), "")
        splits = said.splits.get(ends["tail"].name, "") if role == "tail" else ""
        # identifiers tell about as many things apart as names
        if role and column.separator == splits and 2 * len(set(column.cells)) >= len(set(ends[role].cells)):
            found.setdefault(f"{role}_id", column.name)
    return found


def _language(table: Sequence[_Column], said: Guess) -> str:
    """The language of most headers and relations, English where none is ahead of it."""
    texts = [column.name for column in table if fold_text(column.name) not in _OWN]
    texts += dict.fromkeys(_end("relation", said, table).cells)
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

    Raises MissingColumns where a person has to say more: columns, lists by comma, and whether rows are about patients;
    FactsError where a column stands twice.
    """
    guessed = guess(headers, [[row.get(name, "") for name in headers] for row in rows], given)
    if asked := _asked(guessed, headers, given):
        raise MissingColumns(f"{place}{asked[0]}", asked[1], list(headers))
    used = {*guessed.columns.values(), *guessed.wide, *guessed.marks} - set(given.values())
    if twice := next((name for name in headers if name in used and list(headers).count(name) > 1), ""):
        raise FactsError(f"{place}, row 1: the column {twice!r} occurs twice.", "Rename one of them.")
    own = named_columns(list(headers))
    found = {role: said for role, said in guessed.column_map().items() if own.get(role, [""])[0] != said}
    if "source" in own and "source" not in guessed.columns:
        found["source"] = CONSTANT
    return {**found, **given}, tuple(_notes(place, headers, guessed, given))


def _asked(guessed: Guess, headers: Sequence[str], given: Mapping[str, str]) -> tuple[str, str] | None:
    """What a person has to say, behind the name of the file, and how; None where nothing is open."""
    sure = ", ".join(f"{role} = {name}" for role, name in guessed.columns.items() if role in REQUIRED and role != name)
    if guessed.personal and PATIENTS not in given and not {"head", "tail"} <= given.keys():
        are = "is" if len(guessed.personal) == 1 else "are"
        return (
            f": the data may be about patients: {_few([*map(repr, guessed.personal)])} {are} among the columns. Nothing was "
            f"read.{f' To be read: {sure}.' if sure else ''}",
            "Take patients' data out of the file. If no row is about a patient, add --column patients==none; to read other "
            "columns alone, name them with --column head=… and --column tail=….",
        )
    if guessed.open:
        subject = f"column {guessed.open[0]} is" if len(guessed.open) == 1 else f"columns {listed(guessed.open)} are"
        likely = f" (likely {guessed.relation})" if guessed.relation and "relation" in guessed.open else ""
        shown = " / ".join(" | ".join(cell.strip()[:40] for cell in row[:8]) for row in guessed.sample)
        options = " and ".join(f"--column {role}={'=symptoms' if role == 'relation' else 'YOURS'}" for role in guessed.open)
        return (
            f", row 1: the {subject} missing{likely}; the file has {', '.join(headers)[:200]}.",
            f"Name the columns head, relation and tail, or say which of yours they are. On the command line, add {options}."
            f"{f' Read so far: {sure}.' if sure else ''} The first rows: {shown}.",
        )
    lists = {name: sign for name, sign in guessed.splits.items() if sign in COMMAS and f"{SPLIT}:{name}" not in given}
    for name, sign in lists.items() if SPLIT not in given else ():
        cell = next((row[headers.index(name)] for row in guessed.sample if sign in row[headers.index(name)]), sign)
        return (
            f": the cells of {name!r} seem to be lists, such as {cell.strip()[:80]!r}.",
            f"Add --column split=={sign} to make a fact of each name, or --column split==none where it belongs to the names.",
        )
    return None


def _notes(place: str, headers: Sequence[str], guessed: Guess, given: Mapping[str, str]) -> Iterator[str]:
    """What was guessed, and the columns that are not read."""
    roles = {role: name for role, name in guessed.columns.items() if role not in given and _plain(name) != _plain(role)}
    said = [f"{role} = {name}" for role, name in roles.items()] if roles.keys() - named_columns(list(headers)).keys() else []
    said += [f"relation = {guessed.relation}"] if guessed.relation else []
    said += [f"{name} = tails of {relation}" for name, relation in guessed.wide.items() if f"{TAIL_OF}{name}" not in given]
    if guessed.marks:
        said.append(f"a mark such as 1 or x below {_few(guessed.marks)} gives the head that tail, any other cell nothing")
    signs = {} if SPLIT in given else {name: sign for name, sign in guessed.splits.items() if sign not in COMMAS}
    said += [f"the cells of {name} are split at {'line breaks' if sign.isspace() else sign!r}" for name, sign in signs.items()]
    if said:
        yield f"{place}: read: {', '.join(text[:200] for text in said[:20])}; say otherwise with --column."
    used = {*guessed.columns.values(), *guessed.wide, *guessed.marks, *given.values()}
    if unread := [name for name in headers if name and name not in used and fold_text(name) not in _OWN and not is_read(name)]:
        yield f"{place}: not read: {_few(unread)}."


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(name[:_LONGEST_SHOWN] for name in names[:_MOST_SHOWN])
    return f"{shown} and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else shown
