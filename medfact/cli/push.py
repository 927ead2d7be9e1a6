"""The command that sends a run to a data set of the Hugging Face Hub: first it says what it would send."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from medfact.cli import OK, say
from medfact.cli.rows import emit, kept
from medfact.errors import Mistake, ServiceDown, first_line
from medfact.proxies import check_proxies
from medfact.results.exports import HUB_NAME
from medfact.results.wording import counted
from medfact.runs.plan import files_of
from medfact.views.report import data_set_files, data_set_readme

README = "README.md"


def push(options: argparse.Namespace) -> int:
    """Lists the files of a run, or sends them with --yes."""
    if not HUB_NAME.fullmatch(options.to):
        raise Mistake(f"{options.to!r} names no data set of the Hub.", "Write it as OWNER/NAME.")
    store = kept(options.db)
    run = store.run(options.run)
    own = bool(files_of(run.spec))
    files = data_set_files(store, run, with_facts=options.with_facts or not own)
    page = data_set_readme(files)
    if own and not options.with_facts:
        say("note: the facts are from a file of your own, so only scores over all of them go; --with-facts sends the rows, too")
    if options.yes:
        say(f"sent {counted(len(files), 'file')} to {options.to}: {_send(files, page, options.to, private=options.private)}")
        return OK
    emit(({"file": path, "bytes": len(content)} for path, content in {README: page.encode(), **files}.items()), None)
    made = "private" if options.private else "public"
    say(f"to the data set {options.to}, {made} if it is made; {README} only where it has none")
    say("nothing was sent; add --yes to send it")
    return OK


def _send(files: Mapping[str, bytes], data_set_readme: str, to: str, *, private: bool) -> str:
    """Adds files to a data set, which is made where there is none; returns the address of the commit. readme: the data set's
    page, where it has none yet. private: what is made. The token is that of HF_TOKEN, or the one that the library keeps.

    Raises Mistake where there is no token or no right to write, and ServiceDown where the Hub cannot be reached.
    """
    import huggingface_hub as hub

    token = os.environ.get("HF_TOKEN") or hub.get_token()
    if not token:
        raise Mistake(
            "There is no token of the Hugging Face Hub.", "Set HF_TOKEN to one that may write, or run `hf auth login`."
        )
    check_proxies()
    api = hub.HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, token=token)
    with _explained(to):
        api.create_repo(to, repo_type="dataset", private=private or None, exist_ok=True)
        there = api.file_exists(to, README, repo_type="dataset")
        added = dict(files) if there else {README: data_set_readme.encode(), **files}
        operations = [hub.CommitOperationAdd(path, content) for path, content in added.items()]
        made = api.create_commit(to, operations, commit_message="A run of medfact", repo_type="dataset")
    return str(made.commit_url)


@contextmanager
def _explained(to: str) -> Iterator[None]:
    """Meanwhile an error of the library becomes one line, in which no token stands."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    try:
        yield
    except HfHubHTTPError as error:
        status = error.response.status_code
        if status == 401:
            raise Mistake("The Hub does not know the token.", "Set HF_TOKEN to one that may write.") from None
        if status in (403, 404):
            raise Mistake(f"The token may not write to {to}.", "Check OWNER/NAME, and what the token may do.") from None
        raise ServiceDown(f"The Hub refused the files (HTTP {status}): {first_line(error)}.", "Try again later.") from None
    except (OfflineModeIsEnabled, httpx2.HTTPError, OSError) as error:
        raise ServiceDown(f"The Hub cannot be reached: {first_line(error)}.", "Nothing was sent. Try again later.") from None
    except ValueError as error:
        raise Mistake(f"The Hub takes no such data set: {first_line(error)}.", "Check OWNER/NAME.") from None
