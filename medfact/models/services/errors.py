"""What can go wrong between a prompt and its reply, and what to do about it."""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from medfact.errors import ModelError
from medfact.models.services.pacing import retry_after
from medfact.models.services.policy import NO_KEY, no_key


class Action(Enum):
    """What to do after a call failed."""

    RETRY = auto()
    RETRY_UNREACHED = auto()  # but end the run soon if the service has never answered
    CHANGE_PARAMETERS = auto()  # retry without the parameter that the service refuses
    USE_COMPLETIONS = auto()  # retry with plain text: the model takes no messages
    ACCEPT_FILTERED = auto()  # an unreadable reply, cut by a content filter
    FAIL_PROMPT = auto()  # give up this prompt
    END_RUN = auto()  # every other prompt would fail alike


@dataclass(frozen=True, slots=True)
class CallFailure:
    """A call without a reply.

    reason:      a few plain words on why a statement failed. error: the reason for the end of the run, if it must end.
    overloaded:  there are too many calls: the service says so, or times out. retry_after: seconds that it asks us to wait.
    slow:        the failure took long to show, so that one is enough.
    billed:      the service may have done the work and may bill it.
    message:     the service's own words, which are never shown. parameter: the one that a refusal names.
    """

    action: Action
    reason: str
    error: ModelError | None = None
    overloaded: bool = False
    retry_after: float | None = None
    slow: bool = False
    billed: bool = False
    message: str = field(default="", repr=False)
    parameter: str | None = None

    @property
    def kind(self) -> str:
        """The reason without the service's words on this particular call."""
        return self.reason.partition(": ")[0]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What messages name: the host and the model. And what they must never contain: the key."""

    host: str
    model: str
    key: str = field(repr=False)

    def without_key(self, text: str) -> str:
        """A text without the key and without its beginning, which some services show."""
        for secret in (self.key, self.key[:12]) if len(self.key) >= 8 else ():
            text = text.replace(secret, "***")
        return text

    def scrubbed(self, text: str) -> str:
        """One short line without the key, or anything else that looks like a key."""
        return re.sub(r"\b(sk-|Bearer )\S+", "***", self.without_key(" ".join(text.split())))[:160]


_REASONS = {408: "the service timed out", 409: "the service reports a conflict", 429: "too many calls"}
_NO_MONEY = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}

_NO_MODEL = re.compile(
    r"\b(?:invalid|unknown|unsupported|no such|not a valid)\s+model\b"
    r"|\bmodel\b[^.]{0,80}?\b(?:not found|does not exist|is unknown|is invalid|is not a valid)"
    r"|\bmodel\s+\S+\s+(?:is\s+)?not\s+(?:supported|available|loaded)\b",
    re.IGNORECASE,
)
"""How services without an error code say that they have no such model (HTTP 400 or 422)."""

_NO_MESSAGES = re.compile(r"chat[ _]?template|not a chat model|v1/completions", re.IGNORECASE)
"""How services say that a model takes no messages because it has no chat template."""

PARAMETER = re.compile(r"\b(temperature|top_logprobs|logprobs|max_tokens|max_completion_tokens|seed|stop)\b")
"""Parameters named in a refusal that can be left out or replaced."""


def failure_from_status(
    status: int, body: bytes, headers: Mapping[str, str], endpoint: Endpoint, prompt: Sequence[str] = ()
) -> CallFailure:
    """The failure that an error status means.

    prompt: texts of the prompt. A service may quote them, and what they say must not be taken for its own words.
    """
    code, shown, parameter = _error_in(body)
    message = shown
    for text in filter(None, prompt):
        message = message.replace(text, " ")
    reason = _REASONS.get(status, "an error of the service" if status >= 500 else "the service refuses") + f" (HTTP {status})"
    if _NO_MESSAGES.search(message):
        return CallFailure(Action.USE_COMPLETIONS, reason)
    if fatal := _fatal(status, code, message, endpoint):
        return CallFailure(Action.END_RUN, reason, fatal)
    if code == "content_filter":
        return CallFailure(Action.ACCEPT_FILTERED, reason)
    if status in (408, 409, 429) or status >= 500:
        return CallFailure(Action.RETRY, reason, overloaded=status == 429, retry_after=retry_after(headers))
    action = Action.CHANGE_PARAMETERS if status in (400, 422) else Action.FAIL_PROMPT
    quoted = endpoint.scrubbed(shown)
    return CallFailure(action, f"{reason}: {quoted}" if quoted else reason, message=message, parameter=parameter)


def _error_in(body: bytes) -> tuple[str, str, str | None]:
    """(code, message, parameter) of an error body, which services write in several ways; empty where it has none."""
    try:
        parsed: Any = json.loads(body)
    except (ValueError, RecursionError):
        return "", "", None
    parsed = parsed[0] if isinstance(parsed, list) and parsed else parsed
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else parsed
    if not isinstance(error, dict):
        return "", str(error), None
    code = next((str(error[name]) for name in ("code", "type") if isinstance(error.get(name), str)), "")
    parameter = error.get("param")
    message = error.get("message") or error.get("detail") or ""
    code = "insufficient_quota" if error.get("type") == "insufficient_quota" else code
    return code, str(message), parameter if isinstance(parameter, str) else None


def _fatal(status: int, code: str, message: str, endpoint: Endpoint) -> ModelError | None:
    """The error that ends the run, where every other prompt would meet it too."""
    host, model = endpoint.host, endpoint.model
    if status == 402 or (status == 429 and code in _NO_MONEY):
        return ModelError(f"The quota at {host} is used up.", "Add credit there or use another key, then resume the run.")
    if status == 401 and endpoint.key == NO_KEY:
        return no_key(host)
    if status == 401:
        return ModelError(f"{host} does not accept the key.", "Check OPENAI_API_KEY.")
    if status == 403:
        return ModelError(f"{host} does not let this key use {model!r}.", "Check the key's permissions and region.")
    refused = status in (400, 422) and not PARAMETER.search(message) and _NO_MODEL.search(message) is not None
    if code == "model_not_found" or refused or (status == 404 and "model" in message.lower()):
        return ModelError(f"{host} has no model {model!r}.", "Check its name, and whether the key may use it.")
    if status in (404, 405):
        return _wrong_address(host)
    if 300 <= status < 400:
        return ModelError(f"{host} redirects calls to another address.", "If you trust that address, use it as the base URL.")
    return None


def _wrong_address(host: str) -> ModelError:
    return ModelError(f"{host} answers, but not as a model service.", "Check the base URL: it usually ends with /v1.")


# ------------------------------------------------------------------------------------------------ without a reply


def failure_from_web_page(reason: str, endpoint: Endpoint) -> CallFailure:
    """A web page instead of a reply: a gateway's passing error, or a wrong address."""
    return CallFailure(Action.RETRY_UNREACHED, reason, _wrong_address(endpoint.host))


def failure_from_connection(error: BaseException, endpoint: Endpoint) -> CallFailure:
    """There was no connection, or it broke."""
    causes = [*_causes(error)]
    forbidden = next((cause for cause in causes if isinstance(cause, ModelError)), None)
    if forbidden is not None:
        return CallFailure(Action.END_RUN, "the address may not be contacted", forbidden)
    names = {type(cause).__name__ for cause in causes}
    host, slow = endpoint.host, "ConnectTimeout" in names
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        reason, sentence = "no secure connection", f"No secure connection to {host}."
    elif any(isinstance(cause, socket.gaierror) for cause in causes):
        reason, sentence = "the host was not found", f"The host {host} was not found."
    elif slow or names & {"ConnectError", "ProxyError", "UnsupportedProtocol"}:
        reason, sentence = "the host cannot be reached", f"{host} cannot be reached."
    else:
        return CallFailure(Action.RETRY, "the connection broke", billed=True)
    error_of_run = ModelError(sentence, "Check the base URL and the network.")
    return CallFailure(Action.RETRY_UNREACHED, reason, error_of_run, slow=slow)


def _causes(error: BaseException | None) -> list[BaseException]:
    """An error and everything that led to it."""
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__
    return causes
