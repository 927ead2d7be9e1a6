"""Facts for a notebook: a bundled data set, a file, or a data frame; and the statements that they give."""

from __future__ import annotations

import dataclasses
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from medfact.datasets import Collection, Held, bundled_names, load
from medfact.datasets.cells import as_text
from medfact.datasets.collection import summary
from medfact.datasets.columns import REQUIRED
from medfact.datasets.hub import PREFIX
from medfact.datasets.table_writer import write_table
from medfact.errors import FactsError, MissingColumns, Mistake, UnknownName
from medfact.exchange.rows import fact_rows, statement_rows
from medfact.extras import not_installed_errors
from medfact.facts import digest
from medfact.models import Placement, ServiceSettings
from medfact.models.local.placement import bytes_of
from medfact.reviews.verdicts import held, opinions
from medfact.runs.plan import NOTHING_HELD, plan
from medfact.runs.pool import asked_as_written
from medfact.setting import checked_value, settings_by_name
from medfact.spec import RunSpec
from medfact.store import Store, exists, home

if TYPE_CHECKING:
    import pandas

FRAMES = "notebook"
"""The folder of MEDFACT_HOME where the facts of data frames are kept, so that their runs can be resumed and repeated."""

_NESTED = {"placement": Placement, "service": ServiceSettings}
_FACTS = {"dataset", "facts", "columns"}
_KNOWN = {name for name, one in settings_by_name(RunSpec).items() if one.group} - _FACTS | _NESTED.keys()
"""The settings of a run that a notebook names; its facts are no setting there."""


@dataclass(frozen=True)
class Facts:
    """Facts to evaluate. collection: what was read. source: the settings of a run that name it."""

    collection: Collection
    source: Mapping[str, Any] = field(repr=False)

    def __len__(self) -> int:
        """The number of true facts."""
        return sum(fact.positive for fact in self.collection.facts)

    def __repr__(self) -> str:
        return f"<{len(self)} true facts of {self.collection.name}>"

    def frame(self) -> pandas.DataFrame:
        """A row a fact, with the columns of `medfact facts` but for its role."""
        return frame_of(fact_rows(self.collection.facts))

    @property
    def problems(self) -> list[str]:
        """What is wrong with rows of the file: a line for each kind of problem."""
        return [*self.collection.notes, *summary(self.collection.problems)]

    def _repr_html_(self) -> str:
        listed = Markup("").join(Markup("<li>{}</li>").format(problem) for problem in self.problems)
        relations = ", ".join(sorted({fact.relation for fact in self.collection.facts}))
        return Markup("<p><b>{}</b>: {} true facts ({})</p><ul>{}</ul>").format(
            self.collection.name, len(self), relations, listed
        )


def load_facts(source: str | Path | pandas.DataFrame | Facts = "clinical-core", **columns: str) -> Facts:
    """The facts of a source.

    Args:
        source: the name of a bundled data set (`medfact datasets` lists them); a file or folder that `medfact run --facts`
            reads, `hf:NAME` among them; or a data frame with the columns head, relation and tail, a row a fact.
        columns: names of your columns, such as head="disease".

    Raises:
        FactsError: it cannot be read as facts; says which row or column.
        UnknownName: there is no such data set.
        NotInstalled: what it needs is not installed.
    """
    if isinstance(source, Facts):
        return source
    if not isinstance(source, str | Path):
        return _read_frame(_kept(source), columns)
    if isinstance(source, str) and source in bundled_names():
        if columns:
            raise Mistake(f"The data set {source} has the columns that it needs.", "Name columns of your own file only.")
        return _read({"dataset": source})
    elif not str(source).startswith(PREFIX) and not os.path.exists(source):  # False of what is too long for a path, too
        if isinstance(source, Path) or Path(source).suffix or len(Path(source).parts) > 1:
            raise FactsError(f"There is no file or folder {str(source)[:200]!r}.", "Check the path.")
        raise UnknownName("data set or file", source[:200], bundled_names())
    text = str(source) if str(source).startswith(PREFIX) else str(Path(source).resolve())
    return _read({"facts": text, "columns": tuple(columns.items())})


def _read(source: dict[str, Any]) -> Facts:
    with not_installed_errors():
        return Facts(load(RunSpec("", **source)), source)


def _read_frame(file: Path, columns: Mapping[str, str]) -> Facts:
    """The facts of a data frame that is kept in a file. Its errors speak of the data frame: nobody knows the file."""
    try:
        return _read({"facts": str(file.resolve()), "columns": tuple(columns.items())})
    except FactsError as error:
        problem = error.problem.replace(f"{file.name}, row 1:", "the data frame:").replace(file.name, "the data frame")
        hint = error.hint.replace("choose the file again", "give the data frame again")
        if isinstance(error, MissingColumns) and " missing" in problem:
            problem = problem.replace("the file has", "it has")
            named = ", ".join(f'{name}="…"' for name in REQUIRED)
            hint = f"Rename them, or say which of yours they are: load_facts(table, {named})."
        raise FactsError(f"{problem[:1].upper()}{problem[1:]}", hint) from None


