"""The fact, a triplet (head, relation, tail), its normalized names, and the knowledge base of true facts.

Entities are identified by name. Identifiers (UMLS CUIs, DOIDs, …) may repeat; they only merge names of one entity.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

from medfact.assets import table_words

ID_LENGTH = 20
"""Hexadecimal characters of a fact's or statement's id: 80 bits."""


def digest(*parts: str | None) -> str:
    """Hashes texts to an id of ID_LENGTH characters, the same on every machine and under every hash seed."""
    text = "\x1f".join([part or "" for part in parts])
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:ID_LENGTH]


ALWAYS, IF_KNOWN, NEVER = "always", "if known", "never"
"""Presence of a column in exported tables: always, if a fact has a value in it, or never."""


@dataclass(frozen=True, slots=True)
class Column:
    """Metadata of a field of `Fact`, which is a column of its tables. A run and its file record all columns."""

    is_read: bool = True  # read from a user's file of facts
    exported: str = NEVER  # presence in exported tables: ALWAYS, IF_KNOWN or NEVER
    describes_source: bool = False  # describes the source of a fact; its negatives do not inherit it


def column(default: Any = None, *, about: Column, **others: Any) -> Any:
    """Declares a dataclass field of `Fact` with its column metadata. others: further arguments of `dataclasses.field`."""
    return field(default=default, metadata={"column": about}, **others)


@dataclass(frozen=True, slots=True)
class Fact:
    """A triplet. A negative fact (`positive` false) does not hold.

    The fields are columns: reading, storage and export follow from their `Column`. A new field changes no id, and only the
    fingerprints of data sets that use it.
    """

    head: str = column(MISSING, about=Column(exported=ALWAYS))
    relation: str = column(MISSING, about=Column(exported=ALWAYS))
    # None only if the file gives a ready sentence without the tail
    tail: str | None = column(MISSING, about=Column(exported=ALWAYS))
    positive: bool = column(True, about=Column(exported=ALWAYS))
    head_type: str | None = column(about=Column(exported=ALWAYS))
    tail_type: str | None = column(about=Column(exported=ALWAYS))
    head_id: str | None = column(about=Column(exported=ALWAYS))
    tail_id: str | None = column(about=Column(exported=ALWAYS))
    source: str | None = column(about=Column(exported=ALWAYS, describes_source=True))
    source_id: str | None = column(about=Column(exported=ALWAYS, describes_source=True))
    # year of the source
    as_of: str | None = column(about=Column(exported=IF_KNOWN, describes_source=True))
    # year or day (ISO) after which the fact no longer holds; of a negative: until which it was true
    until: str | None = column(about=Column(exported=IF_KNOWN, describes_source=True))
    # None: everywhere. Part of the id if given, as is `population`
    region: str | None = column(about=Column(exported=IF_KNOWN))
    population: str | None = column(about=Column(exported=IF_KNOWN))
    # "a" or "a common" (finding, symptom, …): the frequency that the source states
    strength: str | None = column(about=Column())
    specialty: str | None = column(about=Column())
    # id of the positive fact of a negative
    negative_of: str | None = column(about=Column(exported=ALWAYS))
    # number of a negative among those of its positive fact, from 1
    k: int = column(0, about=Column(is_read=False))
    fact_id: str = column("", about=Column(is_read=False, exported=ALWAYS), compare=False)
    # of a negative: near, far, judged or closest (`negatives.DIFFICULTIES`)
    difficulty: str | None = column(about=Column(is_read=False, exported=ALWAYS), compare=False, repr=False)
    # True for a drawn negative that no reviewer has confirmed (`datasets.vouched`); else None
    presumed: bool | None = column(about=Column(is_read=False, exported=IF_KNOWN), compare=False, repr=False)
    # the file's relation, if medfact inverted the fact: exchanged head and tail (`prototypes.direction`)
    turned_from: str | None = column(
        about=Column(is_read=False, exported=IF_KNOWN, describes_source=True), compare=False, repr=False
    )

    def __post_init__(self) -> None:
        if not self.fact_id:
            object.__setattr__(self, "fact_id", self._id())

    def _id(self, ready_sentence: str | None = None) -> str:
        """Hash of the triplet, its identifiers and scope; of a negative, hash of its positive fact's id and `k`."""
        if self.negative_of is not None:
            return digest("negative", self.negative_of, str(self.k))
        sign = None if self.positive else "does not hold"
        entry = (self.source_id,) if ready_sentence is not None and self.source_id else ()
        names = (self.head, self.relation, self.tail, self.head_id, self.tail_id)
        bounds = (f"{name}\x1e{text}" for name, text in (("region", self.region), ("population", self.population)) if text)
        return digest(*names, ready_sentence, sign, *entry, *bounds)

    @property
    def tail_key(self) -> str:
        """Key of the tail: its name. Unknown tails have distinct keys."""
        return self.tail or f"\n{self.fact_id}"

    def inverse(self, relation: str) -> Fact:
        """The inverse fact under the given relation: head and tail exchanged, with an id of its own."""
        ends: dict[str, Any] = {
            "head": self.tail, "tail": self.head, "head_type": self.tail_type, "tail_type": self.head_type,
            "head_id": self.tail_id, "tail_id": self.head_id,
        }  # fmt: skip
        return replace(self, **ends, relation=relation, turned_from=self.relation, fact_id="")

    def as_written(self) -> Fact:
        """The fact as its file states it: an inverted fact is inverted back."""
        return self if self.turned_from is None else replace(self.inverse(self.turned_from), turned_from=None)

    def with_ready_sentence(self, ready_sentence: str) -> Fact:
        """A copy of the fact whose id also depends on its ready sentence, the complete statement in its file.

        One triplet may have several ready sentences; `source_id` distinguishes entries that share the sentence too.
        """
        return replace(self, fact_id=self._id(ready_sentence))

    def negative(self, tail: str, tail_id: str | None, k: int) -> Fact:
        """The k-th (from 1) negative of this fact: the same head and relation with a false tail."""
        changes: dict[str, Any] = {"tail": tail, "tail_id": tail_id, "negative_of": self.fact_id, "k": k, "fact_id": ""}
        return replace(self, positive=False, difficulty=None, presumed=None, **_WITHOUT_SOURCE, **changes)


