"""Metadata of the fields of a run's settings, for command line, page, notebook, run files, comparisons and documentation."""

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
"""Groups of options, by their title in a help text."""

ALL, LAST_PART, OF_MODEL, ADDRESS, NOTHING = "all", "last part", "last part of a folder", "address", "nothing"
"""Export policies: the content of a field in an exported file of a run. In order: its value; the last part of a path; the same
if a model is a folder; an address without secrets; the field's default.
"""

_MAX_BITS = 128  # of an integer that a message shows in full


class Bounds(NamedTuple):
    """Closed range of a number. Checked on input, but not in recorded runs, which stay readable."""

    minimum: float
    maximum: float
    noun: str  # noun of the number in messages

    def contains(self, value: float | None) -> bool:
        """Returns True if a value is within the range or None. NaN is outside."""
        return value is None or self.minimum <= value <= self.maximum

    def check(self, value: float | None) -> None:
        """Raises Mistake if a number is out of range; None is valid."""
        if value is not None and not self.contains(value):
            raise Mistake(
                f"The {self.noun} is {describe_number(value).replace(',', '')}.",
                f"Give {describe_number(self.minimum)} or more, up to {describe_number(self.maximum)}.",
            )


SEEDS = Bounds(1 - 2**63, 2**63 - 1, "seed")
TOKENS = Bounds(1, 131_072, "number of tokens in a reply")


@dataclass(frozen=True)
class Need:
    """A condition on other settings, without which a setting has no effect."""

    is_met: Callable[[Any], object]  # takes a `RunSpec`
    problem: str  # message if it is not met; may contain {flag}
    hint: str
    everywhere: bool = False  # True: any interface refuses the run; False: only the command line refuses the option


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Metadata of a settings field. A field without a flag is set by medfact, or along with another field."""

    flag: str = ""
    metavar: str = ""
    help: str = ""
    group: str = ""  # group of options; "" for an option of single commands
    place: int = 9  # sort key within the group; ties keep the order of the fields
    parse: Callable[[str], Any] | None = None  # from command-line text; None: the field's type
    along: str = ""  # path of another field that the same option sets too
    excludes: str = ""  # path of an earlier option; the two are mutually exclusive
    shares: str = ""  # path of a field with the same flag; upper-case values that are not its choices go to this one
    several: bool = False  # each of several values starts a run of its own
    resumable: bool = False  # `resume` may change the recorded value
    label: str = ""  # of the page's input
    info: str = ""  # below the label
    has_input: bool = False  # the page generates the input from type, bounds and choices
    bounds: Bounds | None = None
    choices: Collection[str] = ()
    noun: str = ""  # noun of the choices in messages
    needs: Need | None = None
    export_policy: str = ALL  # export policy of a run's file
    affects_answers: bool = True  # affects prompts or answers; then part of the command that repeats a run
    is_source: bool = False  # determines which facts are read
    compared: str = ""  # name in messages if runs that differ in it are not comparable; "" for other fields

    def check_choice(self, value: str | tuple[str, ...] | None) -> None:
        """Raises UnknownName if a value, or an element of a tuple, is not among `choices`. None, the default, is valid."""
        for choice in as_tuple(value) if self.choices else ():
            if choice not in self.choices:
                raise UnknownName(self.noun, choice, self.choices)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Converts a setting's value to a tuple: a tuple stays, None becomes (), another value becomes its only element."""
    return value if isinstance(value, tuple) else () if value is None else (value,)


_METADATA_KEY = "setting"


def setting(
    default: Any, flag: str = "", metavar: str = "", help_: str = "", *, repr_: bool = True, compare: bool = True, **more: Any
) -> Any:
    """Declares a dataclass field with its default and its `Setting`. more: further fields of `Setting`."""
    metadata = {_METADATA_KEY: Setting(flag=flag, metavar=metavar, help=help_, **more)}
    return field(default=default, repr=repr_, compare=compare, metadata=metadata)


def setting_metadata(field_: dataclasses.Field[Any]) -> Setting:
    """The metadata of a field; the defaults of `Setting` if it has none."""
    return field_.metadata.get(_METADATA_KEY) or Setting()


def settings_by_name(record: Any) -> dict[str, Setting]:
    """Field name → its metadata. record: a dataclass, or an instance of one."""
    return {field_.name: setting_metadata(field_) for field_ in dataclasses.fields(record)}


_ACCEPTED_TYPES: Mapping[str, tuple[tuple[type[Any], ...], str]] = {  # start of an annotation → types, and their description
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "str": ((str,), "a text"),
    "bool": ((bool,), "True or False"),
    "tuple[str,": ((list, tuple), "a list of texts"),
    "tuple[tuple[str,": ((list, tuple), "a list of pairs of texts"),
}


def checked_value(field_: dataclasses.Field[Any], value: Any, prefix: str = "") -> Any:
    """Returns a setting's value, a list as a tuple. Raises Mistake if its type is not the field's; never quotes a secret.

    prefix: text before the field's name in messages.
    """
    types, description = _ACCEPTED_TYPES[str(field_.type).partition(" ")[0]]
    if value is None and field_.type.endswith("| None"):
        return None
    texts = not isinstance(value, list | tuple) or _are_texts(value, pairs="pairs" in description)
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types) or not texts:
        quoted = f"={value!r}" if field_.repr else ""
        raise Mistake(f"{prefix}{field_.name}{quoted} is not {description}.", f"Give {description}.")
    return tuple(value) if isinstance(value, list) else value


def _are_texts(values: Iterable[Any], pairs: bool) -> bool:
    """Returns True if all values are texts; with `pairs`, pairs of texts."""
    if pairs:
        return all(isinstance(pair, list | tuple) and len(pair) == 2 and _are_texts(pair, False) for pair in values)
    return all(isinstance(text, str) for text in values)


def describe_number(value: float) -> str:
    """Formats a number for a message; of an integer of over 128 bits, it says only "a number of very many digits"."""
    if isinstance(value, int):
        return f"{value:,}" if value.bit_length() <= _MAX_BITS else "a number of very many digits"
    return f"{value:g}"