def _kept(frame: Any) -> Path:
    """The file in which the facts of a data frame are kept; the same one for the same facts."""
    rows = list(_rows(frame))
    if not rows:
        raise FactsError("The data frame has no rows.", f"It needs the columns {', '.join(REQUIRED)}, and a row a fact.")
    path = home() / FRAMES / f"data-frame-{digest(*(repr(sorted(row.items())) for row in rows))}.jsonl"
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole = path.with_stem(f"{path.stem}-{secrets.token_hex(4)}")
        try:
            write_table(rows, whole)
            os.replace(whole, path)  # a reader finds all rows or no file, whoever else writes
        finally:
            whole.unlink(missing_ok=True)
    return path


def _rows(frame: Any) -> Iterator[dict[str, str | list[str]]]:
    """The rows of a data frame as texts, and lists of texts. Raises FactsError where it is none, or has a column twice."""
    if not hasattr(frame, "iloc") or not hasattr(frame, "columns"):
        kind = type(frame).__name__
        raise FactsError(
            f"Facts cannot be read from {kind} objects.",
            "Give the name of a data set, a file, or a data frame of pandas with the columns head, relation and tail.",
        )
    of_levels = (filter(None, map(str, name)) if isinstance(name, tuple) else [str(name)] for name in frame.columns)
    names = [" ".join(levels) for levels in of_levels]
    if twice := [name for name in names if names.count(name) > 1]:
        raise FactsError(f"The data frame has the column {twice[0]!r} twice.", "Rename one of them.")
    for row in frame.set_axis(names, axis="columns").to_dict("records"):
        yield {name: _cell(cell) for name, cell in row.items()}


def _cell(cell: Any) -> str | list[str]:
    """A cell as text, or as texts where it holds several values."""
    import pandas

    if isinstance(cell, set | frozenset):
        return sorted(map(as_text, cell))
    if isinstance(cell, list | tuple) or getattr(cell, "ndim", None) not in (None, 0):
        return [as_text(value) for value in cell]
    if isinstance(cell, bytes):
        return as_text(cell)
    return "" if not isinstance(cell, Mapping) and pandas.isna(cell) else str(cell)


def spec_of(model: str, facts: Facts, settings: Mapping[str, Any]) -> RunSpec:
    """The spec of a run. settings: fields of `RunSpec`; `placement` and `service` are mappings of their own fields.

    Facts are asked in their own language unless another is set. Raises UnknownName where there is no such setting, and Mistake
    where one cannot have that value.
    """
    for name in settings:
        if name not in _KNOWN:
            raise UnknownName("setting", name, _KNOWN)
    nested = {name: _nested(name, kind, settings[name]) for name, kind in _NESTED.items() if name in settings}
    plain = {
        one.name: checked_value(one, settings[one.name])
        for one in dataclasses.fields(RunSpec)
        if one.name in settings.keys() - nested
    }
    spec = RunSpec(model, **{**facts.source, **plain, **nested})
    return spec if "asked_in" in settings else asked_as_written(spec, facts.collection)


def _nested(name: str, kind: type[Any], given: Any) -> Any:
    fields = dataclasses.fields(kind)
    if isinstance(given, kind):
        given = {one.name: getattr(given, one.name) for one in fields}
    if not isinstance(given, Mapping):
        raise Mistake(f"{name} must be a mapping of its settings.", f"Write it as {name}={{…}}.")
    known = {one.name for one in fields}
    for setting in given:
        if setting not in known:
            raise UnknownName(f"setting of {name}", str(setting), known)
    if kind is Placement and isinstance(given.get("memory"), str):  # such as 8GB
        given = {**given, "memory": bytes_of(given["memory"])}
    return kind(**{one.name: checked_value(one, given[one.name], f"{name}: ") for one in fields if one.name in given})


def held_in(spec: RunSpec, store: Store) -> Held:
    """What reviewers hold of facts, by the database, where a run tests only what they have confirmed."""
    return held(opinions(store.verdicts.log())) if spec.reviewed else NOTHING_HELD


def statements(
    facts: str | Path | pandas.DataFrame | Facts = "clinical-core", *, db: str | None = None, **settings: Any
) -> pandas.DataFrame:
    """The statements of the facts under test, a row each: the columns of `medfact statements`.

    Half of them, or three of four by MKJ's method, are false on purpose; `label` says which. db, settings: as in `evaluate`,
    which asks the same statements: none of a false partner that was rejected. Creates no database. Raises as `evaluate` does.
    """
    given = load_facts(facts)
    spec = spec_of("", given, settings)
    store = Store(db) if exists(db) else None
    planned = (
        plan(spec, given.collection, store.decisions.of_partners(), held_in(spec, store))
        if store
        else plan(spec, given.collection)
    )
    return frame_of(statement_rows([item.statement for item in planned.statements if item.draw == 0]))


def frame_of(rows: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """Rows as a data frame. Raises NotInstalled where pandas is not installed."""
    with not_installed_errors():
        import pandas
    return pandas.DataFrame(list(rows))
