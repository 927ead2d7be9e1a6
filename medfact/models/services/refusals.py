"""What a service means by an error: what its body says, in many ways of writing it, and what follows from that."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

from medfact.errors import ModelError
from medfact.models.services.failures import Action, CallFailure, Endpoint, and_says, wrong_address
from medfact.models.services.pacing import retry_after
from medfact.models.services.parameters import PARAMETER, REQUEST_TOO_LARGE, TOO_LONG
from medfact.models.services.policy import NO_KEY, no_key

# --------------------------------------------------------------------------------------------------------------------- bodies

_WORDS = (
    *("message", "detail", "details", "msg", "errormsg", "errormessage", "statusmsg", "statusmessage", "errordescription"),
    *("error", "errors", "description", "title", "reason", "faultstring"),
)
_CODES = ("code", "type", "status", "errorcode", "errortype", "statuscode", "httpstatus")
"""Names of fields, in lower case and without dashes."""

_OF_WAITS = re.compile(r"retry|reset|remaining|quota", re.IGNORECASE)
"""Names of fields, at any depth, that may say when to retry."""

_DEEPEST = 8
"""How deep they are looked for."""

LONGEST_WORDS = 2_000
"""Characters that are read of a body that is plain text."""

_TITLE = re.compile(r"<title[^>]*>(.{0,200}?)</title>", re.IGNORECASE | re.DOTALL)


class ErrorBody(NamedTuple):
    """The body of an error.

    message: the service's words. codes: its names and numbers for the error, in lower case. status: the HTTP status that the
    body names. parameter: the one that it names in a field of its own. is_page: it is a web page, and the words are its title.
    waits: names and values of fields that may say when to retry.
    """

    message: str = ""
    codes: tuple[str, ...] = ()
    status: int | None = None
    parameter: str | None = None
    is_page: bool = False
    waits: tuple[tuple[str, str], ...] = ()


def error_body(body: bytes) -> ErrorBody:
    """What a body says; nothing where it cannot be read."""
    if body.lstrip()[:1] == b"<":
        title = _TITLE.search(body.decode(errors="replace"))
        return ErrorBody(html.unescape(title[1]).strip() if title else "", is_page=True)
    try:
        parsed = json.loads(body)
        return error_in(parsed)._replace(waits=tuple(_waits_in(parsed)))
    except (ValueError, RecursionError):
        text = body[:LONGEST_WORDS].decode(errors="replace").strip()
        return ErrorBody(text if text.replace("\n", " ").isprintable() else "")


def error_in(parsed: Any) -> ErrorBody:
    """What a parsed body says, or the error within it."""
    if isinstance(parsed, list):
        parsed = parsed[0] if parsed else {}
    fields = _fields(parsed)
    listed = _first_of(fields.get("errors"))
    if isinstance(listed, dict) and not _fields(listed).keys() & set(_WORDS):
        listed = words_in(listed)  # complaints by field
    error = fields.get("error") or fields.get("baseresp") or listed or parsed
    error = _first_of(error) or {}
    if not isinstance(error, dict):
        outer, nested = _codes(fields), _nested(error)
        return ErrorBody(words_in(error), (*outer, *nested.codes), _status(outer))
    fields = _fields(error)
    codes = _codes(fields)
    said = next((value for name in _WORDS if words_in(value := fields.get(name))), "")
    message, inner = words_in(said), _inner(error, said)
    parameter = fields.get("param") or inner.parameter
    return ErrorBody(
        ": ".join(filter(None, (message, inner.message))),
        tuple(dict.fromkeys((*codes, *inner.codes))),
        _status(codes),
        parameter if isinstance(parameter, str) else None,
    )


def _fields(parsed: Any) -> dict[str, Any]:
    """The fields of an object, by their names in lower case and without dashes; none of anything else."""
    found = parsed.items() if isinstance(parsed, dict) else ()
    return {re.sub(r"[-_]", "", str(name).lower()): value for name, value in found}


def _first_of(value: Any) -> Any:
    return (value[0] if value else None) if isinstance(value, list) else value


def _waits_in(parsed: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Names and values of fields that may say when to retry."""
    inner = parsed.items() if isinstance(parsed, dict) else enumerate(parsed) if isinstance(parsed, list) else ()
    for name, value in inner:
        if isinstance(value, dict | list) and depth < _DEEPEST:
            yield from _waits_in(value, depth + 1)
        elif isinstance(value, str) and value.lstrip().startswith("{") and depth < _DEEPEST:
            yield from _waits_in(_object_in(value), depth + 1)
        elif isinstance(value, str | int | float) and _OF_WAITS.search(str(name)):
            yield str(name), str(value)


