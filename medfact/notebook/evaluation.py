"""Evaluating a model in a notebook, and the run that it gives."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from markupsafe import Markup

from medfact.datasets.text import one_line
from medfact.errors import Mistake
from medfact.exchange.rows import answer_row
from medfact.extras import named_if_missing
from medfact.metrics.records import ESTIMANDS, LIKE
from medfact.models import FUNCTION, Model, check_spec, key_of_named, load_model, typed_model
from medfact.notebook.function import Function, function_model
from medfact.notebook.report import Scores
from medfact.notebook.source import Facts, frame_of, held_in, load_facts, spec_of
from medfact.results.report import report_of
from medfact.results.wording import marked
from medfact.runs.checks import check_settings, hosts_of_own_data
from medfact.runs.events import AnswersSaved, Event, Failed, Finished, Loading, Noted, PushesSaved, Started
from medfact.runs.pool import decoded_as_published
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Run, Store

if TYPE_CHECKING:
    import pandas

BATCH = 64
"""Prompts that a function gets at once, at most."""


class Evaluated:
    """A run of the database, as it stands now."""

    def __init__(self, run: str, store: Store) -> None:
        self.id = run
        self.store = store

    @property
    def record(self) -> Run:
        """What the database holds of it, but for its answers."""
        return self.store.run(self.id)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the run should know of its facts and its model."""
        return tuple(self.record.notes)

    def answers(self) -> pandas.DataFrame:
        """A row an answer, right, wrong, unreadable and failed ones: the columns of `medfact answers`."""
        record = self.record
        return frame_of(answer_row(asked, record) for asked in self.store.answers.asked(self.id) if asked.answer is not None)

    def report(self, estimand: str = LIKE) -> Scores:
        """Its scores. estimand: what intervals are about: "like", facts like these, or "these", these and no others."""
        if estimand not in ESTIMANDS:
            raise Mistake(f"There is no estimand {estimand!r}.", f"There is: {', '.join(ESTIMANDS)}.")
        return Scores((report_of(self.store, self.record, estimand),), self.store)

    def resume(self, model: Function | None = None, *, progress: bool = True, key: str | None = None) -> Evaluated:
        """Asks what has no answer yet, and what failed. model: the function that answers, where the run is a function's.

        Raises as `evaluate` does.
        """
        record = self.record
        if model is None and record.model.startswith(FUNCTION):
            check_spec(record.model)
        if model is not None:
            _check_function(model, record.model)
        load = _loader(model, BATCH) if model is not None else load_model
        _follow(answer(self.id, self.store, load=load, key=key), progress)
        return self

    def __repr__(self) -> str:
        record = self.record
        model = marked(record.model, record.imported)
        return one_line(f"<run {self.id[:8]}: {model}, {record.dataset}, {record.state}>")

    def _repr_html_(self) -> str:
        record = self.record
        named = Markup("<p>Run <code>{}</code>: {}</p>").format(self.id, record.state)
        return named + self.report()._repr_html_()


