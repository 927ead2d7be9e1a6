"""The command that sends a run to a data set of the Hugging Face Hub: first it says what it would send."""

from __future__ import annotations

import argparse

from medfact.cli import OK, say
from medfact.cli.rows import emit, kept
from medfact.errors import Mistake
from medfact.exchange.hub import README, send
from medfact.results.model_card import HUB_NAME
from medfact.results.wording import counted
from medfact.runs.plan import files_of
from medfact.views.static_space import files_of_run, readme


def push(options: argparse.Namespace) -> int:
    """Lists the files of a run, or sends them with --yes."""
    if not HUB_NAME.fullmatch(options.to):
        raise Mistake(f"{options.to!r} names no data set of the Hub.", "Write it as OWNER/NAME.")
    store = kept(options.db)
    run = store.run(options.run)
    own = bool(files_of(run.spec))
    files = files_of_run(store, run, with_facts=options.with_facts or not own)
    page = readme(files)
    if own and not options.with_facts:
        say("note: the facts are from a file of your own, so only scores over all of them go; --with-facts sends the rows, too")
    if options.yes:
        say(f"sent {counted(len(files), 'file')} to {options.to}: {send(files, page, options.to, private=options.private)}")
        return OK
    emit(({"file": path, "bytes": len(content)} for path, content in {README: page.encode(), **files}.items()), None)
    made = "private" if options.private else "public"
    say(f"to the data set {options.to}, {made} if it is made; {README} only where it has none")
    say("nothing was sent; add --yes to send it")
    return OK
