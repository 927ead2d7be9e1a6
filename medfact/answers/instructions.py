"""What a model is told to write: the papers' instructions word for word, and our own for a second and a third attempt."""

from __future__ import annotations

from medfact.answers.formats import QuestionFormat

REPHRASE, AGAIN, LAST = "rephrase", "rephrase-again", "rephrase-last"
LLM_EVAL, EIGHT = "llmeval", 8
"""LLMEval, and how many statements it writes about a fact."""

_PARAPHRASE = (
    "Please paraphrase the following statement to present the same concept in a different way. DO NOT change the basic "
    "sentence structure. Directly output the paraphrased statement without other text. Statement: {statement}"
)
"""PretextTrans, Appendix B, word for word."""

_EIGHT = (
    "Based on the given knowledge triplet, generate 8 statement to express the underlying knowledge in different ways. Output "
    "one statement per line. Directly output the statements without other text. Knowledge triplet: {statement}"
)
"""PretextTrans, Appendix D, word for word."""

_KEEP = "\nKeep all medical terms exactly as they are. Write one sentence, without quotation marks."
_KEEP_ALL = _KEEP + " Change as few words as you can: add nothing, leave nothing out, and keep every “not”."

INSTRUCTIONS = {
    REPHRASE: QuestionFormat(question=_PARAPHRASE, full_stop=True, max_tokens=128, writes=True),
    AGAIN: QuestionFormat(question=_PARAPHRASE + _KEEP, full_stop=True, max_tokens=128, writes=True),
    LAST: QuestionFormat(question=_PARAPHRASE + _KEEP_ALL, full_stop=True, max_tokens=128, writes=True),
    LLM_EVAL: QuestionFormat(question=_EIGHT, full_stop=True, max_tokens=768, writes=True),
}
"""Name → instruction. Decoding is greedy, as in the paper: each attempt asks in other words, or it would read the same."""