def evaluate(
    model: str | Function,
    facts: str | Path | pandas.DataFrame | Facts = "clinical-core",
    *,
    db: str | None = None,
    progress: bool = True,
    batch: int = BATCH,
    key: str | None = None,
    send_facts: bool = False,
    **settings: Any,
) -> Evaluated:
    """Asks a model whether each statement of the facts is true, and keeps every answer on disk. The run is on the page, too.

    Args:
        model: `medfact-tiny`, `hf:REPOSITORY-OR-FOLDER`, `openai:MODEL` and other named services, `NAME@https://host/v1` or
            `baseline:NAME`; or a function that takes a list of prompts and returns a list of replies: texts, True, False, or
            None where there is none. Only a notebook can resume the run of a function.
        facts: as in `load_facts`.
        db: URL of the database (default: the same as the page's and the command line's).
        progress: whether to show a progress bar. batch: prompts that a function gets at once, at most.
        key: of a service (default: from the environment). send_facts: agrees to send your own facts to a service elsewhere.
        settings: fields of `medfact.spec.RunSpec`, such as limit=100 (true facts), shots=0, seed=1, protocol="tpeval",
            service={"base_url": "http://127.0.0.1:8000/v1"}, placement={"device": "cpu"}.

    Raises:
        MedfactError: a setting, the facts or the model cannot be used; or the run ended early: its answers are kept.
    """
    _check_asked(model, batch)
    load = load_model if isinstance(model, str) else _loader(model, batch)
    name, address = typed_model(model) if isinstance(model, str) else (function_model(model, batch).spec, None)
    if isinstance(model, str):
        check_spec(name)
    given = load_facts(facts)
    spec = spec_of(name, given, settings)
    spec = replace(spec, service=replace(spec.service, base_url=address)) if address else spec
    if isinstance(given_service := settings.get("service", {}), Mapping) and "temperature" not in given_service:
        spec = decoded_as_published(spec)
    if spec.reuse and not isinstance(model, str):
        raise Mistake("A function's answers cannot be reused: nobody knows what else it depends on.", "Leave out reuse=True.")
    check_settings(spec)
    _check_consent(spec, send_facts)
    store = Store(db)
    run = start(spec, store, given.collection, held_in(spec, store))
    _follow(answer(run, store, load=load, key=key or key_of_named(spec.model, spec.service)), progress)
    return Evaluated(run, store)


def open_run(run: str, db: str | None = None) -> Evaluated:
    """A run by its id, or the beginning of it. Raises UnknownName where there is none, and Mistake where there are several."""
    if not isinstance(run, str):
        raise Mistake(f"{_a(run)} is not the id of a run.", "Give the id as a text, or the beginning of it.")
    store = Store(db)
    return Evaluated(store.run(run).run, store)


def _a(value: object) -> str:
    """What a value is, at the beginning of a sentence: "A value of type int", "None"."""
    return "None" if value is None else f"A value of type {type(value).__name__}"


def _check_asked(model: object, batch: object) -> None:
    """Raises Mistake where a model is neither a name nor a function, or a batch is no number of prompts."""
    if not isinstance(model, str) and not callable(model):
        raise Mistake(f"{_a(model)} is not a model.", "Give a name, such as medfact-tiny, or a function.")
    if not isinstance(batch, int) or isinstance(batch, bool):
        raise Mistake(f"batch={batch!r} is not a whole number.", "Give a whole number, such as 64.")
    if batch < 1:
        raise Mistake(f"batch={batch} is too small.", "A function gets at least one prompt at once.")


def _check_function(model: Function, asked: str) -> None:
    """Raises Mistake where what is given cannot go on with a run of the model `asked`: its answers would stand in that name."""
    if not asked.startswith(FUNCTION):
        raise Mistake(f"This run asks {asked}, and no function can answer for it.", "Leave the function out: resume().")
    if not callable(model):
        raise Mistake(f"This run asks a function, and {model!r} is none.", "Give the function: resume(my_model).")


def _loader(function: Function, batch: int) -> Callable[..., Model]:
    return lambda spec, **_: function_model(function, batch)


def _check_consent(spec: RunSpec, agreed: bool) -> None:
    """Raises Mistake where a person's own facts or documents would go to a service elsewhere without their consent."""
    if (hosts := sorted(hosts_of_own_data(spec))) and not agreed:
        raise Mistake(
            f"Your facts go to {', '.join(hosts)}. They must hold no patient data.", "If you agree, add send_facts=True."
        )


def _follow(events: Iterator[Event], progress: bool) -> None:
    """Follows a run to its end under a progress bar, and closes it whatever happens. Raises what ended it early."""
    from tqdm.auto import tqdm

    asking = closing(cast("Generator[Event, None, None]", events))  # left suspended, it would go on beating
    with asking, named_if_missing(), tqdm(disable=not progress, unit="statement") as bar:
        for event in events:
            match event:
                case Started():
                    bar.reset(event.statements)
                    bar.update(event.answered)
                case Loading() | PushesSaved():
                    bar.set_description(event.step[:60])
                case AnswersSaved():
                    bar.set_description("asked")
                    bar.update(len(event.answers))
                case Noted():
                    bar.write(f"note: {event.note}")
                case Finished():
                    bar.set_description(event.state)
                case Failed():
                    raise event.error
