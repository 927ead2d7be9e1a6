"""The questions that a construction begins with: a text with one a line, or a column of a table."""

from __future__ import annotations

from pathlib import Path

from medfact.datasets.headers import Columns
from medfact.datasets.table_reader import read_table
from medfact.datasets.text import open_text
from medfact.errors import FactsError

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
