"""What a field of a run's settings says of itself, once. Command line, page, notebook, files of runs, comparisons and the
documentation read it here: nobody else lists the fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from medfact.errors import Mistake, UnknownName

FACTS = "facts"
UMLS = "a UMLS folder (RRF)"
METHOD = "method"
RETRIEVAL = "retrieval (passages that stand beside each statement; MKJ, Section 4.6)"
LOCAL = "local models"
SERVICE = "models behind a service"
"""Groups of options: the title of each in a help text."""

ALL, LAST_PART, OF_MODEL, ADDRESS, NOTHING = "all", "last part", "last part of a folder", "address", "nothing"
"""What of a field's value goes into a run's file: all of it; of a path, its last part alone; the same of a model that is a
folder; an address without secrets; nothing, so that it is at its default elsewhere."""


_LONGEST_BITS = 128


class Bounds(NamedTuple):
    """Between what a number lies, wherever it enters. Recorded runs are not held to it: an older version may have allowed more,
    and what was recorded stays readable.

    of: what the number is of, as a message names it.
    """

    least: float
    most: float
    of: str

    def hold(self, value: float | None) -> bool:
        """Whether they hold of a value; None leaves it to others. What is no number is in no bounds."""
        return value is None or self.least <= value <= self.most

    def check(self, value: float | None) -> None:
        """Raises Mistake where a number is too small, too large or none."""
        if not self.hold(value):
            raise Mistake(
                f"The {self.of} is {in_words(value).replace(',', '')}.",
                f"Give {in_words(self.least)} or more, up to {in_words(self.most)}.",
            )


SEEDS = Bounds(1 - 2**63, 2**63 - 1, "seed")
TOKENS = Bounds(1, 131_072, "number of tokens in a reply")


@dataclass(frozen=True)
class Need:
    """What a setting needs beside it, or it would change nothing.

    is_met: whether a `RunSpec` has it.
    problem: what is wrong where it has not; may name the {flag}.
    everywhere: whether a run without it is refused. Otherwise only whoever types the option is told.
    """

    is_met: Callable[[Any], object]
    problem: str
    hint: str
    everywhere: bool = False


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a field says of itself. One without a flag is set by medfact alone, or along with another.

    group: the group of options that has it; "" for one that single commands offer.
    place: where it stands in its group: lower ones first, equal ones in the order of the fields.
    parse: reads what was typed; by default, the field's type does.
    along: the path of another field that the option sets too.
    excludes: the path of the option before it that it excludes.
    shares: the path of the field whose option sets this one instead, where what is typed stands in capital letters and is
    none of that field's choices.
    several: whether its option and its input take several values: each makes runs of its own.
    resumable: whether `resume` takes another value than the run recorded.
    label: what the page calls its input.
    info: what the page says below the label.
    has_input: whether the page draws its input from its kind, its bounds and its choices, with no line of its own.
    choices: all that it may be, where these are few.
    of: what the choices are, as a message names them.
    travels: what of it goes into a run's file, and is believed of one.
    asks: whether it is part of what a run asks: the record of a run fixes it, and the command that repeats a run has it.
    is_source: whether it says which facts are read.
    compared: what comparisons call it, where runs that differ in it are not alike; "" where its value need not be named.
    """

    flag: str = ""
    metavar: str = ""
    help: str = ""
    group: str = ""
    place: int = 9
    parse: Callable[[str], Any] | None = None
    along: str = ""
    excludes: str = ""
    shares: str = ""
    several: bool = False
    resumable: bool = False
    label: str = ""
    info: str = ""
    has_input: bool = False
    bounds: Bounds | None = None
    choices: Collection[str] = ()
    of: str = ""
    needs: Need | None = None
    travels: str = ALL
    asks: bool = True
    is_source: bool = False
    compared: str = ""

    def check_choice(self, value: str | tuple[str, ...] | None) -> None:
        """Raises UnknownName where a value, or one of several, is none of the choices. None leaves it to the method."""
        for one in values_of(value) if self.choices else ():
            if one not in self.choices:
                raise UnknownName(self.of, one, self.choices)


def values_of(value: Any) -> tuple[Any, ...]:
    """What a field that has choices says: one value, several, or none."""
    return value if isinstance(value, tuple) else () if value is None else (value,)


_KEY = "setting"


def setting(
    default: Any, flag: str = "", metavar: str = "", help_: str = "", *, repr_: bool = True, compare: bool = True, **more: Any
) -> Any:
    """A field of a dataclass with its default, and what it says of itself. more: of `Setting`."""
    said = Setting(flag=flag, metavar=metavar, help=help_, **more)
    return field(default=default, repr=repr_, compare=compare, metadata={_KEY: said})


def setting_of(field_: dataclasses.Field[Any]) -> Setting:
    """What a field says of itself."""
    return field_.metadata.get(_KEY) or Setting()


def settings_in(record: Any) -> dict[str, Setting]:
    """Name → what that field of a record, or of a class of records, says of itself."""
    return {one.name: setting_of(one) for one in dataclasses.fields(record)}


_KINDS: Mapping[str, tuple[tuple[type[Any], ...], str]] = {
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "str": ((str,), "a text"),
    "bool": ((bool,), "True or False"),
    "tuple[str,": ((list, tuple), "a list of texts"),
    "tuple[tuple[str,": ((list, tuple), "a list of pairs of texts"),
}


def checked_value(field_: dataclasses.Field[Any], value: Any, of: str = "") -> Any:
    """A setting's value, as a program or a page gives it. of: the mapping that it is in. Raises Mistake where it is of another
    kind; never shows a key.
    """
    kinds, name = _KINDS[str(field_.type).partition(" ")[0]]
    if value is None and field_.type.endswith("| None"):
        return None
    texts = not isinstance(value, list | tuple) or _are_texts(value, pairs="pairs" in name)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds) or not texts:
        shown = f"={value!r}" if field_.repr else ""
        raise Mistake(f"{of}{field_.name}{shown} is not {name}.", f"Give {name}.")
    return tuple(value) if isinstance(value, list) else value


def _are_texts(values: Iterable[Any], pairs: bool) -> bool:
    if pairs:
        return all(isinstance(pair, list | tuple) and len(pair) == 2 and _are_texts(pair, False) for pair in values)
    return all(isinstance(one, str) for one in values)


def in_words(value: float | None) -> str:
    """A number as a message gives it, short however long it is."""
    if isinstance(value, int):
        return f"{value:,}" if value.bit_length() <= _LONGEST_BITS else "a number of very many digits"
    return f"{value:g}"
