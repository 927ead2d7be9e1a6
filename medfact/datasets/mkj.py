"""MKJ as published (Li et al. 2025): ready statements made from UMLS triplets, one true and three false ones for each.

`data.json` holds the statements (`hf_dataset/` the same in Arrow), `triplets_collection.json` all triplets,
`semantic_to_entity.json` the names of each semantic type and `templates.json` the sentences that made the statements.
Any of them may be missing. Entries are counted from 1.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from medfact.datasets.collection import Collection, Problem
from medfact.datasets.headers import MAX_NAME
from medfact.datasets.text import open_text
from medfact.errors import FactsError
from medfact.facts import Fact, KnowledgeBase, fold_text, name_key

DATA = "data.json"
TRIPLETS = "triplets_collection.json"
TYPES = "semantic_to_entity.json"
TEMPLATES = "templates.json"
SLOTS = {"{subject}": "[X]", "{object}": "[Y]"}
"""The slots of MKJ's templates, and ours."""

_ARROW = "data*.arrow"
_STATEMENT_COLUMNS = frozenset({"original_triplet", "pos_qa", "neg_qa"})
_DEPTHS = ("", "*/", "*/*/", "*/*/*/")
"""The published repository keeps `data/hf_dataset/`, which may hold one folder per split."""


def is_mkj(path: Path) -> bool:
    """Whether this is MKJ as published: one of its files, or a folder with some of them. Never raises."""
    if path.is_dir():
        files = files_by_name(path)
        return any(_published_name(file) == name for name in (DATA, TRIPLETS) for file in files[name])
    return path.suffix.lower() in {".json", ".arrow"} and path.is_file() and bool(_published_name(path))


def files_by_name(path: Path) -> Mapping[str, list[Path]]:
    """Published name → a folder's files of that name; or only the path itself, if it is a file.

    Like the published repository, a folder may keep its files in another folder. The Arrow form counts as `data.json`.
    """
    if not path.is_dir():
        return defaultdict(list, {_published_name(path) or DATA: [path]})
    files = {name: _matching(path, name, _DEPTHS[:2]) for name in (DATA, TRIPLETS, TYPES, TEMPLATES)}
    return {**files, DATA: [*files[DATA], *filter(_holds_statements, _matching(path, _ARROW, _DEPTHS))]}


def _matching(folder: Path, pattern: str, depths: Sequence[str]) -> list[Path]:
    return sorted(file for depth in depths for file in folder.glob(depth + pattern) if file.is_file())


def _published_name(file: Path) -> str:
    """The published name of a file with this content, or "". A broken file keeps its own name."""
    if file.suffix.lower() == ".arrow":
        return DATA if _holds_statements(file) else ""
    try:
        content = _read_json(file)
    except (FactsError, OSError):
        return file.name if file.name in (DATA, TRIPLETS, TYPES, TEMPLATES) else ""
    if isinstance(content, list):
        keys = {key for entry in content if isinstance(entry, dict) for key in entry}
        return DATA if keys >= _STATEMENT_COLUMNS else TRIPLETS if "triplet" in keys else ""
    if not isinstance(content, dict):
        return ""
    if any(isinstance(sentence, str) and any(slot in sentence for slot in SLOTS) for sentence in content.values()):
        return TEMPLATES
    # Lists of names under keys could be anything; only the published name tells.
    return TYPES if file.name == TYPES else ""


def read_list(file: Path) -> list[Any]:
    """The entries of a JSON list or an Arrow table. Raises FactsError, naming file and line, where there are none."""
    if file.suffix.lower() == ".arrow":
        return _read_arrow(file)
    content = _read_json(file)
    if not isinstance(content, list):
        raise FactsError(f"{file.name}, line 1: it must be a list of objects, in [ and ].", "Choose the file as published.")
    return content


def read_object(file: Path) -> dict[str, Any]:
    """A JSON object. Raises FactsError, naming file and line, where the file holds something else."""
    content = _read_json(file)
    if not isinstance(content, dict):
        raise FactsError(f"{file.name}, line 1: it must be one object, in {{ and }}.", "Choose the file as published.")
    return content


