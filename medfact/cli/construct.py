"""The command that makes a data set from questions, as MKJ was made, and the reader of these questions."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path

from medfact.cli import MISTAKE, OK, print_data
from medfact.cli.evaluate import check_models, confirm_upload
from medfact.cli.options import spec_of
from medfact.cli.progress import show_progress
from medfact.cli.rows import emit
from medfact.construction.pipeline import RELATIONS_PER_TERM, Settings, construct, terms_plan
from medfact.datasets.headers import Columns
from medfact.datasets.table_reader import read_table
from medfact.datasets.table_writer import json_line
from medfact.datasets.text import open_text
from medfact.datasets.umls import needed_files_in
from medfact.errors import FactsError, Mistake
from medfact.facts import digest
from medfact.models import BUNDLED_MODEL, key_of_named, provider_of
from medfact.runs.costs import costs
from medfact.runs.run import answer
from medfact.store import Store

COLUMNS = ("question", "query", "text")
"""Names of the column with the questions, in any case, the first of them first."""

MOST_CHARACTERS = 5_000
"""Of one question."""

MOST_QUESTIONS = 100_000


def read_questions(path: Path) -> tuple[str, ...]:
    """The questions of a file, in order, each once.

    Raises FactsError: there is no such file, it cannot be read (names the row), it holds no question, or one is too long.
    """
    if path.suffix.lower() in {".txt", ".md"}:
        if not path.is_file():
            raise FactsError(f"There is no file {str(path)[:200]!r}.", "Check the path of the questions.")
        with open_text(path) as file:
            numbered = [(number, line) for number, line in enumerate(file, 1)]
    else:
        columns, rows = read_table(path, needed=Columns(lambda names: any(name.lower() in COLUMNS for name in names)))
        known = {name.strip().lower(): name for name in reversed(columns)}
        column = next((known[name] for name in COLUMNS if name in known), columns[0] if len(columns) == 1 else None)
        if column is None:
            raise FactsError(f"{path.name} does not say which column holds the questions.", "Call it `question`.")
        numbered = [(number, cells.get(column, "")) for number, cells in rows]
    questions: dict[str, None] = {}
    for number, text in numbered:
        question = " ".join(text.split())
        if len(question) > MOST_CHARACTERS:
            raise FactsError(f"{path.name}, row {number}: longer than {MOST_CHARACTERS:,} characters.", "Shorten it.")
        if question:
            questions.setdefault(question)
    if not 0 < len(questions) <= MOST_QUESTIONS:
        raise FactsError(f"{path.name} holds {len(questions):,} questions.", f"Bring 1 to {MOST_QUESTIONS:,}, one a line.")
    return tuple(questions)


def make(options: argparse.Namespace) -> int:
    """Makes a data set, or goes on making it; prints a row a step. With --dry-run, prints what its first step would cost."""
    questions = read_questions(Path(options.questions))
    spec = replace(spec_of(options, options.model or BUNDLED_MODEL), protocol="mkj")
    check_models([spec])
    if provider_of(spec.model).is_rule:
        raise Mistake(f"{spec.model} writes nothing.", "Choose a language model.")
    folder = Path(options.into)
    if options.dry_run:
        return emit([costs(replace(spec, task="terms"), planned=terms_plan(questions, folder.name))], None)
    if not options.umls and not options.umls_api:
        raise Mistake("No source of concepts and relations is given.", "Give --umls FOLDER, or --umls-api with your key.")
    umls = _umls_folder(options.umls)
    confirm_upload([replace(spec, facts=options.questions)], options.yes)
    store, codes = Store(options.db), [OK]

    def ask(run: str) -> None:
        codes.append(show_progress(answer(run, store, key=key_of_named(spec.model, spec.service)), spec.model))
        if codes[-1] == MISTAKE:
            raise Mistake("The construction stopped there.", "Run the same command again to go on.")

    settings = Settings(
        questions=digest(*questions),
        model=spec.model,
        umls=umls.resolve().name if umls else "api",
        language=options.language.upper(),
        sources=tuple(options.sab or ()),
        seed=spec.seed,
        per_term=RELATIONS_PER_TERM if options.per_term is None else options.per_term,
    )
    for step in construct(folder, questions, settings, umls, spec, store, ask, options.accept_drafts):
        print_data(json_line(asdict(step)), flush=True)
    return max(codes)


def _umls_folder(folder: str | None) -> Path | None:
    """The UMLS folder that was typed. Raises FactsError, before any model is asked, where it is not one."""
    if folder is None:
        return None
    if not Path(folder).is_dir():
        raise FactsError(f"There is no folder {folder!r}.", "Choose the folder META of a UMLS release.")
    needed_files_in(Path(folder))
    return Path(folder)