COLUMNS: dict[str, Column] = {field.name: field.metadata["column"] for field in fields(Fact)}
"""Name of a column, in databases and files → its metadata."""

FACT_COLUMNS = tuple(COLUMNS)

_WITHOUT_SOURCE: dict[str, Any] = dict.fromkeys(name for name, column in COLUMNS.items() if column.describes_source)

_INVISIBLE_CHARACTERS = dict.fromkeys(
    code
    for first, last in (
        (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x180E, 0x180E), (0x200B, 0x200F), (0x202A, 0x202E),
        (0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    )
    for code in range(first, last + 1)
)  # fmt: skip
"""Control characters of layout: soft hyphens, zero-width characters, direction marks, variation selectors."""

_PUNCTUATION = {**str.maketrans({**dict.fromkeys("-‐‑‒–—―−_", " "), **dict.fromkeys("'’‘ʼ´`")}), **_INVISIBLE_CHARACTERS}
"""Translation table: hyphens and dashes become spaces; apostrophes and invisible characters are removed."""

_BRITISH_SPELLINGS = (("æ", "e"), ("œ", "e"), ("ae", "e"), ("oe", "e"), ("our", "or"), ("sulph", "sulf"))


@lru_cache(maxsize=1 << 17)
def normalize_space(name: str) -> str:
    """Removes invisible characters, composes the rest (NFC) and collapses white space."""
    if name.isascii():
        return " ".join(name.split())
    return " ".join(unicodedata.normalize("NFC", name.translate(_INVISIBLE_CHARACTERS)).split())


_POSSIBLE_AFFIX = re.compile(r"[^\w\s'’,-]|\A['’-]|[,_]\s*\Z|[a-z][A-Z]|[A-Z][\d_]\d?[0-9A-Z]|\d{6}|DB\d")
"""Quick test for affixes, except for suffixes such as "unspecified"."""

_CODE_SYSTEMS = (
    r"DOID|HPO?|MONDO|OMIM|ORPHA(?:NET)?|MESH|UMLS|CUI|SYMP|RXCUI|RXNORM|CHEBI|GO|UBERON|NCIT|EFO|SNOMED(?: ?CT)?|SCTID|"
    r"LOINC|ATC|MEDDRA|ICD(?:[- ]?\d{1,2})?(?:[- ]?CM)?"
)
_BARE_CODE = r"[A-Z]\d[0-9A-Z]\.[0-9A-Z]{1,4}|C\d{7}|DB\d{5}|CHEMBL\d+|Q\d{3,}|\d{6,18}"
_ICD10_CODE = r"[A-Z]\d[0-9A-Z](?:\.[0-9A-Z]{1,4})?"
_CODE = rf"(?:{_CODE_SYSTEMS})[ :_-]{{1,2}}[A-Z]{{0,5}}\d[\w.]*|[A-Za-z][\w.-]{{0,20}}:[A-Za-z]{{0,5}}\d[\w.]*|{_BARE_CODE}"

IDENTIFIER = re.compile(rf"\A(?:{_CODE}|(?!B12$|P53$){_ICD10_CODE}|[A-Z]{{2,10}}_\d+|D\d{{6,9}}|ENSG\d{{11}}|https?://\S+)")
"""Names that are identifiers: of UMLS, SNOMED CT, ICD-10, Wikidata or DrugBank, CURIEs and URLs."""

_LEADING_CODE = re.compile(rf"[#*%+^]?(?:{_CODE}|{_ICD10_CODE}(?= ?[-–—:|\t]|\s+[A-Z][a-z]))(?: ?[-–—:|]| ?\t|\s)\s*(?=\w|\|)")
_TRAILING_CODE = re.compile(rf"(?!\d)(?:{_CODE})\Z|(?<=[-–—|,] )(?:{_ICD10_CODE}|\d{{6,18}})\Z")
_BRACKETED_CODES = re.compile(rf"(?:{_CODE}|{_ICD10_CODE})(?: ?[,;/] ?(?:{_CODE}|{_ICD10_CODE}))?")
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>")
_LANGUAGE_TAG = re.compile(r"(?<=[\w\"'”’)])@[a-z]{2,3}(?:-[A-Za-z]{2,4})?\Z")
_IRI_PREFIX = re.compile(r"\A(?:https?://\S+[/#]|[a-z]{2,8}:)(?=[A-Za-z][\w-]*\Z)")
_CAMEL_CASE = re.compile(r"\A[A-Z]?[a-z]{2,}(?:[A-Z][a-z]+)+")
_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])")
_QUOTES = "\"'`*“”„«»‹›‘’‚「」『』"
_MAX_AFFIXES, _MAX_NAME_LENGTH = 6, 1_000