def _read_json(file: Path) -> Any:
    try:
        with open_text(file) as stream:
            return json.load(stream)
    except json.JSONDecodeError as error:
        raise FactsError(
            f"{file.name}, line {error.lineno}: this is not valid JSON ({error.msg}).",
            "Correct it, or download the file again.",
        ) from None
    except (ValueError, RecursionError):
        raise FactsError(
            f"{file.name}, from line 1: numbers are too long or brackets too deep to read.", "Download the file again."
        ) from None


def _holds_statements(file: Path) -> bool:
    import pyarrow

    try:
        with file.open("rb") as data, pyarrow.ipc.open_stream(data) as reader:
            return set(reader.schema.names) >= _STATEMENT_COLUMNS
    except (pyarrow.ArrowException, OSError):
        return False


def _read_arrow(file: Path) -> list[Any]:
    import pyarrow

    try:
        with file.open("rb") as data, pyarrow.ipc.open_stream(data) as reader:
            return [entry for batch in reader for entry in batch.to_pylist()]
    except (pyarrow.ArrowException, OSError, ValueError):
        raise FactsError(f"{file.name} is damaged, or not an Arrow file.", "Save the data set again.") from None


NEGATIVES = 3
"""False statements of each true one."""

SOURCE = "MKJ (UMLS)"
LICENCE = "MKJ is derived from UMLS: do not share or export its facts publicly without a UMLS licence."

_UNUSABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_SLOT = re.compile("|".join(map(re.escape, SLOTS)))

Triplet = tuple[str, str, str]


class _Stated(NamedTuple):
    """A fact and the sentence in which the file states it."""

    fact: Fact
    sentence: str


@dataclass
class _Reading:
    """What was read so far.

    known: each triplet once; a fact with a ready sentence is kept rather than a plain one.
    predicates: the relations of the triplets, each with the file and entry where it first occurs.
    """

    root: Path
    tested: dict[str, Fact] = field(default_factory=dict)
    ready: dict[str, str] = field(default_factory=dict)
    known: dict[Triplet, Fact] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    predicates: dict[str, tuple[str, int]] = field(default_factory=dict)

    def name(self, file: Path) -> str:
        return file.relative_to(self.root).as_posix() if self.root.is_dir() else file.name

    def add_problem(self, file: Path, number: int, message: str) -> None:
        self.problems.append(Problem(number, message, self.name(file)))


def load_mkj(path: Path) -> Collection:
    """The facts of MKJ as published, each followed by its three negative ones, all with their ready sentences.

    Without `data.json` or its Arrow form, the triplets become plain facts. All triplets count as known. Entries that cannot
    be used are left out; a problem names the file and the entry's number.

    Args:
        path: a folder that holds some or all of the files, or one of them.

    Raises:
        FactsError: a file is missing or broken (says which file and line), or there is no usable true fact.
    """
    if not path.exists():
        raise FactsError(f"There is no file or folder {str(path)!r}.", "Check the path.")
    reading = _Reading(path)
    files = files_by_name(path)
    for file in files[DATA]:
        _add_statements(reading, file)
    for file in files[TRIPLETS]:
        _add_triplets(reading, file)
    positive = [fact for fact in reading.tested.values() if fact.positive and fact.tail and fact.tail_type]
    types = {name_key(fact.tail or ""): fact.tail_type or "" for fact in positive}
    listed: dict[str, str] = {}
    for file in files[TYPES]:
        listed = {**_read_types(reading, file), **listed}
    types = {**listed, **types}
    for file in files[TEMPLATES]:
        _check_templates(reading, file)
    facts = _typed((reading.tested if files[DATA] else reading.known).values(), types)
    if not facts:
        first = f" ({reading.problems[0]})" if reading.problems else ""
        raise FactsError(
            f"{path.name} holds no usable true fact{first}.",
            f"Choose a folder with MKJ's {DATA} or {TRIPLETS}, or one of them.",
        )
    known = KnowledgeBase(_typed(reading.known.values(), types))
    notes = (LICENCE, *reading.notes)
    return Collection(path.name, facts, known, tuple(reading.problems), notes, reading.ready, listed=listed)


def _typed(facts: Iterable[Fact], types: Mapping[str, str | None]) -> tuple[Fact, ...]:
    """The same facts. A tail without a semantic type gets the one known for its name."""
    return tuple(
        replace(fact, tail_type=types.get(name_key(fact.tail))) if fact.tail and not fact.tail_type else fact for fact in facts
    )


# --------------------------------------------------------------------------------------- ready statements


