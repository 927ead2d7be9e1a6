"""The commands: what each is called, which options it takes, and which function runs it."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from medfact.assets import ENGLISH
from medfact.cli.options import CLUSTER, RESUMED_SERVICE, Add, argument, one_of, option, options_of
from medfact.errors import Mistake
from medfact.models import specs_in_help
from medfact.setting import FACTS, LOCAL, METHOD, RETRIEVAL, SERVICE, UMLS
from medfact.table_formats import describe_endings
from medfact.version import VERSION

PROGRAMS = ("medfact", "python -m medfact")
"""How it is called: once installed, and from its repository."""

DISCLAIMER = "Not for clinical use. Half of the statements (MKJ: three of four) are false on purpose; each row's label tells."

OUTPUT = argument("-o --output", "FILE", f"a {describe_endings()} file; else prints JSON lines")
DATABASE = argument(
    "--db", "URL", "sqlite:///file.db or postgresql://user@host/name (default: MEDFACT_DATABASE_URL, else a file)"
)
VERBOSE = "log to stderr why something failed, was tried again or was refused; the same as MEDFACT_LOG=debug"
JSON = argument("--json", "", "print JSON")
RUN = argument("run", "RUN", "the id of a run, or the start of it")
RUNS = argument("run", "RUN", "the ids of runs, or the starts of them", nargs="+")
TOOLS = {"datasets": "the Hugging Face library", "lm-eval": "lm-evaluation-harness", "inspect": "Inspect"}
MODELS = f"{specs_in_help()}; may repeat"


class Command:
    """A command. action: "module:function", within `medfact.cli` unless the module says where; imported when it is run.

    Only `app` has its action elsewhere: it opens the other door, which this one names and never imports.
    """

    def __init__(self, name: str, action: str, help_: str, *options: Add) -> None:
        self.name, self.action, self.help, self.options = name, action, help_, options

    def run(self, options: argparse.Namespace) -> int:
        """Runs it; returns the exit code."""
        module, _, function = self.action.partition(":")
        place = module if module.startswith("medfact.") else f"medfact.cli.{module}"
        action = getattr(import_module(place), function)
        return int(action(options))


_STATEMENTS = (options_of(FACTS), options_of(UMLS), options_of(METHOD))
_DATA = (*_STATEMENTS, DATABASE, OUTPUT)
_MODELS = (options_of(LOCAL), options_of(SERVICE))
_ASKING = (*_DATA, *_MODELS)

COMMANDS = (
    Command(
        "app",
        "medfact.web.app:serve_command",
        "serve the page on this machine; open the address that it prints",
        argument("--host", "ADDRESS", "where to listen (default: GRADIO_SERVER_NAME, else this machine alone)"),
        argument("--port", "N", "default: GRADIO_SERVER_PORT, else 7860; 0 takes a free one", type=int),
        DATABASE,
    ),
    Command("datasets", "show_data:datasets", "list the bundled data sets", OUTPUT),
    Command("pools", "show_data:pools", "list the prototypes, one row per pool, relation and form", OUTPUT),
    Command(
        "facts",
        "show_data:facts",
        "list facts, their false partners and their roles",
        *_DATA,
        argument("--explain", "", "say how each false partner was drawn"),
    ),
    Command("statistics", "show_data:statistics", "list the size of a data set: in all, by relation, by semantic type", *_DATA),
    Command("statements", "show_data:statements", "list the statements of the facts under test", *_DATA),
    Command(
        "prompts",
        "show_data:prompts",
        "list the prompts exactly as a model gets them",
        *_ASKING,
        options_of(RETRIEVAL),
        argument("--model", "SPEC", "format the prompts for this model; otherwise plain text"),
    ),
    Command(
        "task",
        "show_data:task",
        "write the statements as a task of another tool: its data, its settings and a page for people",
        argument("tool", "TOOL", "; ".join(f"{name}: {what}" for name, what in TOOLS.items()), choices=TOOLS),
        argument("--into", "FOLDER", "a new folder", required=True),
        *_STATEMENTS,
        DATABASE,
    ),
    Command(
        "run",
        "evaluate:run",
        "evaluate one or more models; each gets a run of its own",
        *_ASKING,
        CLUSTER,
        options_of(RETRIEVAL),
        argument("--model", "SPEC", MODELS, action="append"),
        one_of(
            argument("--again", "RUN", "repeat a run from its record, with the same or another --model"),
            argument(
                "--writing",
                "RUN",
                "ask the sentences that `write` wrote; may repeat, with other writings, `prototypes` and `origin`",
                action="append",
            ),
        ),
        argument("--race", "", "ask the models side by side, and stop once it is decided"),
        argument(
            "--check-service", "", "ask no run but 32 prompts, in two orders and at two loads: do answers depend on that?"
        ),
        argument("--dry-run", "", "ask nothing; show what each model would cost"),
        argument("--yes", "", "agree to send your own facts to the service"),
    ),
    Command(
        "write",
        "write:start_writer",
        "have a language model rephrase the prototypes, write statements itself, or draft templates",
        argument(
            "kind",
            "KIND",
            "rephrase, llmeval, templates (eight a relation) or template (MKJ's one)",
            choices=("rephrase", "llmeval", "templates", "template"),
        ),
        *_ASKING,
        argument("--model", "SPEC", "the writer"),
        option("spec.entailment"),
        argument("--dry-run", "", "write nothing; show what it would cost"),
        argument("--yes", "", "agree to send your own facts to the service"),
    ),
    Command(
        "construct",
        "construct:make",
        "make a data set from questions, as MKJ was made; run again to go on",
        argument("questions", "QUESTIONS", "a text with one question a line, or a table with a column `question`"),
        argument("--into", "FOLDER", "the folder of the data set and of every step before it", required=True),
        argument("--model", "SPEC", "the model that finds terms and drafts templates"),
        one_of(
            argument("--umls", "FOLDER", "a UMLS folder (RRF)"),
            argument("--umls-api", "", "ask the UMLS REST API; the key is read from UMLS_API_KEY"),
        ),
        argument("--language", "LAT", "language of the names (default: ENG)", default="ENG"),
        argument("--sab", "NAME", "a source whose relations count (default: all); may repeat", action="append"),
        argument("--per-term", "N", "relations of a term, at most (default: 20)", type=int),
        option("spec.seed"),
        argument("--accept-drafts", "", "use drafted templates that nobody has accepted yet"),
        argument("--dry-run", "", "ask nothing; show what the first step would cost"),
        argument("--yes", "", "agree to send your questions to the service"),
        *_MODELS,
        DATABASE,
    ),
    Command(
        "curate",
        "curate:curate",
        "propose facts from your own documents, check them, and export those that are accepted; alone, list what was begun",
        argument("documents", "DOCUMENTS", "a text or table, or a folder of them, to begin with", nargs="?"),
        argument("--diseases", "FILE", "a list of diseases: a text with one a line, or a table"),
        argument("--relations", "NAMES", "with commas between, such as 'symptoms,therapeutic drugs'"),
        argument("--names", "FILE", "a list of what may stand at their ends (default: what the bundled sets know)"),
        argument("--column", "NAME", "of a table, the column with the text"),
        argument("--name", "TEXT", "what this is called (default: as the documents)"),
        argument("--encoder", "SPEC", "rank passages by meaning with this encoder, on this machine (default: by words)"),
        argument("--per-relation", "N", "candidates of a disease and a relation (default: 10)", type=int),
        argument("--passages", "N", "passages that are retrieved for them (default: 40)", type=int),
        argument("--controls", "SHARE", "wrong candidates to add, to see who checks (default: 0.1)", type=float),
        argument("--reviewers", "N", "reviewers who are to check each candidate (default: 2)", type=int),
        argument("--seed", "N", "of the order and the controls (default: 0)", type=int),
        argument("--project", "ID", "go on with what was begun; alone, show what the reviewers decided"),
        argument("--reviewer", "NAME", "show the next candidate that this reviewer has not decided"),
        argument("--decide", "WHAT", "accept, mend, refuse or undo", choices=("accept", "mend", "refuse", "undo")),
        argument("--number", "N", "another candidate than the next", type=int),
        argument("--head", "TEXT", "with `mend`: what the sentence says instead"),
        argument("--relation", "TEXT", "the same"),
        argument("--tail", "TEXT", "the same"),
        argument("--note", "TEXT", "why"),
        argument("--export", "FILE", f"write what is accepted as a facts file: {describe_endings()}"),
        argument("--by", "RULE", "accepted by all who checked it (default), or by the majority", choices=("all", "majority")),
        argument("--close", "", "end the checking, although not all have finished"),
        argument("--erase", "", "erase it for good, with all decisions"),
        JSON,
        DATABASE,
        OUTPUT,
    ),
    Command("written", "write:written", "list what was written, and why some of it was stopped", RUN, DATABASE, OUTPUT),
    Command(
        "drafts",
        "write:save_drafts",
        "save drafted templates as a pool file, for a person to read and to accept",
        RUN,
        argument("-o --output", "FILE", "a .yaml file; otherwise prints it"),
        argument("--extends", "POOL", "the pool that states the other relations, such as medfact", default=""),
        DATABASE,
    ),
    Command(
        "resume",
        "evaluate:resume",
        "continue runs that were stopped or interrupted, or in which calls failed; runs of one race go on with it",
        RUNS,
        RESUMED_SERVICE,
        CLUSTER,
        argument("--yes", "", "agree to the service, which gets your key, and the model that an imported run names"),
        DATABASE,
    ),
    Command(
        "check",
        "check:check",
        "ask a model what a baseline was asked, and say whether it knows less: 0 pass, 1 fail, 3 cannot tell",
        argument("model", "MODEL", specs_in_help()),
        argument("--against", "RUN", "a run, or a file that `baseline` or `export` wrote", required=True),
        argument("--margin", "POINTS", "a loss of mastery that does not matter (default: 2)", type=float, default=2.0),
        argument("--dangerous", "N", "dangerous facts that may be newly affirmed (default: 0)", type=int, default=0),
        argument("--part", "N", "ask so many of the facts, with their false partners (default: all)", type=int),
        argument("--part-seed", "N", "which ones (default: 0)", type=int, default=0),
        one_of(JSON, argument("--markdown", "", "print a comment for a pull request")),
        argument("--junit", "FILE", "write JUnit's XML too"),
        *_MODELS,
        CLUSTER,
        argument("--yes", "", "agree to send your own facts to the service"),
        DATABASE,
    ),
    Command(
        "baseline",
        "check:baseline",
        "write a run as a small file that `check` compares with",
        RUN,
        argument("-o --output", "FILE", "otherwise baseline.medfact.jsonl.gz"),
        DATABASE,
    ),
    Command("runs", "show_results:runs", "list the runs, oldest first", DATABASE, OUTPUT),
    Command(
        "delete",
        "runs:delete",
        "delete runs; for seven days they can be brought back",
        RUNS,
        argument("--restore", "", "bring deleted runs back"),
        DATABASE,
    ),
    Command(
        "report",
        "show_results:report",
        "show the scores of runs",
        RUNS,
        one_of(
            JSON,
            argument("--html", "FILE", "write one report of all of them, which opens offline"),
            argument("--latex", "", "print tables, a methods paragraph and BibTeX for a paper"),
        ),
        argument(
            "--estimand",
            "like|these",
            "what the intervals generalise to: similar facts (default), or only these",
            default="like",
        ),
        DATABASE,
    ),
    Command(
        "card",
        "show_results:card",
        "print a snippet for a model's page on the Hub, or draw a card of one run or two",
        RUNS,
        one_of(
            argument("--svg", "FILE", "draw a card that can be posted, 1200 x 630"),
            argument("--dataset", "OWNER/NAME", "print .eval_results for this benchmark of the Hub instead"),
        ),
        argument("--task", "SCORE", "the task of that benchmark (default: average_accuracy)"),
        argument("--source", "URL", "what stands behind its value, such as a report that you published"),
        DATABASE,
    ),
    Command(
        "publish",
        "runs:publish",
        "show runs to everybody on the page Runs, or list what is shown",
        argument("run", "RUN", "the ids of runs, or the starts of them", nargs="*"),
        argument("--withdraw", "", "show them no longer"),
        argument("--name", "TEXT", "what a run is called there (default: its name, or its model's)"),
        argument("--static", "FOLDER", "write a run as a free static Space instead, which opens offline too"),
        DATABASE,
        OUTPUT,
    ),
    Command(
        "push",
        "push:push",
        "send a run to a data set of the Hugging Face Hub; without --yes, only say what would be sent",
        RUN,
        argument("--to", "OWNER/NAME", "the data set, which is made where there is none", required=True),
        argument("--with-facts", "", "also what comes from a file of your own: its facts and the statements about them"),
        argument("--private", "", "where the data set is made, make it private"),
        argument("--yes", "", "send it"),
        DATABASE,
    ),
    Command(
        "answers",
        "show_results:answers",
        "list the answers of a run",
        RUN,
        argument("--log", "FORMAT", "as a log of another harness: lm-eval, inspect, or every-eval-ever (-o FOLDER)"),
        DATABASE,
        OUTPUT,
    ),
    Command("compare", "show_results:compare", "compare two to eight runs on the facts they share", RUNS, JSON, DATABASE),
    Command(
        "rarity",
        "rarity:rarity",
        "show the right answers of a run against how often the names in its facts occur",
        RUN,
        one_of(
            argument("--frequencies", "FILE", "a table with the columns term and count"),
            argument("--corpus", "FILE", "count in a .txt file, or in a column of a table"),
            argument("--pubmed", "", "ask PubMed how many articles hold each name"),
        ),
        argument("--column", "NAME", "the column of the corpus that holds the text (default: text)"),
        argument("--together", "", "ask PubMed about head and tail together too"),
        JSON,
        DATABASE,
        argument("-o --output", "FILE", f"a {describe_endings()} file: a row a fact"),
    ),
    Command(
        "tables",
        "show_results:tables",
        "list the papers' tables for one or more runs, one row per number",
        RUNS,
        argument("--paper", "NAME", "pretexttrans, tpeval or mkj; otherwise all"),
        DATABASE,
        OUTPUT,
    ),
    Command(
        "reviews",
        "reviews:reviews",
        "list every verdict of the reviewers, or what they say of a run",
        argument("--on", "RUN", "scores under the reviews, reliability of the labels, agreement"),
        argument("--import", "FILE", "read verdicts from a table", dest="read"),
        argument("--suggestions", "", "list the better wordings that reviewers propose"),
        argument("--erase", "WHO", "erase for good what was said under a name, or in a browser, as it is listed"),
        DATABASE,
        OUTPUT,
    ),
    Command(
        "invite",
        "invite:invite",
        "make an address at which a clinician judges a packet of facts; without a name, list who has finished",
        argument("name", "NAME", "whose verdicts they will be", nargs="?"),
        argument("--packet", "N", "facts (default: 10)", type=int, default=10),
        argument("--on", "RUN", "the facts of a run"),
        argument("--dataset", "NAME", "otherwise of a bundled data set (default: clinical-core)", default="clinical-core"),
        argument("--language", "CODE", "of a data set's names and sentences (default: en)", default=ENGLISH),
        argument("--days", "N", "until the address expires (default: 14)", type=float, default=14.0),
        argument("--address", "URL", "where the page is reached (default: this machine's number in the local network)"),
        DATABASE,
        OUTPUT,
    ),
    Command(
        "export",
        "runs:export",
        "write a run with its answers to one file",
        RUN,
        argument("-o --output", "FILE", "otherwise medfact-run-ID.jsonl.gz"),
        DATABASE,
    ),
    Command(
        "import",
        "runs:import_",
        "read a run from such a file",
        argument("file", "FILE", "a file that `export` wrote"),
        DATABASE,
    ),
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Mistake(f"{message}.", f"See `{self.prog} --help`.")


def parser() -> argparse.ArgumentParser:
    """The parser of all commands. The chosen `Command` is in `command`, None where there is none.

    Parsing raises Mistake where the arguments are wrong.
    """
    whole = _Parser(
        prog=PROGRAMS[Path(sys.argv[0]).stem != "medfact"],
        description="Does a language model know a medical fact, or only one way of saying it?",
        epilog=DISCLAIMER,
    )
    whole.add_argument("--version", action="version", version=f"medfact {VERSION}")
    whole.add_argument("--verbose", action="store_true", help=VERBOSE)
    whole.set_defaults(command=None)
    subparsers = whole.add_subparsers(metavar="COMMAND", title="commands")
    for command in COMMANDS:
        added = subparsers.add_parser(
            command.name, help=command.help, description=f"{command.help[0].upper()}{command.help[1:]}."
        )
        added.add_argument("--verbose", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        added.set_defaults(command=command)
        for add in command.options:
            add(added)
    return whole
