"""What a visitor looks at in results: the tab, its facts and filters. Most of it stands in the page's address."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from medfact.web.pages import Show

# The fields that a link to results holds.
RESULTS_ADDRESS = (
    "run", "tab", "group", "statistics", "only", "within", "model", "search", "pattern", "page", "chosen", "fact", "paper",
    "sort", "estimand",
)  # fmt: skip

# The fields whose change the browser's back button takes back.
RESULTS_STOPS = (
    "run", "tab", "group", "statistics", "only", "within", "model", "search", "pattern", "page", "fact", "sort",
)  # fmt: skip


class ResultsShow(Show):
    """What a visitor looks at in results.

    run: ids of the runs that are shown, with commas.
    missing: whether the address named one that is not there.
    group: by what right answers are told apart in “Groups”.
    statistics: which part of “Statistics” is open.
    only: the filter of facts.
    within: the group of facts, such as "relation:symptoms"; "" for any.
    model: the run that the filter is about, −1 for any.
    fact: the row of the fact that is open, −1 for none.
    chosen: the run of which `fact` is the number of a pair, as the lists of one run say it; −1 for none.
    change: with `flips`, whose answers that passages turned are listed, and which.
    sort: the score by which models are sorted, "" for the first.
    estimand: what intervals are about.
    frequencies: the visitor's table of how often names occur.
    case: of the case study.
    """

    run: str = ""
    missing: bool = False
    tab: str = Field("summary", max_length=40)
    group: str = Field("relation", max_length=40)
    statistics: Literal["runs", "answers", "rarity", "papers"] = "runs"
    only: str = Field("all", max_length=40)
    within: str = Field("", max_length=600)
    model: int = Field(-1, ge=-1, le=10)
    search: str = Field("", max_length=200)
    pattern: str = Field("", max_length=40)
    page: int = Field(0, ge=0, le=10**9)
    fact: int = Field(-1, ge=-1, le=10**9)
    chosen: int = Field(-1, ge=-1, le=10)
    change: int = Field(0, ge=0, le=10**4)
    flips: Literal["helped", "harmed"] = "helped"
    paper: Literal["pretexttrans", "tpeval", "mkj"] = "pretexttrans"
    sort: str = Field("", max_length=60)
    estimand: Literal["like", "these"] = "like"
    frequencies: str = Field("", max_length=1_000)
    case: int = Field(0, ge=0, le=10**9)