@cache
def _affixes() -> tuple[frozenset[str], tuple[str, ...], frozenset[str]]:
    """Loads the semantic tags; the suffixes, longest first; and the last words of the suffixes. All are case-folded."""
    suffixes = tuple(sorted(map(str.casefold, table_words()["behind"]), key=len, reverse=True))
    last_words = frozenset(suffix.rpartition(" ")[2] for suffix in suffixes)
    return frozenset(map(str.casefold, table_words()["tags"])), suffixes, last_words


def core_name(name: str) -> str:
    """Removes affixes and restores the natural order of words: "asthma, acute" → "acute asthma". CamelCase is split.

    Affixes are semantic tags, codes, quotation marks, markup, language tags, "NOS" and final dots. A name that consists
    only of affixes is unchanged.
    """
    core = _without_affixes(name)
    if ", " in core and len(parts := core.split(", ")) <= 4:
        return " ".join(reversed(parts))
    return _CAMEL_CASE_BOUNDARY.sub(" ", core) if _CAMEL_CASE.fullmatch(core) else core


def _without_affixes(name: str) -> str:
    """Removes all affixes of a name, layer by layer, unless nothing would be left."""
    for _ in range(_MAX_AFFIXES if may_have_affixes(name) and len(name) <= _MAX_NAME_LENGTH else 0):
        inner = _strip_affix_layer(name)
        if inner == name or not any(map(str.isalnum, inner)):
            break
        name = inner
    return name