def _add_statements(reading: _Reading, file: Path) -> None:
    in_earlier_files = frozenset(reading.tested)
    repeated = 0
    entries_seen: set[tuple[str, ...]] = set()
    facts_seen: set[str] = set()
    for number, entry in enumerate(read_list(file), 1):
        try:
            true, *false = _stated_facts(entry)
        except ValueError as error:
            reading.add_problem(file, number, str(error))
            continue
        key = (true.fact.fact_id, *sorted(stated.sentence for stated in false))
        if key in entries_seen:
            reading.add_problem(file, number, "it repeats an earlier entry, and is counted once")
            continue
        if true.fact.fact_id in facts_seen:
            true, *false = _numbered(number, true, false)
        entries_seen.add(key)
        facts_seen.add(key[0])
        if true.fact.fact_id in in_earlier_files:
            repeated += 1
            continue
        reading.tested.update({stated.fact.fact_id: stated.fact for stated in (true, *false)})
        reading.ready.update({stated.fact.fact_id: stated.sentence for stated in (true, *false)})
        reading.known.setdefault((true.fact.head, true.fact.relation, true.fact.tail or ""), true.fact)
        if fold_text(true.sentence) in {fold_text(stated.sentence) for stated in false}:
            reading.add_problem(
                file, number, "a false statement says the same as the true one; both stay as published, and one label is wrong"
            )
    if repeated:
        reading.notes.append(f"{reading.name(file)} repeats {repeated} entries of another file; they are counted once.")


def _numbered(number: int, true: _Stated, false: Iterable[_Stated]) -> list[_Stated]:
    """An entry that repeats an earlier true statement with other false ones. Its number tells the two apart."""
    own = replace(true.fact, source_id=f"entry {number}").with_ready_sentence(true.sentence)
    negatives = (_Stated(replace(fact, negative_of=own.fact_id, fact_id=""), sentence) for fact, sentence in false)
    return [_Stated(own, true.sentence), *negatives]


def _stated_facts(entry: Any) -> list[_Stated]:
    """The positive fact of an entry, then its negative ones. Raises ValueError, saying what is wrong and what to do."""
    if not isinstance(entry, dict):
        raise ValueError("it is not an object with original_triplet, pos_qa and neg_qa; delete it")
    head, relation, tail = _triplet(entry, "original_triplet")
    (true,) = _statements(entry, "pos_qa", True, 1)
    false = _statements(entry, "neg_qa", False, NEGATIVES)
    types = _joined_types(entry.get("semantic_type"))
    positive = Fact(head, relation, tail, tail_type=types, source=SOURCE).with_ready_sentence(true)
    tails = [_recovered_tail(true, tail, sentence) for sentence in false]
    negatives = [replace(positive.negative(other or "", None, k), tail=other) for k, other in enumerate(tails, 1)]
    return [_Stated(positive, true), *map(_Stated, negatives, false)]


def _triplet(entry: dict[str, Any], key: str) -> Triplet:
    triplet = entry.get(key)
    if not isinstance(triplet, dict):
        raise ValueError(f"{key} is missing; give its subject, predicate and object")
    subject, predicate, tail = (_text(triplet.get(name), f"the {name}") for name in ("subject", "predicate", "object"))
    for name, text in (("subject", subject), ("predicate", predicate), ("object", tail)):
        if len(text) > MAX_NAME:
            raise ValueError(f"the {name} is longer than {MAX_NAME} characters; give a name")
    return subject, predicate, tail


