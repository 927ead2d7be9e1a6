"""Texts on which a regular expression of more than linear time is slow, made from the expression, and their timing."""

import math
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

LONG, SHORT, PROBE = 20_000, 5_000, 2_000
"""Lengths in characters: of a timed text, of a shorter one for comparison, and of a probe that selects the texts to time."""

TOKENS = (
    " ", "\t", "\n", ".", ",", ":", "-", "_", "*", "a", "A", "1", "'", '"', "“", "(", ")", "[", "{", "}", "<", "|", "\\", "/",
    "=", "é", "的", "\u0301", "a ", "1,", ". ", "not ", "\\n",
)  # fmt: skip
"""Texts that are repeated for every pattern."""

ENDS = ("", "\0", "x", "!", "\n")
"""Ends after the repetition, at which a pattern fails in its last step."""

MAX_SECONDS, STOP_SECONDS = 0.05, 0.25
"""Processor time in seconds: allowed for LONG characters, and on a machine a fifth as fast, at which work is stopped."""

MAX_GROWTH = 8
"""Allowed growth from SHORT to LONG, which is four times the length: 4 is linear, 16 quadratic."""

_UNREPEATED = 3


class RepeatedText(NamedTuple):
    """A text in which a token is repeated up to any length."""

    begin: str
    token: str  # repeated
    end: str

    def with_length(self, length: int) -> str:
        """Returns the text with the token repeated, at least once, so often that it has about this number of characters."""
        times = max(1, (length - len(self.begin) - len(self.end)) // len(self.token))
        return self.begin + self.token * times + self.end


class SlowestText(NamedTuple):
    """The text that takes a pattern longest."""

    seconds: float  # processor time for LONG characters
    growth: float  # ratio to the time for SHORT ones
    text: RepeatedText

    @property
    def is_too_slow(self) -> bool:
        """True if the time exceeds MAX_SECONDS and grows faster than linearly."""
        return self.seconds > MAX_SECONDS and (self.growth > MAX_GROWTH or self.seconds >= STOP_SECONDS)


class PatternStopped(Exception):
    """Raised when a pattern exceeds its time."""


# ------------------------------------------------------------------------------------------------- examples of a pattern


def _examples(items: Any, most: int = 3) -> list[str]:
    """Returns up to `most` strings that match a sequence of items of a parsed pattern, if its lookarounds are ignored."""
    parts = [_item_examples(item, most) for item in items]
    return ["".join(part[min(n, len(part) - 1)] for part in parts) for n in range(max([1, *map(len, parts)]))][:most]


def _item_examples(item: Any, most: int) -> list[str]:
    """Returns a few strings that match one item of a parsed pattern; "" for an item of no length."""
    name, value = str(item[0]), item[1]
    if name == "LITERAL":
        return [chr(value)]
    if name == "NOT_LITERAL":
        return ["a" if value != 97 else "b", " "]
    if name == "ANY":
        return ["a", " "]
    if name == "IN":
        return _set_examples(value)[:most] or ["a"]
    if name == "BRANCH":
        return [text for branch in value[1] for text in _examples(branch, 1)][:40]
    if name == "SUBPATTERN":
        return _examples(value[3], most)
    if name == "ATOMIC_GROUP":
        return _examples(value, most)
    if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
        return [text * max(1, min(value[0], 80)) for text in _examples(value[2], most)]
    return [""]


def _set_examples(items: Any) -> list[str]:
    """Returns a few characters that match a set of a parsed pattern, such as [a-z]."""
    if str(items[0][0]) == "NEGATE":
        compiled = re.compile("[" + "".join(map(re.escape, _set_examples(items[1:]) or ["\0"])) + "]")
        return [text for text in ("a", " ", ".", "1", "-", "(", "的") if not compiled.match(text)] or ["~"]
    examples = []
    for name, value in ((str(item[0]), item[1]) for item in items):
        if name == "LITERAL":
            examples.append(chr(value))
        elif name == "RANGE":
            examples.append(chr(value[0]))
        elif name == "CATEGORY":
            examples += {
                "CATEGORY_SPACE": [" ", "\n"], "CATEGORY_WORD": ["a", "_", "1"], "CATEGORY_DIGIT": ["1"],
                "CATEGORY_NOT_SPACE": ["a", "."], "CATEGORY_NOT_WORD": [" ", "."], "CATEGORY_NOT_DIGIT": ["a"],
            }[str(value)]  # fmt: skip
    return examples


def _repeats(items: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yields (an example of the text before it, the part) for each repeated part of a parsed sequence, such as `a` in `a*`."""
    for number, item in enumerate(items):
        name, value = str(item[0]), item[1]
        begun = before + _examples(items[:number], 1)[0]
        bodies = (
            value[1] if name == "BRANCH" else [value[3]] if name == "SUBPATTERN" else [value] if name == "ATOMIC_GROUP"
            else [value[1]] if name.startswith("ASSERT") else []
        )  # fmt: skip
        if name.endswith("REPEAT"):
            if value[1] > _UNREPEATED:
                yield begun, value[2]
            bodies = [value[2]]
        for body in bodies:
            yield from _repeats(body, begun)


def _sequences(items: Any) -> Iterator[Any]:
    """Yields a sequence and all sequences within it, outermost first."""
    yield items
    for item in items:
        name, value = str(item[0]), item[1]
        bodies = (
            value[1] if name == "BRANCH" else [value[3]] if name == "SUBPATTERN" else [value] if name == "ATOMIC_GROUP"
            else [value[1]] if name.startswith("ASSERT") else [value[2]] if name.endswith("REPEAT") else []
        )  # fmt: skip
        for body in bodies:
            yield from _sequences(body)


def make_texts(pattern: re.Pattern[Any], pair_count: int) -> list[RepeatedText]:
    """Returns texts that may take a pattern long.

    They repeat each part of the pattern, with and without the text before it, the words that match it, and TOKENS. They also
    repeat about `pair_count` pairs of these words and tokens; 0 for none.
    """
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    parsed = _parser.parse(source, pattern.flags | (0 if isinstance(pattern.pattern, str) else re.UNICODE))
    bases: dict[tuple[str, str], None] = {}
    parts: dict[str, None] = {}
    for before, body in _repeats(list(parsed)):
        for text in _examples(list(body)):
            parts[text] = None
            bases |= dict.fromkeys(((before, text), ("", before + text), ("", before), (before, text + " ")))
    for sequence in _sequences(list(parsed)):
        for end in range(1, min(len(sequence), 12) + 1):
            for begin in {0, end - 1, max(0, end - 2)}:
                for text in _examples(list(sequence)[begin:end], 2):
                    parts[text] = None
                    bases |= dict.fromkeys((("", text), ("", text + " ")))
    short = [*dict.fromkeys(part for part in parts if part and len(part) <= 12)]
    for token in (*TOKENS, *short):
        bases["", token] = None
    mixed = list(product(short[:24] + list(TOKENS), repeat=2))
    step = max(1, len(mixed) // pair_count) if pair_count else len(mixed) + 1
    bases |= {("", first + second): None for first, second in mixed[::step]}
    probes = [(begin, token) for begin, token in bases if token and len(begin) + len(token) < PROBE // 2]
    return [
        RepeatedText(begin, token, ENDS[(n + turn) % len(ENDS)]) for n, (begin, token) in enumerate(probes) for turn in (0, 2)
    ]


# --------------------------------------------------------------------------------------------------------------- timing


def apply_pattern(pattern: re.Pattern[Any], method: str, text: str) -> None:
    """Calls a method of a pattern, such as "match", with a text; exhausts "finditer"."""
    subject: Any = text.encode("utf-8", "ignore") if isinstance(pattern.pattern, bytes) else text
    if method == "finditer":
        deque(pattern.finditer(subject), 0)
    else:
        getattr(pattern, method)(subject)


def measure_seconds(work: Callable[[], object], timeout: float, tries: int = 1) -> float:
    """Runs a piece of work `tries` times, and returns the shortest processor time of this thread in seconds.

    A try that takes longer than `timeout`, in seconds, is stopped; then the result is `timeout`.
    """

    def stop(*_: object) -> None:
        raise PatternStopped

    durations = []
    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        for _ in range(tries):
            started = time.thread_time()
            signal.setitimer(signal.ITIMER_VIRTUAL, timeout)
            try:
                work()
            except PatternStopped:
                return timeout
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            durations.append(time.thread_time() - started)
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return min(durations)


def find_slowest_text(
    pattern: re.Pattern[Any], method: str, pair_count: int, max_texts: int | None = None, timed_count: int = 6
) -> SlowestText:
    """Returns the text that takes a method of a pattern longest, among the first `max_texts` of `make_texts` (None: all).

    All are probed at PROBE characters, and the slowest, `timed_count` of them, are timed at LONG characters. A text that is
    stopped while it is probed is returned at once. pair_count: as of `make_texts`.
    """
    probed = []
    for text in make_texts(pattern, pair_count)[:max_texts]:
        probe = measure_seconds(partial(apply_pattern, pattern, method, text.with_length(PROBE)), STOP_SECONDS)
        if probe >= STOP_SECONDS:
            return SlowestText(probe, math.inf, text)
        probed.append((probe, text))
    worst = SlowestText(0.0, 0.0, RepeatedText("", "a", ""))
    for _, text in sorted(probed, key=lambda pair: -pair[0])[:timed_count]:
        duration = measure_seconds(partial(apply_pattern, pattern, method, text.with_length(LONG)), 4 * STOP_SECONDS)
        if MAX_SECONDS / 2 < duration < 4 * STOP_SECONDS:
            duration = measure_seconds(
                partial(apply_pattern, pattern, method, text.with_length(LONG)), 4 * STOP_SECONDS, tries=3
            )
        if duration > worst.seconds:
            short = measure_seconds(partial(apply_pattern, pattern, method, text.with_length(SHORT)), 4 * STOP_SECONDS, tries=3)
            worst = SlowestText(duration, duration / max(short, 1e-6), text)
    return worst
