"""What can go wrong between a prompt and its answer, and what follows from it."""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from medfact.errors import ModelError
from medfact.models.services.pacing import asked_wait
from medfact.models.services.settings import NO_KEY, no_key


class Follows(Enum):
    """AGAIN: another try. UNREACHED: another try, but soon an end where nobody was ever answered. REFUSED: the terms may
    give way. NO_MESSAGES: the model takes plain text alone. FILTERED: an unreadable reply. LOST: this prompt failed. FATAL: the
    run ends.
    """

    AGAIN, UNREACHED, REFUSED, NO_MESSAGES, FILTERED, LOST, FATAL = range(7)


@dataclass(frozen=True, slots=True)
class Trouble:
    """A call that gave no reply.

    reason:  in a few plain words, for the person who reads why a statement failed. error: for the end of the run.
    crowded: there are too many calls: the service says so, or is late. asked: seconds that it wants us to wait, or None.
    slow:    it took long to find out, so one such trouble is enough.
    billed:  the service may have done the work all the same.
    message: what the service said, as it said it: never shown. parameter: what a refusal names.
    """

    follows: Follows
    reason: str
    error: ModelError | None = None
    crowded: bool = False
    asked: float | None = None
    slow: bool = False
    billed: bool = False
    message: str = field(default="", repr=False)
    parameter: str | None = None

    @property
    def kind(self) -> str:
        """The reason, without what the service said of this very call."""
        return self.reason.partition(": ")[0]


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks whom, for messages: the host, the model, and the key, which no message may hold."""

    host: str
    model: str
    key: str = field(repr=False)

    def without_key(self, text: str) -> str:
        """A text without the key, or its beginning, which some services show."""
        for secret in (self.key, self.key[:12]) if len(self.key) >= 8 else ():
            text = text.replace(secret, "***")
        return text

    def scrubbed(self, text: str) -> str:
        """One short line without the key, nor anything else that looks like one."""
        return re.sub(r"\b(sk-|Bearer )\S+", "***", self.without_key(" ".join(text.split())))[:160]


_REASONS = {408: "the service timed out", 409: "a conflict at the service", 429: "too many calls"}
_NO_MONEY = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}

_NO_MODEL = re.compile(
    r"\b(?:invalid|unknown|unsupported|no such|not a valid)\s+model\b"
    r"|\bmodel\b[^.]{0,80}?\b(?:not found|does not exist|is unknown|is invalid|is not a valid)"
    r"|\bmodel\s+\S+\s+(?:is\s+)?not\s+(?:supported|available|loaded)\b",
    re.IGNORECASE,
)
"""How services say in a refusal (HTTP 400 or 422) that they have no such model, where they give it no code."""

_NO_MESSAGES = re.compile(r"chat[ _]?template|not a chat model|v1/completions", re.IGNORECASE)
"""How services say that a model takes no messages: it has no chat template."""

PARAMETER = re.compile(r"\b(temperature|top_logprobs|logprobs|max_tokens|max_completion_tokens|seed|stop)\b")
"""What a refusal may name that can be left out, or asked for otherwise."""


def trouble_of_status(
    status: int, body: bytes, headers: Mapping[str, str], asker: Asker, prompt: Sequence[str] = ()
) -> Trouble:
    """What follows from a reply with an error status. prompt: texts that a service may quote, which say nothing of it."""
    code, shown, parameter = _error_in(body)
    message = shown
    for text in filter(None, prompt):
        message = message.replace(text, " ")
    reason = f"{_REASONS.get(status, 'an error of the service' if status >= 500 else 'the service refuses')} (HTTP {status})"
    if _NO_MESSAGES.search(message):
        return Trouble(Follows.NO_MESSAGES, reason)
    if fatal := _fatal(status, code, message, asker):
        return Trouble(Follows.FATAL, reason, fatal)
    if code == "content_filter":
        return Trouble(Follows.FILTERED, reason)
    if status in (408, 409, 429) or status >= 500:
        return Trouble(Follows.AGAIN, reason, crowded=status == 429, asked=asked_wait(headers))
    follows = Follows.REFUSED if status in (400, 422) else Follows.LOST
    said = asker.scrubbed(shown)
    return Trouble(follows, f"{reason}: {said}" if said else reason, message=message, parameter=parameter)


def _error_in(body: bytes) -> tuple[str, str, str | None]:
    """(code, message, parameter) of an error's body, which services write in several ways; empty where it holds none."""
    try:
        held: Any = json.loads(body)
    except (ValueError, RecursionError):
        return "", "", None
    held = held[0] if isinstance(held, list) and held else held
    error = held.get("error", held) if isinstance(held, dict) else held
    if not isinstance(error, dict):
        return "", str(error), None
    code = next((str(error[name]) for name in ("code", "type") if isinstance(error.get(name), str)), "")
    parameter = error.get("param")
    message = error.get("message") or error.get("detail") or ""
    code = "insufficient_quota" if error.get("type") == "insufficient_quota" else code
    return code, str(message), parameter if isinstance(parameter, str) else None


