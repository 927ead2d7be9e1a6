"""MKJ as published (Li et al. 2025): ready statements made from UMLS triplets, one true and three false ones for each.

`data.json` holds the statements (`hf_dataset/` the same in Arrow), `triplets_collection.json` all triplets,
`semantic_to_entity.json` the names of each semantic type and `templates.json` the sentences that made the statements.
Any of them may be missing. Entries are counted from 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from medfact.datasets.collection import Collection, Problem
from medfact.datasets.text import open_text
from medfact.errors import FactsError
from medfact.facts import Fact, KnowledgeBase, name_key

DATA = "data.json"
TRIPLETS = "triplets_collection.json"
TYPES = "semantic_to_entity.json"
TEMPLATES = "templates.json"

NEGATIVES = 3
"""False statements of each true one."""

SOURCE = "MKJ (UMLS)"
LICENCE = "MKJ is derived from UMLS: do not share or export its facts publicly without a UMLS licence."

LONGEST_NAME = 1_000
"""Characters; a longer name is a paragraph."""

_ARROW = "data*.arrow"
_ARROW_COLUMNS = frozenset({"original_triplet", "pos_qa", "neg_qa"})
_DEPTHS = ("", "*/", "*/*/", "*/*/*/")
"""The published repository keeps `data/hf_dataset/`, which may hold a folder per split."""

_UNUSABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_SLOTS = {"{subject}": "[X]", "{object}": "[Y]"}
_SLOT = re.compile("|".join(map(re.escape, _SLOTS)))

Triplet = tuple[str, str, str]


# ------------------------------------------------------------------------------------------- which files


def is_mkj(path: Path) -> bool:
    """Whether this is MKJ as published: a folder with some of its files, or one of them. Raises nothing."""
    if path.is_dir():
        by_name = ((file, name) for name in (DATA, TRIPLETS) for file in _named(path, name))
        return any(_kind(file) == name for file, name in by_name) or bool(_arrow_files(path))
    if path.suffix.lower() == ".arrow":
        return _holds_statements(path)
    return path.suffix.lower() == ".json" and path.is_file() and bool(_kind(path))


def _named(folder: Path, name: str) -> list[Path]:
    """The file of that name, in the folder or, as in the published repository, in a folder of it."""
    return sorted(file for depth in _DEPTHS[:2] for file in folder.glob(depth + name) if file.is_file())


def _arrow_files(folder: Path) -> list[Path]:
    return sorted(file for depth in _DEPTHS for file in folder.glob(depth + _ARROW) if _holds_statements(file))


def _kind(file: Path) -> str:
    """The published file that this one is by its content's shape, whatever its name; by its name where it is broken."""
    try:
        content = _read_json(file)
    except (FactsError, OSError):
        return file.name if file.name in (DATA, TRIPLETS, TYPES, TEMPLATES) else ""
    if isinstance(content, list):
        keys = {key for entry in content if isinstance(entry, dict) for key in entry}
        return DATA if keys >= _ARROW_COLUMNS else TRIPLETS if "triplet" in keys else ""
    if not isinstance(content, dict):
        return ""
    if any(isinstance(sentence, str) and _SLOT.search(sentence) for sentence in content.values()):
        return TEMPLATES
    # Lists of names under keys could be anything; only the published name says what they are.
    return TYPES if file.name == TYPES else ""


# ---------------------------------------------------------------------------------------------- loading


