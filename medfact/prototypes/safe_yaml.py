"""YAML from strangers: without aliases, repeated names or costly numbers."""

from __future__ import annotations

import re
from typing import Any

import yaml

_PATTERNS = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?[0-9]{1,18}\Z"),
    "tag:yaml.org,2002:float": re.compile(r"[-+]?[0-9]{1,18}\.[0-9]{0,18}\Z"),
    "tag:yaml.org,2002:bool": re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"),
}
"""What counts as a number, and as true or false: "no" and "on" are words. YAML also allows 1:1:1…, of base 60, which takes long
to read.
"""


class Unreadable(Exception):
    """problem: what is wrong. hint: what to do. line: where, from 1, if known."""

    def __init__(self, problem: str, hint: str, mark: Any) -> None:
        super().__init__(problem)
        self.problem, self.hint, self.line = problem, hint, mark.line + 1 if mark else None


def read_yaml(text: str) -> Any:
    """The content of a YAML text. Raises Unreadable."""
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise Unreadable("it is not valid YAML.", "Check indentation and quotes.", mark) from None


class _Loader(yaml.SafeLoader):
    """Refuses repeated names, of which the library would silently keep the last, and aliases: a few nested ones expand to
    billions of words.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event: yaml.AliasEvent = self.get_event()  # type: ignore[no-untyped-call]
            raise Unreadable(f"*{event.anchor} is an alias.", "Write out what it stands for.", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in names:
                    raise Unreadable(f"{key.value!r} occurs twice.", "Keep one of the two.", key.start_mark)
                names.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, _PATTERNS.get(tag, pattern)) for tag, pattern in pairs]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