def may_have_affixes(name: str) -> bool:
    """Returns False if a name certainly has no affixes: a quick test before `core_name`."""
    return bool(_POSSIBLE_AFFIX.search(name)) or name.rpartition(" ")[2].casefold() in _affixes()[2]


def first_affix(name: str) -> str:
    """First affix of a name: a semantic tag with its brackets, a code or a word; "" if it has none."""
    if (core := _without_affixes(name)) == name:
        return ""
    prefix, _, suffix = name.partition(core)
    return next((affix for part in (prefix, suffix) if any(map(str.isalnum, affix := part.strip(" ,;:|-–—")))), "")


def _strip_affix_layer(name: str) -> str:
    """Removes one layer of affixes: bullets, markup, RDF datatypes, language tags, quotes, codes, and a tag or suffix."""
    core = name.strip().lstrip("•·").strip()
    if "<" in core:
        core = _MARKUP.sub("", core)
    if "^^" in core and core[:1] in _QUOTES:
        core = core.partition("^^")[0]
    if "@" in core:
        core = _LANGUAGE_TAG.sub("", core)
    core = core.rstrip(" .;:,。")
    if core[:1] in _QUOTES and core[-1:] in _QUOTES:
        core = core.strip(_QUOTES)
    if "|" in core:
        parts = [part.strip() for part in core.split("|")]
        core = parts[1] if len(parts) in (2, 3) and IDENTIFIER.fullmatch(parts[0]) and parts[1] else core
    if core[:1] == "[":  # a Read code's prefix, "[D]Chest pain"
        core = re.sub(r"\A\[(?:D|X|V|M|SO|Q)\]\s*", "", core)
    elif ":" in core:
        core = _IRI_PREFIX.sub("", core, count=1)
    if first := _LEADING_CODE.match(core):
        core = core[first.end() :]
    core = _without_tag(core)
    at = core.rfind(" ") if core[-1:].isalnum() else 0
    if at > 0 and _TRAILING_CODE.search(core, at + 1):
        core = core[:at].rstrip(" ,-–—|:")
    return core.strip()


def _without_tag(name: str) -> str:
    """Removes a semantic tag or code in brackets, else a suffix such as "unspecified"."""
    tags, suffixes, last_words = _affixes()
    for opening, closing in ("()", "[]"):
        if name.endswith(closing) and (at := name.rfind(opening)) > 0:
            within = name[at + 1 : -1].strip()
            if within.casefold() in tags or _BRACKETED_CODES.fullmatch(within):
                return name[:at].rstrip()
    if name.startswith("[") and (end := name.find("]")) > 0 and name[1:end].strip().casefold() in tags:
        return name[end + 1 :].lstrip()
    folded = name.casefold()
    if len(folded) == len(name) and folded.rpartition(" ")[2] in last_words:
        for suffix in suffixes:
            if folded.endswith(suffix) and not folded[: -len(suffix)][-1:].isalnum():
                return name[: -len(suffix)].rstrip(" ,-(")
    return name


@lru_cache(maxsize=1 << 17)
def name_key(name: str) -> str:
    """Key by which names are compared: equal if they differ only in spelling or affixes."""
    return fold_text(core_name(name))


def fold_text(text: str) -> str:
    """Normalizes case, white space, hyphens, apostrophes, accents and British spelling."""
    plain = (text if text.isascii() else unicodedata.normalize("NFKC", text)).translate(_PUNCTUATION).casefold()
    if not plain.isascii():
        plain = "".join(c for c in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(c))
    for british, american in _BRITISH_SPELLINGS:
        plain = plain.replace(british, american)
    return " ".join(plain.split())


@dataclass(frozen=True, slots=True)
class Tail:
    """A candidate tail. The knowledge base has one per fact, so that frequent tails are drawn more often."""

    name: str
    identifier: str | None


