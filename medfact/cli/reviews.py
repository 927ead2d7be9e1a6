"""The command about reviews: list every verdict, read verdicts from a file, or show a run's figures under them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from medfact.cli import OK, say
from medfact.cli.rows import emit, kept
from medfact.errors import Mistake
from medfact.results.wording import counted
from medfact.reviews.game import VISITOR
from medfact.reviews.suggestions import Suggestion, suggestions
from medfact.reviews.text import Summary, summary, where
from medfact.reviews.transfer import browser_of, rows_of, verdicts_in
from medfact.reviews.verdicts import opinions
from medfact.store import Store


def reviews(options: argparse.Namespace) -> int:
    """Lists the verdicts, or with --on a run's figures under them, or better wordings. With --import, reads a file; with
    --erase, erases one person's contributions.
    """
    store = Store(options.db) if options.read else kept(options.db)
    if options.read:
        taken = verdicts_in(Path(options.read))
        store.verdicts.record(taken)
        say(f"{len(taken)} verdicts read from {Path(options.read).name}")
        return OK
    if options.erase:
        return _erased(store, options.erase)
    if options.on:
        return emit(_figures(summary(store, options.on)), options.output)
    log = store.verdicts.log()
    statements = store.verdicts.statements_of({verdict.fact_id for verdict in log})
    if options.suggestions:
        return emit(map(_suggestion, suggestions(statements, opinions(log))), options.output)
    return emit(rows_of(log, statements, store.verdicts.facts_shown(log)), options.output)


def _erased(store: Store, who: str) -> int:
    """Erases contributions under a name, or from a browser. Raises Mistake where there are none."""
    if who == VISITOR:
        raise Mistake(f"Everybody who plays is called {who!r}.", "Give a browser as `reviews` lists it.")
    owners = [owner for owner in store.contributions.bytes() if browser_of(owner) == who]
    number = store.contributions.erase_by(who) + sum(store.of(owner).contributions.erase() for owner in owners)
    if not number:
        raise Mistake(f"Nothing was said by {who!r}.", "Give a reviewer or a browser as `reviews` lists them.")
    say(f"{counted(number, 'row')} erased of what {who} said")
    return OK


def _suggestion(one: Suggestion) -> dict[str, Any]:
    statement = one.statement
    return {
        "relation": statement.fact.relation,
        "pool": statement.pool,
        "variant": statement.variant,
        "template": one.template or None,
        "wording": one.wording,
        "statement": statement.text,
        "label": statement.label,
        "statement_id": statement.statement_id,
        "reviewer": one.by,
    }


def _figures(made: Summary) -> Iterator[dict[str, Any]]:
    """Rows of one shape: the figure's name, what it is of, its value and interval."""

    def row(figure: str, of: str, estimate: Any, why: str = "") -> dict[str, Any]:
        return {"figure": figure, "of": of, **estimate._asdict(), "why_no_value": why}

    for name, scores in vars(made.scores).items():
        if not isinstance(scores, int):
            yield row("average_accuracy", name, scores.average)
            yield row("joint_accuracy", name, scores.joint)
    for figure, powered in (("average_accuracy", made.powered.average), ("joint_accuracy", made.powered.joint)):
        yield row(figure, "all facts under the reviewers' truth", powered.estimate, powered.why_not)
        if powered.more is not None:
            yield {"figure": "more_reviews_to_halve", "of": figure, "value": powered.more, "low": None, "high": None}
    for name in ("wrong", "dropped", "disputed", "sentences"):
        of, count = "wrong sentences of other facts" if name == "sentences" else "facts", getattr(made.scores, name)
        yield {"figure": name, "of": of, "value": count, "low": None, "high": None}
    for label in made.labels:
        yield row("wrong_labels", where(label), label.wrong)
        yield row("unclear_wordings", where(label), label.unclear)
    for one in made.sentences:
        yield row("misstated_sentences", one.origin, one.misstated)
        yield row("unclear_sentences", one.origin, one.unclear)
    yield row("ceiling_on_joint_accuracy", "all", made.ceiling)
    for name in ("raw", "cohen", "fleiss", "ac1", "alpha"):
        yield row(
            f"agreement_{name}",
            f"{made.agreement.raters} reviewers",
            getattr(made.agreement, name),
            made.agreement.why_not.get(name, ""),
        )
    yield {"figure": "reviewed", "of": "facts", "value": made.facts_reviewed, "low": None, "high": None}