def _text(value: Any, part: str) -> str:
    """Stripped text with single spaces. Raises ValueError where it is missing, or cannot be shown and stored."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text:
        raise ValueError(f"{part} is missing; fill it in, or delete the entry")
    if _UNUSABLE.search(text):
        raise ValueError(f"{part} holds characters that are not text; type it again")
    return text


def _statements(entry: dict[str, Any], key: str, truth: bool, count: int) -> list[str]:
    group = entry.get(key)
    if not isinstance(group, dict):
        raise ValueError(f"{key} is missing; give its statement and answer")
    statements = _as_list(group.get("statement"))
    if len(statements) != count:
        raise ValueError(f"{key} has {len(statements)} statements, not {count}; give {count}")
    answers = _as_list(group.get("answer"))
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
    """The tail of a false statement, which differs from the true one only in its tail; None if that is uncertain."""
    places = [match.start() for match in re.finditer(f"(?={re.escape(tail)})", true, re.IGNORECASE)]
    if len(places) != 1:
        return None
    prefix, suffix = true[: places[0]], true[places[0] + len(tail) :]
    match = re.fullmatch(f"{re.escape(prefix)}(.+){re.escape(suffix)}", false, re.IGNORECASE)
    return match.group(1).strip() or None if match else None


# ------------------------------------------------------------------------------- triplets, types, templates


def _add_triplets(reading: _Reading, file: Path) -> None:
    triplets: list[Triplet] = []
    for number, entry in enumerate(read_list(file), 1):
        try:
            triplet = _triplet(entry if isinstance(entry, dict) else {}, "triplet")
        except ValueError as error:
            reading.add_problem(file, number, str(error))
            continue
        triplets.append(triplet)
        reading.predicates.setdefault(triplet[1], (reading.name(file), number))
        reading.known.setdefault(triplet, Fact(*triplet, source=SOURCE))
    unique = len(set(triplets))
    if unique < len(triplets):
        reading.notes.append(
            f"{reading.name(file)}: {len(triplets)} triplets, {unique} of them different; repeats are counted once."
        )


def _read_types(reading: _Reading, file: Path) -> dict[str, str]:
    """name key → the semantic types that list the name, in the file's order."""
    types: dict[str, list[str]] = {}
    for number, (title, names) in enumerate(read_object(file).items(), 1):
        try:
            semantic_type = _text(title, "the semantic type")
        except ValueError as error:
            reading.add_problem(file, number, str(error))
            continue
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            reading.add_problem(file, number, f"the semantic type {semantic_type!r} has no list of names; give one in [ and ]")
            continue
        for key in dict.fromkeys(map(name_key, names)):
            types.setdefault(key, []).append(semantic_type)
    return {key: "; ".join(listed) for key, listed in types.items()}


def _check_templates(reading: _Reading, file: Path) -> None:
    _, problems = read_templates(file)
    reading.problems += [replace(problem, file=reading.name(file)) for problem in problems]
    written = {" ".join(predicate.split()) for predicate in read_object(file)}
    for predicate, (name, number) in reading.predicates.items():
        if predicate not in written:
            message = f"the predicate {predicate!r} has no sentence in {TEMPLATES}; write one with {{subject}} and {{object}}"
            reading.problems.append(Problem(number, message, name))


def find_templates(path: Path) -> Path | None:
    """The `templates.json` of a folder, or of the folder that a file is in."""
    file = (path if path.is_dir() else path.parent) / TEMPLATES
    return file if file.is_file() else None


def read_templates(path: Path) -> tuple[dict[str, str], list[Problem]]:
    """The sentences of a `templates.json` as prototypes, with [X] for the subject and [Y] for the object.

    Returns:
        predicate → prototype, and for each sentence that cannot be used a problem, which quotes the predicate.

    Raises:
        FactsError: the file is broken or not an object; says which file and line.
    """
    prototypes: dict[str, str] = {}
    problems: list[Problem] = []
    for number, (written, sentence) in enumerate(read_object(path).items(), 1):
        predicate = " ".join(written.split())
        if wrong := _wrong_template(sentence):
            problems.append(Problem(number, f"the sentence of the predicate {predicate!r} {wrong}", path.name))
        else:
            prototypes[predicate] = _SLOT.sub(lambda slot: SLOTS[slot.group()], " ".join(sentence.split()))
    return prototypes, problems


def _wrong_template(sentence: Any) -> str:
    """What is wrong with a sentence and what to do, or nothing."""
    if not isinstance(sentence, str) or not sentence.strip():
        return "is missing; write one with {subject} and {object}"
    others = re.findall(r"\{[^{}]*\}|\[[XY]\]|[{}]", _SLOT.sub("", sentence))
    if others:
        return f"holds {others[0]}, which nothing fills; replace it, and keep only {{subject}} and {{object}}"
    missing = [slot for slot in SLOTS if slot not in sentence]
    if missing:
        return f"lacks {' and '.join(missing)}; put {'them' if len(missing) > 1 else 'it'} in"
    twice = [slot for slot in SLOTS if sentence.count(slot) > 1]
    return f"holds {twice[0]} more than once; leave one" if twice else ""
