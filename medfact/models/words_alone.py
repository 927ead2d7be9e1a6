"""Word matching: it judges a fact by the names in it, without any medicine.

`embedding` calls a fact true if head and tail are alike under a small sentence encoder; `tail`, if its tail is true of many
heads. What they get right needs no knowledge, so a model must be right where they are wrong. Their threshold is set on the
facts kept aside. A statement that denies a fact gets the opposite answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from medfact.errors import Mistake
from medfact.facts import KnowledgeBase
from medfact.models.encoder import ENCODER, finite, sentence_encoder
from medfact.models.prompt import Completion, Prompt
from medfact.models.providers import LoadOptions, ModelInfo, Provider
from medfact.models.services.policy import check_encoder_source

TAIL, EMBEDDING = "baseline:tail", "baseline:embedding"
"""The second may be followed by a colon and a sentence encoder: a repository, or a folder."""

Triplet = tuple[str, str, str]
Likeness = Callable[[Sequence[Triplet]], Sequence[float]]
"""How likely (head, relation, tail) look to be true; higher is more."""


@dataclass(frozen=True)
class WordsAlone:
    """Word matching: true where the names look alike enough."""

    spec: str
    likeness: Likeness
    threshold: float
    info: ModelInfo
    chat: bool = False

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        likeness = self.likeness([prompt.triplet for prompt in prompts])
        for index, (prompt, value) in enumerate(zip(prompts, likeness, strict=True)):
            yield index, Completion("True" if (value > self.threshold) != prompt.denied else "False")


def load_words_alone(spec: str, options: LoadOptions) -> WordsAlone:
    """The reader of a spec: `baseline:tail`, `baseline:embedding`, or `baseline:embedding:<repository or folder>`.

    Raises Mistake if no facts are kept aside to set the threshold on, and ModelError if the encoder cannot be loaded.
    """
    aside, encoder = options.aside(), _encoder_in(spec)
    examples = [fact for fact in aside.facts if fact.tail is not None] if aside else []
    if aside is None or len({fact.positive for fact in examples}) < 2:
        raise Mistake(
            f"{spec} sets its threshold on facts kept aside, and there are none.",
            "Choose a method that keeps facts aside (medfact, pretexttrans, tpeval), or another model.",
        )
    by_tail = spec.partition(":")[2].partition(":")[0] == "tail"
    likeness = _by_tail(aside.known) if by_tail else encoder_likeness(encoder)
    values = np.array(likeness([(fact.head, fact.relation, fact.tail or "") for fact in examples]))
    threshold = best_threshold(values, np.array([fact.positive for fact in examples]))
    decoding = {"threshold": round(threshold, 6), "facts_aside": len(examples)}
    return WordsAlone(spec, likeness, threshold, {"revision": spec.partition(":")[2], "decoding": decoding})


def best_threshold(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], positive: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> float:
    """The value above which most of these facts are true and below which most are false; the middle one of the best."""
    steps = np.unique(values)
    places = np.concatenate([[steps[0] - 1], (steps[1:] + steps[:-1]) / 2, [steps[-1] + 1]])
    right = ((values > places[:, None]) == positive).sum(axis=1)
    best = places[right == right.max()]
    return float(best[len(best) // 2])


def _by_tail(known: KnowledgeBase) -> Likeness:
    return lambda triplets: [known.share_of_heads(relation, tail) for _, relation, tail in triplets]


def encoder_likeness(name: str) -> Likeness:
    """The cosine of head and tail under a sentence encoder: a repository, a folder, or "" for the usual. Raises ModelError."""
    encoder = sentence_encoder(name or ENCODER)

    def likeness(triplets: Sequence[Triplet]) -> Sequence[float]:
        names = sorted({name for head, _, tail in triplets for name in (head, tail)})
        vectors = finite(encoder.encode(names, normalize_embeddings=True, show_progress_bar=False), name)
        place = {name: number for number, name in enumerate(names)}
        return [float(vectors[place[head]] @ vectors[place[tail]]) for head, _, tail in triplets]

    return likeness


def _encoder_in(spec: str) -> str:
    """The encoder that a spec names; "" for the usual one."""
    return spec.partition(":")[2].partition(":")[2]


def _check_encoder(spec: str) -> None:
    if spec not in (TAIL, EMBEDDING):
        check_encoder_source(_encoder_in(spec).strip())


WORDS_ALONE = Provider(
    prefixes=(f"{TAIL}:", f"{EMBEDDING}:"),
    load=load_words_alone,
    ready=(TAIL,),
    titles={TAIL: "how often the finding is true", EMBEDDING: "word matching"},
    explained={
        TAIL: "Answers by how often the finding is true of other conditions; it reads no condition.",
        EMBEDDING: "Calls a fact true if the names of condition and finding look alike; it knows no medicine.",
    },
    title=str,
    patterns=(EMBEDDING,),
    check_spec=_check_encoder,
    names_source=lambda spec: spec not in (TAIL, EMBEDDING),
    is_rule=True,
    reads_aside=True,
)
