"""Why a reply ended, in the words of many services."""

from __future__ import annotations

import re

from medfact.models.prompt import CONTENT_FILTER, LENGTH

NORMAL, FAILED = "normal", "failed"
"""Beside LENGTH and CONTENT_FILTER: the model ended by itself; the service could not go on."""

_NORMAL_WORDS = re.compile(
    r"(?:stop|stopped|eos|eod|eot|eom|end|ended)(?:_(?:turn|sequences?|token|words?|str|string|id|found|limit|of_\w+))*"
    r"|im_end|endoftext|complete|completed|completion|done|final|finish|finished|success|succeeded|ok|normal|natural"
    r"|unspecified|none|null|tool_(?:calls?|use)|function_calls?"
)
"""A call of a tool is an end, too: the model said nothing that could be read."""

_FILTER = re.compile(
    r"filter|sensitiv|safety|unsafe|recitation|prohibit|block|\bspii\b|refus|guard|moderat|flagged|policy|violat|censor|armor|"
    r"risk|\blanguage\b"
)
_LENGTH = re.compile(
    r"length|max_(?:\w+_)?tokens?|tokens?_(?:limit|cap|count|budget|exceeded|reached)|context|truncat|too_long|too_many_tokens"
)
_PREFIX = re.compile(r"\A(?:finish|stop|done)_?reason_")


def ending_of(reason: object) -> str:
    """NORMAL, LENGTH, CONTENT_FILTER or FAILED. An older service gives no reason where a reply is complete.

    An unknown reason counts as FAILED: such a reply may lack its end, so it must not be scored.
    """
    name = _name(reason)
    if name is None or _NORMAL_WORDS.fullmatch(name):
        return NORMAL
    if _FILTER.search(name):
        return CONTENT_FILTER
    return LENGTH if _LENGTH.search(name) else FAILED


def _name(reason: object) -> str | None:
    """A reason in lower case, with underscores between its words; None where there is none."""
    if isinstance(reason, dict):
        reason = next((reason[key] for key in ("type", "reason", "name", "finish_reason") if reason.get(key)), "unknown")
    if reason is None or reason == "":
        return None
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(reason))
    return _PREFIX.sub("", re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")) or None
