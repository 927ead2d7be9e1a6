"""Text files: their encoding, found from their bytes, and their characters as a stream.

A file is read twice, in blocks: first to find its encoding and to check that all of it is text, then for its characters.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from medfact.errors import FactsError

BLOCK_BYTES = 1 << 20

_CONTROL = bytes(byte for byte in range(32) if byte not in b"\t\n\r\f")
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
        if len(block.translate(None, _CONTROL)) < len(block):
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
