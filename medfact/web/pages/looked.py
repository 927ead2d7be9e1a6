"""View of results: the open tab, its facts and filters. The page's address holds most of it."""

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
    """View of results."""

    run: str = ""  # ids of the runs, with commas
    missing: bool = False  # the address named an unknown run
    tab: str = Field("summary", max_length=40)
    group: str = Field("relation", max_length=40)  # choice in "Groups"
    statistics: Literal["runs", "answers", "rarity", "papers"] = "runs"  # part of "Statistics"
    only: str = Field("all", max_length=40)  # filter of facts
    within: str = Field("", max_length=600)  # group of facts, such as "relation:symptoms"
    model: int = Field(-1, ge=-1, le=10)  # run that the filter is about; −1 for any
    search: str = Field("", max_length=200)
    pattern: str = Field("", max_length=40)
    page: int = Field(0, ge=0, le=10**9)
    fact: int = Field(-1, ge=-1, le=10**9)  # row of the open fact; −1 for none
    chosen: int = Field(-1, ge=-1, le=10)  # run whose pair has the number `fact`; −1 where `fact` is a row
    change: int = Field(0, ge=0, le=10**4)  # pair of settings whose changed answers are listed
    flips: Literal["helped", "harmed"] = "helped"  # which of these answers
    paper: Literal["pretexttrans", "tpeval", "mkj"] = "pretexttrans"
    sort: str = Field("", max_length=60)  # score that models are sorted by; "" for the first
    estimand: Literal["like", "these"] = "like"  # target of the intervals
    frequencies: str = Field("", max_length=1_000)  # the visitor's table of frequencies of names
    case: int = Field(0, ge=0, le=10**9)  # number of the case study
