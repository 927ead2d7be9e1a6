"""One model in several languages: runs that asked it the same facts in the same way but for the language, told together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from medfact.assets import ENGLISH, language_names
from medfact.languages import load_language
from medfact.metrics import record_of
from medfact.metrics.comparison import Contrast
from medfact.metrics.over_languages import OverLanguages, over_languages
from medfact.results.report import Side
from medfact.spec import COMPARED
from medfact.store import Run, Store


@dataclass(frozen=True)
class InLanguages:
    """A model's runs in several languages. runs: language → its run's id; found: over all of them.

    in_english: language → how many of its readable replies answered in English instead, and of how many; not of English itself.
    """

    model: str
    runs: dict[str, str]
    found: OverLanguages
    in_english: dict[str, tuple[int, int]]

    def record(self) -> dict[str, Any]:
        """As JSON: an entry of the key `over_languages` of `compare RUN RUN --json`."""
        of = self.found
        return {
            "model": self.model,
            "runs": self.runs,
            "facts": of.facts,
            "right_in_all": record_of(of.everywhere),
            "right_in": {language: record_of(one) for language, one in of.each.items()},
            "right_in_both": [{"languages": list(couple), **record_of(one)} for couple, one in of.couples.items()],
            "right_only_in": {language: record_of(one) for language, one in of.alone.items()},
            f"less_{of.languages[0]}": {language: _difference(one) for language, one in of.less.items()},
            "by_relation": {
                relation: {language: _difference(one) for language, one in by.items()}
                for relation, by in of.by_relation.items()
            },
            "by_variant": {
                variant: {language: record_of(one) for language, one in by.items()} for variant, by in of.by_variant.items()
            },
            "consistent": record_of(of.consistent),
            "replies_in_english": {language: {"number": n, "of": of_all} for language, (n, of_all) in self.in_english.items()},
        }


def _difference(one: Contrast) -> dict[str, Any]:
    figures = record_of(one)
    names = ("first", "less", "low", "high", "low_all", "high_all", "n", "p", "p_holm")
    return {"difference": one.value, **{name: figures[name] for name in names}}


def title(language: str) -> str:
    """What a language is called."""
    return language_names().get(language, language)


def in_languages(sides: Sequence[Side], store: Store) -> tuple[InLanguages, ...]:
    """The models among these runs that were asked in two languages or more; of one language the first run counts."""
    alike: dict[tuple[str, ...], dict[str, Side]] = {}
    for side in sides:
        alike.setdefault(_but_for_language(side.run), {}).setdefault(side.run.spec.asked_in, side)
    return tuple(_told(of, store) for of in alike.values() if len(of) > 1)


def _but_for_language(run: Run) -> tuple[str, ...]:
    """What runs of one group share: the model and what it was asked. The pools are of one method, each in its language."""
    spec = run.spec
    names = ("protocol", "seed", "shot_seed", "demonstrations", "retrieval", *(name for name in COMPARED if name != "asked_in"))
    own = "" if spec.asked_in != ENGLISH else spec.pool or spec.question or ""
    return (run.model, run.dataset_fingerprint, own, *(str(getattr(spec, name)) for name in names))


def _told(by_language: dict[str, Side], store: Store) -> InLanguages:
    order = sorted(by_language, key=[*language_names()].index)
    sides = {language: by_language[language] for language in order}
    return InLanguages(
        model=next(iter(sides.values())).run.model,
        runs={language: side.run.run for language, side in sides.items()},
        found=over_languages({language: side.rows for language, side in sides.items()}),
        in_english={language: replies_in_english(side.run, store) for language, side in sides.items() if language != ENGLISH},
    )


def replies_in_english(run: Run, store: Store) -> tuple[int, int]:
    """How many readable replies of a run in another language answer in English, and how many are readable."""
    read = load_language(run.spec.asked_in).asking.read
    languages = [read(reply).language for reply in _replies(run, store)]
    return languages.count(ENGLISH), sum(language is not None for language in languages)


def _replies(run: Run, store: Store) -> Iterator[str]:
    for item in store.answers.asked(run.run):
        if item.answer is not None and item.answer.raw:
            yield item.answer.raw