@dataclass
class _Gathered:
    """What was read so far. `known` has each triplet once; a ready statement's fact comes before a plain one."""

    root: Path
    tested: dict[str, Fact] = field(default_factory=dict)
    known: dict[Triplet, Fact] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    predicates: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Relations of the triplets, with the file and the number of the entry where each comes first."""

    def name(self, file: Path) -> str:
        return file.relative_to(self.root).as_posix() if self.root.is_dir() else file.name

    def tell(self, file: Path, number: int, what: str) -> None:
        self.problems.append(Problem(number, what, self.name(file)))


def load_mkj(path: Path) -> Collection:
    """The facts of MKJ as published, each with its ready statement and followed by its three negative ones.

    Without `data.json` or its Arrow form, the triplets are plain facts. All triplets count as known. Entries that cannot
    be used are left out and told as problems, which name the file and the entry's number.

    Args:
        path: a folder that holds some or all of the files, or one of them.

    Raises:
        FactsError: a file is missing or broken (says which file and line), or there is no usable true fact.
    """
    if not path.exists():
        raise FactsError(f"There is no file or folder {str(path)!r}.", "Check the path.")
    gathered = _Gathered(path)
    json_files, arrow_files = _files(path, DATA), _files(path, "arrow")
    for file in json_files:
        _take_statements(gathered, file, _list_in(file))
    for file in arrow_files:
        _take_statements(gathered, file, _read_arrow(file))
    for file in _files(path, TRIPLETS):
        _take_triplets(gathered, file, _list_in(file))
    positive = [fact for fact in gathered.tested.values() if fact.positive and fact.tail and fact.tail_type]
    types = {name_key(fact.tail or ""): fact.tail_type or "" for fact in positive}
    for file in _files(path, TYPES):
        types = {**_read_types(gathered, file), **types}
    for file in _files(path, TEMPLATES):
        _check_templates(gathered, file)
    ready = bool(json_files or arrow_files)
    facts = _typed(gathered.tested.values() if ready else gathered.known.values(), types)
    if not facts:
        first = f" ({gathered.problems[0]})" if gathered.problems else ""
        raise FactsError(
            f"{path.name} holds no usable true fact{first}.",
            f"Choose a folder with MKJ's {DATA} or {TRIPLETS}, or one of them.",
        )
    known = KnowledgeBase(_typed(gathered.known.values(), types))
    return Collection(path.name, facts, known, tuple(gathered.problems), (LICENCE, *gathered.notes))


def _files(path: Path, kind: str) -> list[Path]:
    """The files of one kind: of a folder by name, or the lone file if it is of that kind."""
    if path.is_dir():
        return _arrow_files(path) if kind == "arrow" else _named(path, kind)
    found = "arrow" if path.suffix.lower() == ".arrow" else _kind(path) or DATA
    return [path] if found == kind else []


def _typed(facts: Iterable[Fact], types: Mapping[str, str | None]) -> tuple[Fact, ...]:
    """The same facts; those whose tail has no type get the one that is known for its name."""
    return tuple(
        replace(fact, tail_type=types.get(name_key(fact.tail))) if fact.tail and not fact.tail_type else fact for fact in facts
    )


def _read_json(file: Path) -> Any:
    try:
        with open_text(file) as stream:
            return json.load(stream)
    except json.JSONDecodeError as error:
        raise FactsError(
            f"{file.name}, line {error.lineno}: this is not valid JSON ({error.msg}).", "Mend it, or download the file again."
        ) from None
    except (ValueError, RecursionError):
        raise FactsError(
            f"{file.name}, from line 1: brackets or numbers go too far to be read.", "Download the file again."
        ) from None


def _list_in(file: Path) -> list[Any]:
    content = _read_json(file)
    if not isinstance(content, list):
        raise FactsError(f"{file.name}, line 1: it must be a list of objects, in [ and ].", "Choose the file as published.")
    return content


def _object_in(file: Path) -> dict[str, Any]:
    content = _read_json(file)
    if not isinstance(content, dict):
        raise FactsError(f"{file.name}, line 1: it must be one object, in {{ and }}.", "Choose the file as published.")
    return content


def _holds_statements(file: Path) -> bool:
    import pyarrow

    try:
        with file.open("rb") as data, pyarrow.ipc.open_stream(data) as reader:
            return set(reader.schema.names) >= _ARROW_COLUMNS
    except (pyarrow.ArrowException, OSError):
        return False


def _read_arrow(file: Path) -> list[Any]:
    import pyarrow

    try:
        with file.open("rb") as data, pyarrow.ipc.open_stream(data) as reader:
            return [entry for batch in reader for entry in batch.to_pylist()]
    except (pyarrow.ArrowException, OSError, ValueError):
        raise FactsError(f"{file.name} is damaged, or no Arrow file.", "Save the data set again.") from None


# --------------------------------------------------------------------------------------- ready statements


def _take_statements(gathered: _Gathered, file: Path, entries: list[Any]) -> None:
    before = frozenset(gathered.tested)
    repeated = 0
    seen: set[tuple[str, ...]] = set()
    for number, entry in enumerate(entries, 1):
        try:
            positive, *negatives = _facts_of(entry)
        except ValueError as error:
            gathered.tell(file, number, str(error))
            continue
        said = positive.fact_id, *sorted(fact.text or "" for fact in negatives)
        if said in seen:
            gathered.tell(file, number, "it repeats an earlier entry, and is counted once")
            continue
        if positive.fact_id in {earlier[0] for earlier in seen}:
            positive, *negatives = _numbered(number, positive, negatives)
        seen.add(said)
        if positive.fact_id in before:
            repeated += 1
            continue
        gathered.tested.update({fact.fact_id: fact for fact in (positive, *negatives)})
        gathered.known.setdefault(_triplet_of(positive), positive)
        if any(name_key(fact.text or "") == name_key(positive.text or "") for fact in negatives):
            gathered.tell(
                file, number, "a false statement says the same as the true one; both stay as published, and one label is wrong"
            )
    if repeated:
        gathered.notes.append(f"{gathered.name(file)} repeats {repeated} entries of another file; they are counted once.")


def _numbered(number: int, positive: Fact, negatives: Sequence[Fact]) -> Iterator[Fact]:
    """The facts of an entry whose true statement an earlier one has with other false ones: told apart by its number."""
    own = replace(positive, source_id=f"entry {number}", fact_id="")
    yield own
    for fact in negatives:
        yield replace(fact, negative_of=own.fact_id, fact_id="")


def _triplet_of(fact: Fact) -> Triplet:
    return fact.head, fact.relation, fact.tail or ""


def _facts_of(entry: Any) -> Iterator[Fact]:
    """The positive fact of an entry, then its negative ones. Raises ValueError, saying what is wrong and what to do."""
    if not isinstance(entry, dict):
        raise ValueError("it is not an object with original_triplet, pos_qa and neg_qa; delete it")
    head, relation, tail = _triplet(entry, "original_triplet")
    true = _statements(entry, "pos_qa", True, 1)
    false = _statements(entry, "neg_qa", False, NEGATIVES)
    types = _joined_types(entry.get("semantic_type"))
    positive = Fact(head, relation, tail, tail_type=types, source=SOURCE, text=true[0])
    yield positive
    for k, statement in enumerate(false, 1):
        other = _recovered_tail(true[0], tail, statement)
        yield replace(positive.negative(other or "", None, k), tail=other, text=statement)


def _triplet(entry: dict[str, Any], key: str) -> Triplet:
    triplet = entry.get(key)
    if not isinstance(triplet, dict):
        raise ValueError(f"{key} is missing; give its subject, predicate and object")
    subject, predicate, tail = (_text(triplet.get(name), f"the {name}") for name in ("subject", "predicate", "object"))
    for name, text in (("subject", subject), ("predicate", predicate), ("object", tail)):
        if len(text) > LONGEST_NAME:
            raise ValueError(f"the {name} is longer than {LONGEST_NAME} characters; give a name")
    return subject, predicate, tail


def _text(value: Any, what: str) -> str:
    """Stripped text with single spaces; raises ValueError where there is none, or none that can be shown and stored."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text:
        raise ValueError(f"{what} is missing; fill it in, or delete the entry")
    if _UNUSABLE.search(text):
        raise ValueError(f"{what} holds characters that are no text; type it again")
    return text


