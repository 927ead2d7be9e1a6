"""One model in several languages: runs that asked it the same facts in the same way but for the language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """A model's runs in several languages."""

    model: str
    runs: dict[str, str]  # language → id of its run
    figures: OverLanguages
    in_english: dict[str, tuple[int, int]]  # language but English → readable replies in English, and all readable ones

    def record(self) -> dict[str, Any]:
        """As JSON: an entry of the key `over_languages` of `compare RUN RUN --json`."""
        figures = self.figures
        return {
            "model": self.model,
            "runs": self.runs,
            "facts": figures.facts,
            "right_in_all": record_of(figures.everywhere),
            "right_in": record_of(figures.each),
            "right_in_both": [{"languages": list(couple), **record_of(share)} for couple, share in figures.couples.items()],
            "right_only_in": record_of(figures.alone),
            f"less_{figures.languages[0]}": _differences(figures.less),
            "by_relation": {relation: _differences(contrasts) for relation, contrasts in figures.by_relation.items()},
            "by_variant": record_of(figures.by_variant),
            "consistent": record_of(figures.consistent),
            "replies_in_english": {language: {"number": n, "of": total} for language, (n, total) in self.in_english.items()},
        }


def _differences(contrasts: Mapping[str, Contrast]) -> dict[str, dict[str, Any]]:
    names = ("first", "less", "low", "high", "low_all", "high_all", "n", "p", "p_holm")
    records = {language: record_of(contrast) for language, contrast in contrasts.items()}
    return {
        language: {"difference": record["value"], **{name: record[name] for name in names}}
        for language, record in records.items()
    }


def title(language: str) -> str:
    """Name of a language."""
    return language_names().get(language, language)


def in_languages(sides: Sequence[Side], store: Store) -> tuple[InLanguages, ...]:
    """The models among these runs that were asked in two languages or more; of one language the first run counts."""
    alike: dict[tuple[str, ...], dict[str, Side]] = {}
    for side in sides:
        alike.setdefault(_but_for_language(side.run), {}).setdefault(side.run.spec.asked_in, side)
    return tuple(_in_languages(by_language, store) for by_language in alike.values() if len(by_language) > 1)


def _but_for_language(run: Run) -> tuple[str, ...]:
    """Key of a group of runs: the model and its statements. The pools are of one method, each in its language."""
    spec = run.spec
    names = ("protocol", "seed", "shot_seed", "demonstrations", "retrieval", *(name for name in COMPARED if name != "asked_in"))
    pool = "" if spec.asked_in != ENGLISH else spec.pool or spec.question or ""
    return (run.model, run.dataset_fingerprint, pool, *(str(getattr(spec, name)) for name in names))


def _in_languages(by_language: dict[str, Side], store: Store) -> InLanguages:
    sides = {language: by_language[language] for language in sorted(by_language, key=[*language_names()].index)}
    return InLanguages(
        model=next(iter(sides.values())).run.model,
        runs={language: side.run.run for language, side in sides.items()},
        figures=over_languages({language: side.rows for language, side in sides.items()}),
        in_english={language: replies_in_english(side.run, store) for language, side in sides.items() if language != ENGLISH},
    )


def replies_in_english(run: Run, store: Store) -> tuple[int, int]:
    """Numbers of readable replies of a run in another language: those in English, and all of them."""
    read = load_language(run.spec.asked_in).asking.read
    replies = (item.answer.raw for item in store.answers.asked(run.run) if item.answer is not None and item.answer.raw)
    languages = [read(reply).language for reply in replies]
    return languages.count(ENGLISH), sum(language is not None for language in languages)