def _fatal(status: int, code: str, message: str, asker: Asker) -> ModelError | None:
    """The end of the run, where every other prompt would meet the same."""
    host, model = asker.host, asker.model
    if status == 402 or (status == 429 and code in _NO_MONEY):
        return ModelError(f"The quota at {host} is used up.", "Add credit there or use another key, then resume the run.")
    if status == 401 and asker.key == NO_KEY:
        return no_key(host)
    if status == 401:
        return ModelError(f"{host} does not accept the key.", "Check OPENAI_API_KEY.")
    if status == 403:
        return ModelError(f"{host} does not let this key use {model!r}.", "Check what the key may do, or its region.")
    refused = status in (400, 422) and not PARAMETER.search(message) and _NO_MODEL.search(message) is not None
    if code == "model_not_found" or refused or (status == 404 and "model" in message.lower()):
        return ModelError(f"{host} has no model {model!r}.", "Check its name, and whether the key may use it.")
    if status in (404, 405):
        return _wrong_address(host)
    if 300 <= status < 400:
        return ModelError(f"{host} sends calls on to another address.", "Give that address as the base URL, if you know it.")
    return None


def _wrong_address(host: str) -> ModelError:
    return ModelError(f"{host} answers, but not as a model service.", "Check the base URL: it mostly ends with /v1.")


# ------------------------------------------------------------------------------------------------ without an answer


def trouble_of_page(reason: str, asker: Asker) -> Trouble:
    """A web page where an answer should be: a gateway's, for a moment, or a wrong address."""
    return Trouble(Follows.UNREACHED, reason, _wrong_address(asker.host))


def trouble_of_connection(error: BaseException, asker: Asker) -> Trouble:
    """What follows where there was no connection, or where it broke off."""
    causes = [*_causes(error)]
    refused = next((cause for cause in causes if isinstance(cause, ModelError)), None)
    if refused is not None:
        return Trouble(Follows.FATAL, "the address may not be asked", refused)
    names = {type(cause).__name__ for cause in causes}
    host, slow = asker.host, "ConnectTimeout" in names
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        reason, sentence = "no secure connection", f"No secure connection to {host}."
    elif any(isinstance(cause, socket.gaierror) for cause in causes):
        reason, sentence = "the host is not found", f"The host {host} is not found."
    elif slow or names & {"ConnectError", "ProxyError", "UnsupportedProtocol"}:
        reason, sentence = "the host cannot be reached", f"{host} cannot be reached."
    else:
        return Trouble(Follows.AGAIN, "the connection broke off", billed=True)
    return Trouble(Follows.UNREACHED, reason, ModelError(sentence, "Check the base URL and the network."), slow=slow)


def _causes(error: BaseException | None) -> list[BaseException]:
    """An error and all that led to it."""
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__
    return causes