class _Links(NamedTuple):
    """Adjacency lists of entities that (head, tail) pairs link."""

    both_ways: Mapping[str, frozenset[str]]  # entity -> heads and tails linked to it
    tails: Mapping[str, frozenset[str]]  # head -> its tails
    tail_names: Mapping[str, frozenset[str]]  # head -> names of its tails


_NO_KEYS = frozenset[str]()


class ExternalKnowledge(NamedTuple):
    """Facts about one relation from other data sets. A draw of negatives never calls them false."""

    relation: str
    meaning: str  # name of the same relation in the other sets
    pairs: tuple[tuple[str, str], ...]  # (head, tail), as the facts name them
    common: tuple[str, ...] = ()  # tails true of many heads; drawn as false only of `familiar` heads
    vague: tuple[str, ...] = ()  # common tails that the other sets lack; never drawn as false
    familiar: tuple[str, ...] = ()  # heads whose true tails the other sets list


@dataclass(frozen=True)
class KnowledgeBase:
    """True facts, names and hierarchy of a data set, by which negatives are drawn. Includes facts that are not tested."""

    facts: tuple[Fact, ...]  # positive facts
    also_true: tuple[tuple[str, str], ...] = ()  # (head, tail) of any relation, true or too close to true to be called false
    synonyms: tuple[tuple[str, ...], ...] = ()  # groups of names of one entity
    is_a: tuple[tuple[str, str], ...] = ()  # (narrower name, broader name)
    judged: tuple[Fact, ...] = ()  # negative facts that a source states
    external_knowledge: tuple[ExternalKnowledge, ...] = ()  # not part of the fingerprint
    learned: tuple[tuple[str, str], ...] = ()  # (head, tail) found true after a draw; a draw skips them, and keeps its order

    @cached_property
    def memo(self) -> dict[Any, Any]:
        """Cache of derived data, with the lifetime of this knowledge base."""
        return {}

    @cached_property
    def _entity_of(self) -> dict[str, str]:
        """Name key → key of its equivalence class by identifiers and synonyms (union–find)."""
        parent: dict[str, str] = {}

        def find(node: str) -> str:
            parent.setdefault(node, node)
            while parent[node] != node:
                parent[node] = parent[parent[node]]
                node = parent[node]
            return node

        def join(a: str, b: str) -> None:
            roots = sorted((find(a), find(b)))
            parent[roots[1]] = roots[0]

        for fact in self.facts:
            for name, identifier in ((fact.head, fact.head_id), (fact.tail, fact.tail_id)):
                if name is not None and identifier:
                    join(name_key(name), f"id\x1f{identifier}")
        for group in self.synonyms:
            for name in group[1:]:
                join(name_key(group[0]), name_key(name))
        return {node: find(node) for node in list(parent)}

    def entity(self, name: str) -> str:
        """Key of the entity that a name denotes: equal for synonyms, and for names with the same identifier."""
        key = name_key(name)
        return self._entity_of.get(key, key)

    @cached_property
    def _names_of(self) -> dict[str, frozenset[str]]:
        """Entity → its known names."""
        names: dict[str, set[str]] = defaultdict(set)
        for group in (*((fact.head, fact.tail) for fact in self.facts), *self.synonyms):
            for name in group:
                if name is not None:
                    names[self.entity(name)].add(name)
        return {entity: frozenset(group) for entity, group in names.items()}

    def names(self, name: str) -> frozenset[str]:
        """All known names of an entity, including the given one."""
        return self._names_of.get(self.entity(name), frozenset()) | {name}

    @cached_property
    def _local_links(self) -> _Links:
        """Links of this data set, in any relation."""
        return self._adjacency(self.pairs())

    @cached_property
    def _external_links(self) -> Mapping[str, _Links]:
        """Relation → its links in the other data sets."""
        return {external.relation: self._adjacency(external.pairs) for external in self.external_knowledge}

    @cached_property
    def _common_entities(self) -> Mapping[str, Sequence[frozenset[str]]]:
        """Relation → entities of its common tails, vague tails and familiar heads (see `ExternalKnowledge`)."""
        return {
            relation: [frozenset(map(self.entity, names)) for names in (common, vague, familiar)]
            for relation, _, _, common, vague, familiar in self.external_knowledge
        }

    def too_common_tails(self, head: str, relation: str) -> frozenset[str]:
        """Entities of the tails that other data sets call true of so many heads that they may be true of this one."""
        common, vague, familiar = self._common_entities.get(relation, (_NO_KEYS, _NO_KEYS, _NO_KEYS))
        return vague if self.entity(head) in familiar else common

    def _adjacency(self, pairs: Iterable[tuple[str, str]]) -> _Links:
        """Builds the links between the entities of (head, tail) pairs."""
        links, tails, names = (defaultdict[str, set[str]](set) for _ in range(3))
        entity = cache(self.entity)  # names repeat
        for head, tail in pairs:
            a, b = entity(head), entity(tail)
            links[a].add(b)
            links[b].add(a)
            tails[a].add(b)
            names[a].add(tail)
        return _Links(*({key: frozenset(group) for key, group in groups.items()} for groups in (links, tails, names)))

    def _links_for(self, relation: str | None) -> tuple[_Links, ...]:
        """Links of this data set in any relation, and links of the other data sets in the given relation."""
        external = self._external_links.get(relation or "") if self.external_knowledge else None
        return (self._local_links,) if external is None else (self._local_links, external)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields the (head, tail) pairs of all facts of this data set, then those of `also_true`."""
        for fact in self.facts:
            if fact.tail is not None:
                yield fact.head, fact.tail
        yield from self.also_true

    def linked(self, name: str, relation: str | None = None) -> frozenset[str]:
        """Entities that share a true fact with this one, as its head or tail.

        relation: the relation in which facts of other data sets count too; None for no such facts.
        """
        entity = self.entity(name)
        return _NO_KEYS.union(*(links.both_ways.get(entity, _NO_KEYS) for links in self._links_for(relation)))

    @cached_property
    def _learned_links(self) -> Mapping[str, frozenset[str]]:
        """Entity → entities that a pair of `learned` links to it."""
        return self._adjacency(self.learned).both_ways

    def learned_entities(self, name: str) -> frozenset[str]:
        """Entities that a pair of `learned` links to this one, with their ancestors and descendants."""
        learned = self._learned_links.get(self.entity(name), _NO_KEYS)
        return learned | self._relatives(learned)

    @cached_property
    def hierarchy(self) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
        """Entity → its parents, and entity → its children, by `is_a`."""
        above: defaultdict[str, set[str]] = defaultdict(set)
        below: defaultdict[str, set[str]] = defaultdict(set)
        for narrow, broad in self.is_a:
            above[self.entity(narrow)].add(self.entity(broad))
            below[self.entity(broad)].add(self.entity(narrow))
        return above, below

    def relatives(self, name: str) -> frozenset[str]:
        """Ancestors and descendants of an entity in the hierarchy, without itself."""
        return self._relatives({self.entity(name)})

    def relatives_of_head(self, head: str, relation: str | None = None) -> frozenset[str]:
        """Ancestors and descendants of a head and of its tails. relation: as of `known_tails`."""
        entity = self.entity(head)
        return self._relatives(
            _NO_KEYS.union([entity], *(links.tails.get(entity, _NO_KEYS) for links in self._links_for(relation)))
        )

    def _relatives(self, entities: Set[str]) -> frozenset[str]:
        """Ancestors and descendants of any of these entities."""
        above, below = self.hierarchy
        placed = {entity for entity in entities if entity in above or entity in below}
        relatives: dict[str, frozenset[str]] = self.memo.setdefault("relatives", {})
        for entity in placed - relatives.keys():
            relatives[entity] = frozenset((_reachable(entity, above) | _reachable(entity, below)) - {entity})
        return _NO_KEYS.union(*(relatives[entity] for entity in placed))

    @cached_property
    def _tails(self) -> dict[tuple[str, str], tuple[Tail, ...]]:
        """(relation, semantic type of the tail) → tails, one per fact, sorted."""
        tails: dict[tuple[str, str], list[Tail]] = defaultdict(list)
        for fact in self.facts:
            if fact.tail is not None:
                tails[fact.relation, fact.tail_type or ""].append(Tail(fact.tail, fact.tail_id))
        return {key: tuple(sorted(group, key=lambda t: (t.name, t.identifier or ""))) for key, group in tails.items()}

    def tails(self, relation: str, tail_type: str | None) -> tuple[Tail, ...]:
        """Tails of a relation with a semantic type (None: untyped), one per fact, sorted."""
        return self._tails.get((relation, tail_type or ""), ())

    def known_tails(self, head: str, relation: str | None = None) -> frozenset[str]:
        """Names of the tails that are true of a head.

        relation: the relation in which facts of other data sets count too; None for no such facts.
        """
        entity = self.entity(head)
        return _NO_KEYS.union(*(links.tail_names.get(entity, _NO_KEYS) for links in self._links_for(relation)))

    @cached_property
    def _facts_by_head(self) -> dict[str, list[Fact]]:
        """Entity of a head → its facts."""
        facts: dict[str, list[Fact]] = defaultdict(list)
        for fact in self.facts:
            facts[self.entity(fact.head)].append(fact)
        return facts

    def facts_about(self, head: str) -> list[Fact]:
        """Known facts of a head, under all its names."""
        return self._facts_by_head.get(self.entity(head), [])

    @cached_property
    def _head_share_by_tail(self) -> dict[tuple[str, str], float]:
        """(relation, entity of a tail) → fraction of the relation's heads that have the tail."""
        heads: dict[str, set[str]] = defaultdict(set)
        heads_of_tail: dict[tuple[str, str], set[str]] = defaultdict(set)
        for fact in self.facts:
            if fact.tail is not None:
                head = self.entity(fact.head)
                heads[fact.relation].add(head)
                heads_of_tail[fact.relation, self.entity(fact.tail)].add(head)
        return {(relation, tail): len(group) / len(heads[relation]) for (relation, tail), group in heads_of_tail.items()}

    def share_of_heads(self, relation: str, tail: str) -> float:
        """Fraction of a relation's heads that have this tail."""
        return self._head_share_by_tail.get((relation, self.entity(tail)), 0.0)

    def fingerprint(self, ready: Mapping[str, str]) -> str:
        """Order-independent hash of the content, external knowledge excluded. ready: fact id → ready sentence."""
        facts = sorted(digest(canonical_text(fact, ready)) for fact in self.facts)
        links = sorted(map("\x1f".join, self.also_true))
        names = sorted("\x1f".join(sorted(group)) for group in self.synonyms)
        broader = sorted(map("\x1f".join, self.is_a))
        judged = sorted(digest(canonical_text(fact, ready)) for fact in self.judged)
        learned = sorted(map("\x1f".join, self.learned))
        texts = (*facts, "also true", *links, "synonyms", *names, "is a", *broader, "judged", *judged, "learned", *learned)
        return digest("facts", *texts)


_COMPARED_FIELDS = tuple(field.name for field in fields(Fact) if field.compare)


def canonical_text(fact: Fact, ready: Mapping[str, str]) -> str:
    """Serializes a fact and its ready sentence for a fingerprint. Omits empty fields, so a new field changes no fingerprint."""
    filled = {name: value for name in _COMPARED_FIELDS if (value := getattr(fact, name)) is not None}
    return json.dumps([filled, ready.get(fact.fact_id)])


def _reachable(start: str, steps: Mapping[str, set[str]]) -> set[str]:
    """Nodes of a graph, possibly with cycles, that one or more steps reach from `start`. steps: node → next nodes."""
    reached: set[str] = set()
    queue = [start]
    while queue:
        for entity in steps.get(queue.pop(), set()) - reached:
            reached.add(entity)
            queue.append(entity)
    return reached


def positive_facts(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Selects the positive facts."""
    return tuple(fact for fact in facts if fact.positive)