def _statements(entry: dict[str, Any], key: str, truth: bool, count: int) -> list[str]:
    given = entry.get(key)
    if not isinstance(given, dict):
        raise ValueError(f"{key} is missing; give its statement and answer")
    statements = _as_list(given.get("statement"))
    if len(statements) != count:
        raise ValueError(f"{key} has {len(statements)} statements, not {count}; give {count}")
    answers = _as_list(given.get("answer"))
    if not answers:
        raise ValueError(f"the answer of {key} is missing; fill it in, or delete the entry")
    if any(_truth(answer) is not truth for answer in answers):
        raise ValueError(f"the answer of {key} must be {truth}; correct it, or delete the entry")
    return [_text(statement, f"a statement of {key}") for statement in statements]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _truth(answer: Any) -> bool | None:
    if isinstance(answer, str):
        return {"true": True, "false": False}.get(answer.strip().lower())
    return answer if isinstance(answer, bool) else None


def _joined_types(value: Any) -> str | None:
    types = _as_list(value)
    return "; ".join(dict.fromkeys(_text(name, "a semantic type") for name in types)) or None


def _recovered_tail(true: str, tail: str, false: str) -> str | None:
    """The tail of a false statement, which differs from the true one in its tail alone; None where that is not certain."""
    places = [match.start() for match in re.finditer(f"(?={re.escape(tail)})", true, re.IGNORECASE)]
    if len(places) != 1:
        return None
    prefix, suffix = true[: places[0]], true[places[0] + len(tail) :]
    match = re.fullmatch(f"{re.escape(prefix)}(.+){re.escape(suffix)}", false, re.IGNORECASE)
    return match.group(1).strip() or None if match else None


