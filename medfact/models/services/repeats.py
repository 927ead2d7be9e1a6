"""What several calls for one prompt come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medfact.models.prompt import LENGTH, Completion, Prompt, Served, is_settled


def combined(replies: Sequence[Completion], prompt: Prompt) -> Completion:
    """One completion from repeated answers: the text of the first, and P(True) from all that can be read.

    With t True and f False ones, P(True) is (t + 1/2) / (t + f + 1). `p_mass` is the share of replies that can be read. The
    completion has failed if all calls did.
    """
    answered = [reply for reply in replies if reply.text is not None]
    served = total([reply.served for reply in replies if reply.served is not None])
    if not answered:
        return Completion(None, failure=replies[0].failure, served=served)
    answers = [prompt.reads(reply.text or "") for reply in answered if _is_whole(reply)]
    true, false = answers.count(True), answers.count(False)
    p_true = (true + 0.5) / (true + false + 1) if true + false else None
    return Completion(answered[0].text, p_true, (true + false) / len(answered), cut=answered[0].cut, served=served)


def _is_whole(reply: Completion) -> bool:
    """Whether a reply can be read: one cut off for its length only where its opening settles the answer."""
    return reply.cut is None or (reply.cut == LENGTH and is_settled(reply.text or ""))


def total(served: Sequence[Served]) -> Served | None:
    """What a service reported of several calls; None where it reported nothing."""
    if not served:
        return None
    return replace(
        next((one for one in served if one.model), served[0]),
        prompt_tokens=_sum([one.prompt_tokens for one in served]),
        completion_tokens=_sum([one.completion_tokens for one in served]),
        attempts=sum(one.attempts for one in served),
        wasted_tokens=sum(one.wasted_tokens for one in served),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