def _object_in(text: str) -> Any:
    """The object that is written in a text as JSON; None where there is none."""
    begin = text.find("{")
    try:
        return json.JSONDecoder().raw_decode(text, begin)[0] if begin >= 0 else None
    except (ValueError, RecursionError):
        return None


def _nested(text: object) -> ErrorBody:
    """The error that is written within the words of another, as gateways do."""
    inner = _object_in(text) if isinstance(text, str) else None
    return error_in(inner) if isinstance(inner, dict) else ErrorBody()


def _inner(error: dict[str, Any], message: object) -> ErrorBody:
    """What the provider behind a gateway said, or the policy behind a filter."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(raw, str) and raw:
        provider = error_body(raw.encode())
        return provider if provider.message else ErrorBody(raw)
    inner = error.get("innererror")
    nested = _nested(message)
    return ErrorBody(codes=(*_codes(_fields(inner)), *nested.codes), parameter=nested.parameter)


def _codes(fields: dict[str, Any]) -> tuple[str, ...]:
    found = (fields.get(name) for name in _CODES)
    return tuple(str(code).lower() for code in found if isinstance(code, str | int) and code and not isinstance(code, bool))


def _status(codes: tuple[str, ...]) -> int | None:
    """The first code that is an HTTP status of a failure."""
    numbers = (int(code) for code in codes if code.isascii() and code.isdigit() and len(code) == 3)
    return next((number for number in numbers if 400 <= number <= 599), None)


def words_in(words: object) -> str:
    """Words as a text: a list of complaints about fields, as FastAPI writes it, becomes "field: complaint; …", and JSON within
    a text what it says.
    """
    if isinstance(words, str):
        nested = _nested(words).message
        return ": ".join(filter(None, (words[: words.find("{")].strip(" :-\n"), nested))) if nested else words
    if isinstance(words, list):
        return "; ".join(filter(None, map(words_in, words)))
    if not isinstance(words, dict):
        return ""
    fields = _fields(words)
    where = fields.get("loc")
    said = next((text for name in (*_WORDS, "text") if (text := words_in(fields.get(name)))), "")
    if not said:
        return "; ".join(f"{name}: {text}" for name, value in words.items() if (text := words_in(value)))
    return ": ".join(filter(None, (".".join(map(str, where)) if isinstance(where, list) else "", said)))


# ------------------------------------------------------------------------------------------------------------------- meanings

_REASONS = {
    408: "the service timed out",
    409: "the service reports a conflict",
    424: "the model is not ready",
    425: "too early",
    429: "too many calls",
    498: "no capacity",
    499: "the call was closed",
}
"""Statuses below 500 after which a later call may succeed."""

_NOT_NOW = re.compile(
    r"try again (?:later|soon|in\b|shortly)|temporarily|overloaded|(?:at|over|no|out of) capacity|capacity exceeded"
    r"|not (?:yet )?ready|(?:still|currently|is) (?:loading|starting|warming)",
    re.IGNORECASE,
)
"""Words for the same with another status."""

_RESPONSES_ONLY = re.compile(
    r"(?:v1)?/responses\b|\bresponses (?:api|endpoint)|not accessible via the /chat/completions", re.IGNORECASE
)
"""Words for a model that is asked in another way than by chat completions."""

_BAD_TOKEN = re.compile(
    r"(?:invalid|expired|bad)\W.{0,20}\b(?:token|key)|\b(?:token|key)\b.{0,20}\b(?:invalid|expired)", re.IGNORECASE
)
"""Words of status 498 where it means a bad key."""

_NO_MONEY = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"}
_NO_MONEY_WORDS = re.compile(
    r"insufficient[ _](?:credits?|balance|funds)|credit balance is too low|out of credits", re.IGNORECASE
)

_NO_MODEL_CODES = {"model_not_found", "deploymentnotfound", "deployment_not_found", "modelnotfound", "no_such_model"}
_NO_MODEL = re.compile(
    r"\b(?:invalid|unknown|unsupported|no such|not a valid)\s+model\b"
    r"|\bmodels?\b[^.]{0,80}?\b(?:not found|does not exist|is unknown|is invalid|is not a valid|is not available)"
    r"|\bmodel\s+\S+\s+(?:is\s+)?not\s+(?:supported|available|loaded)\b"
    r"|\bno (?:allowed )?(?:endpoints?|providers?)\b[^.]{0,40}\b(?:found|available)|\bdeployment\b[^.]{0,60}\bnot\b",
    re.IGNORECASE,
)
"""How services without an error code say that they have no such model."""

_NO_MESSAGES = re.compile(r"chat[ _]?template(?!_kwargs)|not a chat model|v1/completions", re.IGNORECASE)
"""How services say that a model takes no messages because it has no chat template."""

_FILTERED_CODES = re.compile(r"content_?filter|content_?policy|responsibleai|data_?inspection|moderation|sensitive|safety")
_FILTERED = re.compile(
    r"content[ _-]?(?:filter|policy|management policy|moderation)|\bmoderation\b|\b(?:input|prompt|request|message)\b[^.]{0,40}"
    r"\bflagged\b|(?:inappropriate|prohibited|sensitive|harmful|unsafe) (?:content|material|words?|information|prompt|input)"
    r"|content exists risk|high[ -]risk|data ?inspection|\bsafety (?:system|filter|settings?|reasons?|polic)"
    r"|responsible ?ai|violat\w{1,12} [^.]{0,60}\b(?:polic|guidelines)|\bguardrail",
    re.IGNORECASE,
)
"""How services say that a filter holds this prompt back."""

_OF_THE_ACCOUNT = re.compile(r"\b(?:account|organi[sz]ation|api[ _-]?key|subscription|region|country)\b", re.IGNORECASE)
"""Whose words speak of these refuse the person, not the prompt."""


def failure_from_status(
    status: int, body: bytes, headers: Mapping[str, str], endpoint: Endpoint, prompt: Sequence[str] = ()
) -> CallFailure:
    """The failure that an error status means.

    prompt: texts of the prompt. A service may quote them, and what they say must not be taken for its own words.
    """
    return failure_from_error(status, f"HTTP {status}", error_body(body), headers, endpoint, prompt)


def failure_in_reply(
    error: ErrorBody, headers: Mapping[str, str], endpoint: Endpoint, prompt: Sequence[str] = ()
) -> CallFailure:
    """The failure that a reply reports although its status is 200: of a provider behind a gateway, or midway. The calls of
    those that name no status may be repeated.
    """
    label = f"error {error.codes[0]}" if error.codes else "in its reply"
    failure = failure_from_error(error.status or _status_of(error.codes), label, error, headers, endpoint, prompt)
    return replace(failure, reason=failure.whole_reason)


_STATUS_OF_CODE = {
    r"rate_?limit|too_many|exhausted|insufficient_quota|throttl": 429,
    r"api_?key|authenticat|unauthori[sz]ed": 401,
    r"model_not_found|deployment": 404,
    r"content_?(?:filter|policy)|invalid_?(?:request|argument|param)|bad_?request": 400,
}
"""What a code means where no status stands beside it."""


def _status_of(codes: Sequence[str]) -> int:
    return next((status for words, status in _STATUS_OF_CODE.items() if any(re.search(words, code) for code in codes)), 500)


def failure_from_error(
    status: int, label: str, error: ErrorBody, headers: Mapping[str, str], endpoint: Endpoint, prompt: Sequence[str]
) -> CallFailure:
    """The failure that a status and the words of an error mean. label: of the status."""
    words = error.message
    for text in filter(None, prompt):
        words = words.replace(text, " ")
    said = endpoint.scrubbed(error.message)
    general = f"{_general(status, error)} ({label})"
    reason = f"{general}: {said}" if said else general
    if 400 <= status < 500 and status != 429 and _RESPONSES_ONLY.search(words):
        return CallFailure(Action.END_RUN, reason, responses_only(endpoint, said))
    if _NO_MESSAGES.search(words):
        return CallFailure(Action.USE_COMPLETIONS, reason)
    if _is_filtered(status, error.codes, words):
        return CallFailure(Action.ACCEPT_FILTERED, reason)
    if REQUEST_TOO_LARGE.search(words) and (status in (413, 429) or status >= 500):
        otherwise = Action.RETRY if status >= 500 else Action.FAIL_PROMPT
        return CallFailure(Action.CHANGE_PARAMETERS, reason, otherwise=otherwise, message=words, parameter=error.parameter)
    is_transient = _may_pass(status, words)
    fatal = None if is_transient and status != 429 else _fatal(status, error, words, endpoint)
    if is_transient and fatal is None:
        wait = retry_after(headers, words, error.waits)
        wait = wait if status == 429 or wait != inf else None
        passing = CallFailure(Action.RETRY, general, said=said, retry_after=wait)
        return replace(passing, overloaded=status == 429, unexplained=status == 500)
    return _refusal(status, reason, error, words, endpoint, fatal)


def _may_pass(status: int, words: str = "") -> bool:
    """Whether a later call may succeed. What is not implemented stays so."""
    if (status == 424 and PARAMETER.search(words)) or (status == 498 and _BAD_TOKEN.search(words)):
        return False
    if status in _REASONS or (status >= 500 and status != 501):
        return True
    is_refusal = status in (401, 402, 404, 405) or PARAMETER.search(words) or _OF_THE_ACCOUNT.search(words)
    return 400 <= status < 500 and not is_refusal and _NOT_NOW.search(words) is not None


def _general(status: int, error: ErrorBody) -> str:
    if error.is_page and not _may_pass(status):
        return "a web page instead of a reply"
    if status in _REASONS and _may_pass(status, error.message):
        return _REASONS[status]
    return "an error of the service" if status >= 500 else "the service refuses"


def responses_only(endpoint: Endpoint, said: str) -> ModelError:
    """The error where a model is not asked by chat completions."""
    problem = f"{endpoint.model!r} at {endpoint.host} only answers at /responses, which medfact does not use."
    return ModelError(and_says(problem, said), "Choose a model that takes chat completions.")


def _refusal(
    status: int, reason: str, error: ErrorBody, words: str, endpoint: Endpoint, fatal: ModelError | None
) -> CallFailure:
    """A refusal that lasts: of a parameter, of all prompts, or of this one."""
    action = Action.FAIL_PROMPT if fatal is None else Action.END_RUN
    said = endpoint.scrubbed(error.message)
    lasting = status in (401, 402, 429)
    failure = CallFailure(
        action,
        reason,
        fatal or _if_all(status, error, said, endpoint),
        at_first=not lasting,
        unexplained=fatal is None and not error.is_page and words == error.message and not TOO_LONG.search(words),
    )
    names_parameter = PARAMETER.search(words) or error.parameter or TOO_LONG.search(words)
    may_name_one = fatal is None and status in (400, 422)
    if lasting or error.is_page or not (names_parameter or may_name_one):
        return failure
    return replace(failure, action=Action.CHANGE_PARAMETERS, otherwise=action, message=words, parameter=error.parameter)


def _is_filtered(status: int, codes: Sequence[str], words: str) -> bool:
    """Whether a filter holds this prompt back: the service has read it, and says no more than that."""
    if status in (401, 402, 404, 429) or _OF_THE_ACCOUNT.search(words):
        return False
    return any(map(_FILTERED_CODES.search, codes)) or _FILTERED.search(words) is not None


def _fatal(status: int, error: ErrorBody, words: str, endpoint: Endpoint) -> ModelError | None:
    """The error that ends the run, where every other prompt would meet it too."""
    host, codes, said = endpoint.host, set(error.codes), endpoint.scrubbed(error.message)
    if status == 402 or codes & _NO_MONEY or (status != 429 and _NO_MONEY_WORDS.search(words)):
        return ModelError(
            and_says(f"The quota at {host} is used up.", said), "Add credit there or use another key, then resume the run."
        )
    if status == 401 and endpoint.key == NO_KEY:
        return no_key(host)
    if status == 401 or (status == 498 and _BAD_TOKEN.search(words)):
        return ModelError(and_says(f"{host} rejected this key.", said), "Check it, or use another one.")
    if status != 429 and _is_no_model(status, codes, words, endpoint.model):
        return ModelError(
            and_says(f"{host} has no model {endpoint.model!r}.", said), "Check its name, and whether the key may use it."
        )
    if status in (404, 405):
        return wrong_address(host, said)
    if 300 <= status < 400:
        return ModelError(f"{host} redirects calls to another address.", "If you trust that address, use it as the base URL.")
    return None


def _is_no_model(status: int, codes: Collection[str], words: str, model: str) -> bool:
    """Whether the model's name is what is wrong."""
    if _NO_MODEL_CODES.intersection(codes):
        return True
    if PARAMETER.search(words):
        return False
    named = status == 404 and ("model" in words.lower() or model.lower() in words.lower())
    return named or (status in (400, 404, 422) and _NO_MODEL.search(words) is not None)


def _if_all(status: int, error: ErrorBody, said: str, endpoint: Endpoint) -> ModelError | None:
    """The error that ends the run if all first calls fail so; None where nothing is known but the service's own words."""
    if error.is_page:
        title = f": {said}" if said else ""
        problem = f"{endpoint.host} answers with a web page (HTTP {status}){title}."
        return ModelError(problem, "Check the base URL, and any firewall on the way.")
    if status == 403:
        problem = f"{endpoint.host} does not let this key use {endpoint.model!r}."
        return ModelError(and_says(problem, said), "Check the key's permissions and region.")
    return None
