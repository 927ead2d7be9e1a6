"""Untrusted text: the encoding of files, YAML without its traps, and control characters on the way to a terminal.

A text file is read twice, in blocks: first to detect its encoding and to check that all of it is text, then for its characters.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import yaml

from medfact.errors import FactsError

# ------------------------------------------------------------------------------------------------ encodings

BLOCK_BYTES = 1 << 20

_CONTROL_BYTES = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f")
_MULTIBYTE = re.compile(rb"[\xc3-\xf4][\x80-\xbf]+")
_LONE = re.compile(rb"(?<![\x80-\xff])[\xa0-\xff](?![\x80-\xff])")


@dataclass(frozen=True)
class Encoding:
    """name: the common name. codec, errors: the arguments of `open`."""

    name: str
    codec: str
    errors: str = "strict"


def open_text(path: Path, newline: str = "") -> TextIO:
    """Opens a file in the encoding that `encoding_of` finds. newline: as for `open`."""
    encoding = encoding_of(path)
    return path.open(encoding=encoding.codec, errors=encoding.errors, newline=newline)


def encoding_of(path: Path) -> Encoding:
    """UTF-8 with or without BOM, UTF-16, UTF-32, or Latin-1 (as Windows writes it).

    Raises FactsError, naming file and row, if the bytes are not text.
    """
    with path.open("rb") as file:
        start = file.read(4096)
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return _checked(path, Encoding("UTF-32", "utf-32"))
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _checked(path, Encoding("UTF-16", "utf-16"))
    if start.startswith(codecs.BOM_UTF8):
        return _checked(path, Encoding("UTF-8", "utf-8-sig"))
    if b"\x00" in start:
        return _checked(path, _utf16_without_mark(start, path))
    bad_row = _first_bad_row(path, "utf-8")
    return Encoding("UTF-8", "utf-8") if bad_row is None else _latin1(path, bad_row)


def _checked(path: Path, encoding: Encoding) -> Encoding:
    bad_row = _first_bad_row(path, encoding.codec)
    if bad_row is not None:
        raise _wrong_encoding(path, bad_row)
    return encoding


def _first_bad_row(path: Path, codec: str) -> int | None:
    """The first row with bytes that are invalid in this encoding, or None."""
    decoder = codecs.getincrementaldecoder(codec)()
    row = 1
    try:
        for block in _blocks(path):
            row += decoder.decode(block).count("\n")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        return row + error.object.count(b"\n", 0, error.start)
    return None


def _blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file in blocks, each of which ends with a line unless that line is very long."""
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block if block.endswith(b"\n") else block + file.readline(BLOCK_BYTES)


def _utf16_without_mark(start: bytes, path: Path) -> Encoding:
    for codec, zeros in (("utf-16-le", start[1::2]), ("utf-16-be", start[0::2])):
        if zeros.count(0) > 0.7 * len(zeros):
            return Encoding("UTF-16", codec)
    raise _binary(path)


def _latin1(path: Path, bad_row: int) -> Encoding:
    """Latin-1, if most bytes above 127 are single ones between ASCII letters, unlike in UTF-8."""
    alone = together = 0
    undefined = False
    for block in _blocks(path):
        if len(block.translate(None, _CONTROL_BYTES)) < len(block):
            raise _binary(path)
        alone += sum(1 for _ in _LONE.finditer(block))
        together += sum(1 for _ in _MULTIBYTE.finditer(block))
        undefined = undefined or b"\x81" in block
    if together and alone <= together:
        raise _wrong_encoding(path, bad_row)
    return Encoding("Latin-1", "latin-1") if undefined else Encoding("Windows-1252 or Latin-1", "cp1252", "replace")


def _wrong_encoding(path: Path, row: int) -> FactsError:
    return FactsError(f"{path.name}, row {row}: these bytes are not valid text.", "Save the file as UTF-8.")


def _binary(path: Path) -> FactsError:
    return FactsError(
        f"{path.name} is not a text file, though its name ends in {path.suffix}.",
        "Export it again as CSV, or rename it to its true format (.xlsx, .parquet).",
    )


# ------------------------------------------------------------------------------------------------ YAML

_SCALARS = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?[0-9]{1,18}\Z"),
    "tag:yaml.org,2002:float": re.compile(r"[-+]?[0-9]{1,18}\.[0-9]{0,18}\Z"),
    "tag:yaml.org,2002:bool": re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"),
}
"""Stricter patterns of numbers and booleans. "no" and "on" are words, and 1:1:1…, of base 60, takes long to parse."""


class InvalidYaml(Exception):
    """A YAML text that is refused: the problem, a hint, and the line, from 1, if known."""

    def __init__(self, problem: str, hint: str, mark: Any) -> None:
        super().__init__(problem)
        self.problem, self.hint, self.line = problem, hint, mark.line + 1 if mark else None


def read_yaml(text: str) -> Any:
    """Parses a YAML text without aliases, repeated keys or costly numbers. Raises Unreadable."""
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise InvalidYaml("it is not valid YAML.", "Check indentation and quotes.", mark) from None


class _Loader(yaml.SafeLoader):
    """Refuses repeated keys, of which the library would silently keep the last, and aliases.

    A few nested aliases expand to billions of words.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event: yaml.AliasEvent = self.get_event()  # type: ignore[no-untyped-call]
            raise InvalidYaml(f"*{event.anchor} is an alias.", "Write out what it stands for.", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in keys:
                    raise InvalidYaml(f"{key.value!r} occurs twice.", "Keep one of the two.", key.start_mark)
                keys.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, _SCALARS.get(tag, pattern)) for tag, pattern in pairs]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


# ------------------------------------------------------------------------------------------------ control characters

REPLACED = "medfact.replaced"
"""Error handler for streams with a limited encoding: it replaces missing characters by similar ones."""

_SIMILAR = {
    **dict.fromkeys("−–—‐‑‒―─├└", "-"), **dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’ʼ´", "'"),
    "│": "|", "·": ".", "×": "x", "→": "->", "⇒": "=>", "≤": "<=", "≥": ">=", "±": "+/-", "¬": "not ", "✓": "yes", "✗": "no",
}  # fmt: skip

_LINE_ENDS = "\\x85\u2028\u2029"
_DIRECTIONS = "\u202a-\u202e\u2066-\u2069"

_CONTROL = re.compile(f"[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f{_LINE_ENDS}{_DIRECTIONS}]")
"""All but tabs and line feeds."""

_SPACE = re.compile(f"[\\t\\n\\x0b\\x0c\\r{_LINE_ENDS}]+")


def strip_control_characters(text: str) -> str:
    """Strips what moves the cursor, overwrites the line or changes its direction; keeps line feeds and tabs."""
    return text if text.isprintable() else _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """Like `strip_control_characters`, on one line."""
    return text if text.isprintable() else _CONTROL.sub("", _SPACE.sub(" ", text))


def escape_control_characters(json_text: str) -> str:
    """Equivalent JSON with control characters as escapes."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match.group()):04x}", json_text)


def _replace_missing(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(map(_similar, missing)), error.end


def _similar(character: str) -> str:
    """A similar ASCII character: its letter without accents, or a question mark."""
    plain = _SIMILAR.get(character) or unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return plain or ("" if unicodedata.combining(character) else "?")


codecs.register_error(REPLACED, _replace_missing)