# ------------------------------------------------------------------------------- triplets, types, templates


def _take_triplets(gathered: _Gathered, file: Path, entries: list[Any]) -> None:
    own: list[Triplet] = []
    for number, entry in enumerate(entries, 1):
        try:
            triplet = _triplet(entry if isinstance(entry, dict) else {}, "triplet")
        except ValueError as error:
            gathered.tell(file, number, str(error))
            continue
        own.append(triplet)
        gathered.predicates.setdefault(triplet[1], (gathered.name(file), number))
        gathered.known.setdefault(triplet, Fact(*triplet, source=SOURCE))
    unique = len(set(own))
    if unique < len(own):
        gathered.notes.append(
            f"{gathered.name(file)}: {len(own)} triplets, {unique} of them different; repeats are counted once."
        )


def _read_types(gathered: _Gathered, file: Path) -> dict[str, str]:
    """name key → the semantic types that list the name, in the file's order."""
    types: dict[str, list[str]] = {}
    for number, (given, names) in enumerate(_object_in(file).items(), 1):
        try:
            semantic_type = _text(given, "the semantic type")
        except ValueError as error:
            gathered.tell(file, number, str(error))
            continue
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            gathered.tell(file, number, f"the semantic type {semantic_type!r} has no list of names; give one in [ and ]")
            continue
        for key in dict.fromkeys(map(name_key, names)):
            types.setdefault(key, []).append(semantic_type)
    return {key: "; ".join(found) for key, found in types.items()}


def _check_templates(gathered: _Gathered, file: Path) -> None:
    _, problems = read_templates(file)
    gathered.problems += [replace(problem, file=gathered.name(file)) for problem in problems]
    written = {" ".join(predicate.split()) for predicate in _object_in(file)}
    for predicate, (name, number) in gathered.predicates.items():
        if predicate not in written:
            what = f"the predicate {predicate!r} has no sentence in {TEMPLATES}; write one with {{subject}} and {{object}}"
            gathered.problems.append(Problem(number, what, name))


def find_templates(path: Path) -> Path | None:
    """The `templates.json` of a folder, or of the folder that a file is in."""
    file = (path if path.is_dir() else path.parent) / TEMPLATES
    return file if file.is_file() else None


def read_templates(path: Path) -> tuple[dict[str, str], list[Problem]]:
    """The sentences of a `templates.json` as prototypes, with [X] for the subject and [Y] for the object.

    Returns:
        predicate → prototype, of those that can be used, and a problem for each that cannot, which quotes the predicate.

    Raises:
        FactsError: the file is broken or holds no object; says which file and line.
    """
    prototypes: dict[str, str] = {}
    problems: list[Problem] = []
    for number, (given, sentence) in enumerate(_object_in(path).items(), 1):
        predicate = " ".join(given.split())
        wrong = _wrong_template(sentence)
        if wrong:
            problems.append(Problem(number, f"the sentence of the predicate {predicate!r} {wrong}", path.name))
        else:
            prototypes[predicate] = _SLOT.sub(lambda slot: _SLOTS[slot.group()], " ".join(sentence.split()))
    return prototypes, problems


def _wrong_template(sentence: Any) -> str:
    """What is wrong with a sentence and what to do, or nothing."""
    if not isinstance(sentence, str) or not sentence.strip():
        return "is missing; write one with {subject} and {object}"
    others = re.findall(r"\{[^{}]*\}|\[[XY]\]|[{}]", _SLOT.sub("", sentence))
    if others:
        return f"holds {others[0]}, which nothing fills; write words in its place, and only {{subject}} and {{object}}"
    missing = [slot for slot in _SLOTS if slot not in sentence]
    if missing:
        return f"lacks {' and '.join(missing)}; put {'them' if len(missing) > 1 else 'it'} in"
    twice = [slot for slot in _SLOTS if sentence.count(slot) > 1]
    return f"holds {twice[0]} more than once; leave one" if twice else ""
