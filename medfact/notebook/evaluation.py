"""Evaluation of a model or a Python function in a notebook, its run, and runs beside each other."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from markupsafe import Markup

from medfact.datasets.text import one_line
from medfact.errors import Mistake, ModelError
from medfact.exchange.rows import answer_row
from medfact.extras import not_installed_errors
from medfact.metrics.records import ESTIMANDS, LIKE
from medfact.models import FUNCTION, Completion, Model, Prompt, check_spec, key_of_named, load_model, typed_model
from medfact.notebook.report import NOT_FOR_USE, Scores, figure_of
from medfact.notebook.source import Facts, frame_of, held_in, load_facts, spec_of
from medfact.results.compare import METRICS, Comparison, Side, comparison, sides_of
from medfact.results.report import report_of
from medfact.results.sections import SECTIONS, Beside, Figures
from medfact.results.sections.beside import beside_of
from medfact.results.text import comparison_text, names_in_a_terminal
from medfact.results.wording import TOO_FEW, counted, marked, points
from medfact.runs.checks import check_settings, hosts_of_own_data
from medfact.runs.events import AnswersSaved, Event, Failed, Finished, Loading, Noted, PushesSaved, Started
from medfact.runs.pool import decoded_as_published
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Run, Store

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects

    from medfact.models import ModelInfo


Reply = str | bool | None
Function = Callable[[list[str]], Sequence[Reply]]
"""Replies to prompts, one each and in their order: a text; True or False; or None where there is none, to be asked again."""

NO_REPLY = "the function gave no reply"


@dataclass(frozen=True)
class FunctionModel:
    """A function as a model. batch: most prompts that it gets at once."""

    spec: str
    function: Function
    batch: int
    info: ModelInfo
    chat: bool = False

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Raises ModelError where the function fails, or gives something else than a reply to each prompt."""
        for first in range(0, len(prompts), self.batch):
            texts = [str(prompts[place].content) for place in range(first, min(first + self.batch, len(prompts)))]
            for place, reply in enumerate(self._replies(texts), first):
                yield place, self._completion(reply)

    def _replies(self, texts: list[str]) -> Sequence[Reply]:
        try:
            replies = self.function(list(texts))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"[:300]
            raise ModelError(f"{self.spec} failed ({reason}).", "Answers so far are kept: mend it and `resume`.") from error
        unordered = isinstance(replies, Mapping | Set)  # what they iterate over are no replies, or in no order
        if isinstance(replies, str) or unordered or not hasattr(replies, "__len__") or not hasattr(replies, "__iter__"):
            kind = type(replies).__name__
            raise ModelError(f"{self.spec} returned {kind}, not a list.", "Return a list with one reply a prompt.")
        if len(replies) != len(texts):
            raise ModelError(
                f"{self.spec} returned {len(replies)} replies to {len(texts)} prompts.",
                "Return one reply a prompt, in their order.",
            )
        return replies

    def _completion(self, reply: Any) -> Completion:
        if reply is None:
            return Completion(None, failure=NO_REPLY)
        if isinstance(reply, str):
            return Completion(reply)
        if isinstance(reply, bool) or type(reply).__name__ in {"bool", "bool_"}:  # numpy's among them
            return Completion(str(bool(reply)))
        kind = type(reply).__name__
        raise ModelError(f"{self.spec} gave a reply of type {kind}.", "A reply is a text, True, False, or None for none.")


def function_model(function: Function, batch: int) -> FunctionModel:
    """The model of a function. Its revision is a hash of its source, where that can be read."""
    name = getattr(function, "__name__", type(function).__name__).strip("<>")
    try:
        revision = hashlib.sha256(inspect.getsource(function).encode()).hexdigest()[:16]
    except (OSError, TypeError):
        revision = "unknown"
    note = "It is a Python function of a notebook: only there can the run be resumed, with `resume(function)`."
    return FunctionModel(f"{FUNCTION}{name}", function, batch, {"revision": revision, "decoding": {}, "notes": (note,)})


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
    with asking, not_installed_errors(), tqdm(disable=not progress, unit="statement") as bar:
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


class Compared:
    """Two to eight runs on the facts that they share."""

    def __init__(self, sides: list[Side], store: Store) -> None:
        self._sides, self._store = sides, store

    @cached_property
    def comparison(self) -> Comparison:
        """What the runs share, in what they differ, and their paired differences."""
        return comparison(self._sides)

    @cached_property
    def scores(self) -> Scores:
        """The scores of each run by itself, over all its facts."""
        return Scores(tuple(report_of(self._store, side.run) for side in self._sides), self._store)

    def _beside(self, names: dict[str, str]) -> Beside:
        return beside_of(self._store, self._sides, names)

    def frame(self) -> pandas.DataFrame:
        """A row a pair and score: a, b, metric, difference (a − b, a share), low, high, p, p_holm, only_a, only_b, n."""
        return frame_of(self.comparison.record()["pairs"])

    def figure(self, name: str = "ways of asking") -> plotly.graph_objects.Figure:
        """A figure of all the runs; see `Scores.figure`."""
        if name not in SECTIONS or SECTIONS[name].tab != "compare":  # what runs show beside each other takes long
            return self.scores.figure(name)
        names = {one.run: one.name for one in self.comparison.runs}
        return figure_of(Figures(self.scores.named, beside=self._beside(names)), name)

    def __str__(self) -> str:
        beside = self._beside(names_in_a_terminal(self.comparison))
        return comparison_text(self.comparison, list(self.scores.reports), beside)

    def __repr__(self) -> str:
        return f"<{len(self._sides)} runs on {counted(self.comparison.shared_facts, 'shared fact')}>"

    def _repr_html_(self) -> str:
        names = {one.run: one.name for one in self.comparison.runs}
        rows = Markup("").join(_row(pair, names) for pair in self.comparison.record()["pairs"])
        head = Markup("").join(
            Markup("<th>{}</th>").format(title)
            for title in ("a", "b", "score", "a − b, points", "95% interval, for all pairs", "n")
        )
        about = f"{counted(self.comparison.shared_facts, 'shared fact')}. {NOT_FOR_USE}"
        table = Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table><p>{}</p>").format(head, rows, about)
        return table


def _row(pair: dict[str, Any], names: dict[str, str]) -> Markup:
    low, high = pair["low_all"], pair["high_all"]
    bounds = TOO_FEW if low is None else f"{points(low)} to {points(high)}"
    difference = "no value" if pair["difference"] is None else points(pair["difference"])
    cells = [names[pair["a"]], names[pair["b"]], METRICS[pair["metric"]], difference, bounds, f"{pair['n']:,}"]
    return Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells))


def compare(*runs: Evaluated | str, db: str | None = None) -> Compared:
    """Compares two to eight runs on the facts they share. runs: as `evaluate` gives them, or their ids in the database `db`.

    Raises Mistake where they are too few or too many, or of different databases, and UnknownName where there is no such run.
    """
    opened = [run if isinstance(run, Evaluated) else open_run(run, db) for run in runs]
    if not opened:
        raise Mistake("No run is given.", "Compare 2 to 8.")
    stores = [run.store for run in opened]
    if len({store.url for store in stores}) > 1:
        raise Mistake("The runs are in different databases.", "Export one of them, and import it beside the other.")
    return Compared(sides_of(stores[0], [run.id for run in opened]), stores[0])
