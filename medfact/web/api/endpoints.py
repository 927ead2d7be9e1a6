"""The table of endpoints: each is declared once, by a function. The page library's endpoints, the tools of agents, the page
For agents, and the checks of what callers send follow from it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from medfact.errors import Mistake
from medfact.web.api import answering, beginning, knowing
from medfact.web.api.reading import read_argument

FIRST_OF_ALL = 2
"""A function's first arguments are the services and the caller."""


class Parameter(NamedTuple):
    """What a caller may say. default: None where it must be said."""

    name: str
    kind: str
    about: str
    default: Any
    is_required: bool


@dataclass(frozen=True)
class Endpoint:
    """A function that callers may use, and what it says of itself.

    follow: tells how a run stands that the function has begun, for endpoints that stream. is_open_world: it asks a model that
    the caller names, or repeats texts that anybody may have written.
    """

    function: Callable[..., Any]
    follow: Callable[..., Any] | None = None
    is_open_world: bool = True

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def about(self) -> str:
        """What it does."""
        return " ".join((self.function.__doc__ or "").split())

    @property
    def signature(self) -> inspect.Signature:
        """What callers may say, with plain types, and what they get."""
        whole, kinds = inspect.signature(self.function), get_type_hints(self.function)
        told = list(whole.parameters.values())[FIRST_OF_ALL:]
        plain = [
            one.replace(annotation=kinds[one.name], kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)  #
            for one in told
        ]
        return inspect.Signature(plain, return_annotation=dict if self.follow else kinds["return"])

    @cached_property
    def model(self) -> type[BaseModel]:
        """What callers may say, as it is checked."""
        kinds = get_type_hints(self.function, include_extras=True)
        told = {
            name: (kinds[name], ... if one.default is one.empty else one.default)
            for name, one in self.signature.parameters.items()
        }
        return create_model(self.name, __config__=ConfigDict(extra="forbid", strict=True), **told)  # type: ignore[call-overload,no-any-return]

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The same as a JSON schema."""
        return self.model.model_json_schema()

    @property
    def parameters(self) -> list[Parameter]:
        """The same as a list for people."""
        return [
            Parameter(name, _kind(one), one.get("description", ""), one.get("default"), "default" not in one)
            for name, one in self.schema["properties"].items()
        ]

    def named(self, values: list[Any]) -> dict[str, Any]:
        """Arguments by their names. Raises Mistake where they are too many."""
        names = list(self.signature.parameters)
        if len(values) > len(names):
            raise Mistake(f"{self.name} takes {len(names)} values, and {len(values)} came.", f"They are {', '.join(names)}.")
        return dict(zip(names, values, strict=False))

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What a caller says, as `read_argument` reads it. None stands for what is not said. Raises Mistake, which repeats no
        value.
        """
        known = self.schema["properties"]
        said = {str(name): read_argument(value, known.get(name, {})) for name, value in arguments.items()}
        said = {name: value for name, value in said.items() if value is not None}
        if unknown := [name for name in said if name not in known]:
            takes = ", ".join(known) or "nothing"
            raise Mistake(f"{self.name} takes no {unknown[0][:40]!r}.", f"It takes {takes}.")
        try:
            found = self.model.model_validate(said)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(str(part)[:40] for part in first["loc"])
            message = f"{first['msg'][:1].lower()}{first['msg'][1:300]}".rstrip(".")
            argument = first["loc"][0]
            raise Mistake(
                f"{self.name}: {where} cannot be so: {message}.", f"{argument} may be: {_kind(known[argument])}."
            ) from None
        return {name: getattr(found, name) for name in known}


def _kind(schema: Mapping[str, Any]) -> str:
    """What a value is, in a word or two, with its bounds."""
    least, most = schema.get("minimum"), schema.get("maximum")
    bounds = f" from {least} to {most:,}" if least is not None and most is not None else ""
    if schema.get("type") == "array":
        return f"list, {schema['maxItems']:,} at most" if "maxItems" in schema else "list"
    return f"{schema.get('type', 'value')}{bounds}"


ENDPOINTS: Mapping[str, Endpoint] = {
    one.name: one
    for one in (
        Endpoint(knowing.data_sets, is_open_world=False),
        Endpoint(knowing.statements, is_open_world=False),
        Endpoint(beginning.evaluate, beginning.progress),
        Endpoint(answering.report),
        Endpoint(answering.answers),
        Endpoint(answering.compare),
        Endpoint(knowing.check_statement, is_open_world=False),
    )
}
"""By name. Their places here are the numbers by which the page library's clients call them."""
