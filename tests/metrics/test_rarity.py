"""Right answers against frequency: the line by hand and by refitting, its interval in simulations, and where frequencies come
from: a table, a corpus, and a PubMed of this machine.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from math import log10, sqrt
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import LoopbackServer, WholeReplies
from scipy import stats
from scripted import FAILED, RIGHT, UNREADABLE, WRONG, ScriptedModel, answer_run, statement_key
from small_facts import write_csv

from medfact.datasets import frequencies as counting
from medfact.datasets.frequencies import Frequencies, counts_in, read_frequencies
from medfact.datasets.headers import VISITOR
from medfact.datasets.isolated import read_frequencies_isolated
from medfact.errors import FactsError, Mistake, ReferenceDown
from medfact.facts import Fact, name_key
from medfact.metrics import record_of
from medfact.metrics.uncertainty import NOTHING
from medfact.references import PubMed
from medfact.results import plots
from medfact.results.rarity import (
    FactPoint,
    FittedLine,
    Rarity,
    _by_together,
    couples_of,
    line,
    log_frequency,
    names_of,
    rarity_of,
)
from medfact.results.text import rarity_text
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Asked, Store

Medfact = Callable[..., Any]


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def codes(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


# ------------------------------------------------------------------------- the line


def test_the_line_by_hand() -> None:
    # mean x 3/2, Σ(x − 3/2)² = 5, Σ(x − 3/2) y = 3/2: slope 3/10, intercept 3/4 − 9/20 = 3/10.
    # Errors −.3 .4 .1 −.2; leverages 1/4 + (x − 3/2)² / 5 = .7 .3 .3 .7, so that without a point the line misses it by
    # −1, 4/7, 1/7, −2/3. Variance of the slope: Σ ((x − 3/2) · miss)² / 25.
    made = line(floats(0, 1, 2, 3), floats(0, 1, 1, 1), codes(0, 1, 2, 3), codes(3, 2, 1, 0))
    assert made.slope.value == pytest.approx(3 / 10)
    assert made.intercept.value == pytest.approx(3 / 10)
    variance = ((3 / 2) ** 2 + (1 / 2 * 4 / 7) ** 2 + (1 / 2 * 1 / 7) ** 2 + (3 / 2 * 2 / 3) ** 2) / 25
    free = degrees(floats(0, 1, 2, 3), codes(0, 1, 2, 3))
    half = float(stats.t.ppf(0.975, free)) * sqrt(variance)
    assert made.slope.low == pytest.approx(3 / 10 - half)
    assert made.slope.high == pytest.approx(3 / 10 + half)
    assert made.slope.n == 4
    assert (made.band[0].x, made.band[-1].x) == (0, 3)
    assert (made.band[0].share, made.band[-1].share) == pytest.approx((3 / 10, 12 / 10))


def degrees(x: np.ndarray, clusters: np.ndarray) -> float:
    """Degrees of freedom of the jackknife's variance of the slope, from the whole matrices: (tr A)² / tr A²."""
    design = np.stack([np.ones(len(x)), x], axis=1)
    inverse = np.linalg.inv(design.T @ design)
    hat = design @ inverse @ design.T
    columns = []
    for cluster in np.unique(clusters):
        rows = np.flatnonzero(clusters == cluster)
        own = np.zeros(len(x))
        own[rows] = np.linalg.inv(np.eye(len(rows)) - hat[np.ix_(rows, rows)]) @ design[rows] @ inverse[:, 1]
        columns.append((np.eye(len(x)) - hat) @ own)
    matrix = np.array(columns) @ np.array(columns).T
    return float(np.trace(matrix) ** 2 / np.trace(matrix @ matrix))


def jackknife(x: np.ndarray, y: np.ndarray, clusters: np.ndarray) -> float:
    """Variance of the slope by fitting anew without each cluster."""
    whole = np.polyfit(x, y, 1)[0]
    return float(sum((whole - np.polyfit(x[clusters != one], y[clusters != one], 1)[0]) ** 2 for one in np.unique(clusters)))


@pytest.mark.parametrize("seed", range(10))
def test_the_interval_is_what_leaving_clusters_out_gives(seed: int) -> None:
    random = np.random.default_rng(seed)
    heads, tails = random.integers(0, 8, 60), random.integers(0, 12, 60)
    x, y = random.normal(2, 1, 12)[tails], random.binomial(8, 0.6, 60) / 8
    by_head = jackknife(x, y, heads), degrees(x, heads)
    by_tail = max(0.0, jackknife(x, y, tails) - jackknife(x, y, heads * 12 + tails)), degrees(x, tails)
    variance = by_head[0] + by_tail[0]
    free = variance**2 / (by_head[0] ** 2 / by_head[1] + by_tail[0] ** 2 / by_tail[1])
    slope = line(x, y, heads, tails).slope
    assert slope.high - slope.value == pytest.approx(float(stats.t.ppf(0.975, free)) * sqrt(variance))


def test_no_line_without_something_to_fit() -> None:
    few = line(floats(1, 2, 2, 1), floats(0, 1, 0, 1), codes(0, 1, 2, 3), codes(0, 1, 2, 3))
    assert (few.slope.value, few.slope.n, few.band) == (None, 4, ())  # two frequencies
    one_head = line(floats(1, 2, 3, 4), floats(0, 1, 0, 1), codes(0, 0, 0, 0), codes(0, 1, 2, 3))
    assert one_head.slope.value is None
    assert line(floats(), floats(), codes(), codes()) == FittedLine(NOTHING, NOTHING, ())


def test_where_all_is_right_there_is_no_interval() -> None:
    made = line(floats(0, 1, 2, 3, 4), floats(1, 1, 1, 1, 1), codes(0, 1, 2, 3, 4), codes(0, 1, 2, 3, 4))
    assert made.slope.value == pytest.approx(0)
    assert (made.slope.low, made.slope.high) == (None, None)
    assert all(place.low is None and place.share == pytest.approx(1) for place in made.band)


def test_where_one_head_decides_there_is_no_interval() -> None:
    # without head 0 all names are equally frequent
    x, shares = floats(1, 2, 3, 0, 0, 0, 0, 0), floats(1, 1, 0, 0, 1, 0, 1, 0)
    made = line(x, shares, codes(0, 0, 0, 1, 2, 3, 4, 5), codes(*range(8)))
    assert made.slope.value == pytest.approx(np.polyfit(x, shares, 1)[0])
    assert (made.slope.low, made.slope.high, made.slope.n) == (None, None, 8)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 8), st.integers(0, 5), st.integers(0, 5)), max_size=40))
def test_any_points_give_a_line_or_none(points: list[tuple[int, int, int, int]]) -> None:
    table = np.array(points, dtype=np.int64).reshape(-1, 4)
    made = line(log_frequency(table[:, 0].astype(float)), table[:, 1] / 8, table[:, 2], table[:, 3])
    assert made.slope.n == len(points)
    if made.slope.value is not None and made.slope.low is not None and made.slope.high is not None:
        assert made.slope.low <= made.slope.value <= made.slope.high
    json.dumps(record_of(made), allow_nan=False)


def test_the_interval_holds_the_slope_in_95_of_100_simulations() -> None:
    # heads and tails with effects of their own, tails by Zipf's law; `benchmarks/rarity.py` has more worlds
    held, runs, slope = 0, 400, 0.05
    for seed in range(runs):
        random = np.random.default_rng(seed)
        x_of = random.normal(2.5, 1.1, 40).clip(0)
        weights = 1 / np.arange(1, 41)
        heads, tails = np.repeat(np.arange(100), 4), random.choice(40, size=400, p=weights / weights.sum())
        effects = random.normal(0, 0.1, 100)[heads] + random.normal(0, 0.1, 40)[tails]
        share = random.binomial(8, (0.5 + slope * (x_of[tails] - 2.5) + effects).clip(0, 1)) / 8
        made = line(x_of[tails], share, heads, tails).slope
        held += made.low <= slope <= made.high
    assert 0.92 <= held / runs <= 0.985


# ------------------------------------------------------------------------- a run


@dataclass
class World:
    """A run whose share of right answers falls with the rarity of tails, and the frequencies."""

    store: Store
    run: str
    frequencies: Path
    counts: Mapping[str, int]


SLOPE = 0.1
HEADS, TAILS = 60, 30


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("rarity")
    random = np.random.default_rng(7)
    rows = []
    for head in range(HEADS):
        for tail in random.choice(TAILS, size=3, replace=False):
            kind = f"Kind {tail % 5}"
            rows.append({"head": f"disease {head}", "relation": "symptoms", "tail": f"Sign-{tail}", "tail_type": kind})
    counts = {f"sign {tail}": int(10 ** random.uniform(0, 5)) for tail in range(TAILS)}
    counts |= {f"disease {head}": 50 for head in range(HEADS)}
    store = Store(f"sqlite:///{folder / 'runs.db'}")
    spec = RunSpec(model="scripted", facts=str(write_csv(folder / "facts.csv", rows)), shots=0)
    run = start(spec, store)
    signs = {statement_key(item): sign(item, counts, random) for item in store.answers.asked(run)}
    answer_run(run, store, ScriptedModel.for_run(run, store, signs))
    table = write_csv(folder / "counts.csv", [{"Term": name, "Count": count} for name, count in counts.items()])
    return World(store, run, table, counts)


def sign(item: Asked, counts: Mapping[str, int], random: np.random.Generator) -> str:
    fact = item.statement.fact
    if (fact.head, item.statement.variant) == ("disease 1", "inv"):
        return FAILED
    right = 0.4 + SLOPE * log10(counts[name_key(fact.tail or "")] + 1)
    return RIGHT if random.random() < right else random.choice([WRONG, UNREADABLE])


def test_a_run_recovers_its_slope(world: World) -> None:
    made, points = rarity_of(world.store, world.run, read_frequencies(world.frequencies))
    slope = made.by_tail.line.slope
    assert 0 < slope.low < SLOPE < slope.high
    assert slope.high - slope.low < 0.1
    assert slope.n == made.by_tail.facts == made.facts == len(points)
    assert made.by_tail.without == 0
    # every head is named equally often, so that nothing can be said of heads, and the rarer name is often the tail
    assert made.by_head.line.slope.value is None
    assert made.by_rarer.line.slope.value is not None


def test_points_are_counted_from_the_answers(world: World) -> None:
    _, points = rarity_of(world.store, world.run, read_frequencies(world.frequencies))
    by_fact: dict[str, list[Asked]] = {}
    for item in world.store.answers.asked(world.run):
        by_fact.setdefault(item.statement.fact.fact_id, []).append(item)
    assert {p.fact.positive for p in points} == {True, False}
    for point in points:
        items = by_fact.pop(point.fact.fact_id)
        counted = [i for i in items if i.answer is not None and i.answer.failure is None]
        assert point.answered == len(counted) == (7 if point.fact.head == "disease 1" else 8)
        assert point.right == sum(i.answer is not None and i.answer.answer is i.statement.label for i in counted)
        assert point.tail_count == world.counts[name_key(point.fact.tail or "")]
        assert point.rarer_count == min(50, point.tail_count)
    assert not by_fact


def test_types_are_those_of_the_report(world: World) -> None:
    made, points = rarity_of(world.store, world.run, read_frequencies(world.frequencies))
    assert sorted(made.types) == [f"Kind {kind}" for kind in range(5)]
    means = []
    for name, of in made.types.items():
        own = [p for p in points if p.fact.tail_type == name]
        assert of.with_frequency == len(own) == of.accuracy.facts
        means.append(of.mean_log_frequency)
        assert of.mean_log_frequency == pytest.approx(sum(log10((p.tail_count or 0) + 1) for p in own) / len(own))
        assert of.accuracy.value == pytest.approx(sum(p.right for p in own) / sum(p.answered for p in own))
    assert means == sorted(means)
    assert made.types_line.slope == (None, None, None, 5)
    assert "across types, for a tenfold frequency: 5 types: too few for a line" in rarity_text(made)


def test_names_without_a_frequency_are_left_out_and_counted(world: World) -> None:
    some = {name: count for name, count in world.counts.items() if name not in {"sign 1", "sign 2"}}
    made, points = rarity_of(world.store, world.run, Frequencies("some", some))
    without = [p for p in points if p.fact.tail in {"Sign-1", "Sign-2"}]
    assert made.by_tail.without == made.by_rarer.without == len(without)
    assert made.by_tail.facts == len(points) - len(without)
    assert set(made.by_tail.missing) == {"Sign-1", "Sign-2"}
    assert made.by_head.without == 0
    assert all(p.rarer_count is None for p in without)


def test_frequencies_of_other_names_are_a_mistake(world: World) -> None:
    with pytest.raises(Mistake, match=r"no frequency of any name.*--frequencies"):
        rarity_of(world.store, world.run, Frequencies("other.csv", {"tomato": 7}))


# ------------------------------------------------------------------------- a table


def test_a_table_in_any_case_and_spelling(tmp_path: Path) -> None:
    path = tmp_path / "counts.tsv"
    path.write_text("Frequency\tNAME\n12\tAnæmia\n7\tanemia\n1,200\tHodgkin's  lymphoma\n0\tx-ray\n3.0\tEdema\n1.2E3\tpain\n")
    made = read_frequencies(path)
    assert made.counts == {"anemia": 12, "hodgkins lymphoma": 1200, "x ray": 0, "edema": 3, "pain": 1200}
    assert made.of("Œdema") == 3
    assert made.of("nobody") is None
    assert made.notes == ("1 names stand in several rows of counts.tsv; the largest count is taken.",)


@pytest.mark.parametrize("rubbish", ["", "many", "-1", "1.5", "1,2", "nan", "inf", "1e400", "١٢", "9" * 40, "1 000", "0x10"])
def test_rubbish_is_a_problem_of_its_row(tmp_path: Path, rubbish: str) -> None:
    path = write_csv(tmp_path / "counts.csv", [{"term": "a", "count": "1"}, {"term": "b", "count": rubbish}])
    made = read_frequencies(path)
    assert made.counts == {"a": 1}
    assert [str(problem) for problem in made.problems] == ["row 3: the count is not a whole number from 0"]


UNUSABLE = {
    "a column": ("term,how often\na,1\n", "the column count is missing; the file has term, how often"),
    "a term": ("term,count\n ,1\n", r"holds no usable frequency \(row 2: the term is empty\)"),
    "a column twice": ("count,term,Count\n1,a,2\n", "'count' occurs twice"),
    "too many rows": ("term,count\n" + "".join(f"t{i},1\n" for i in range(VISITOR.rows + 1)), "more than 100,000 rows"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_table_that_cannot_be_used(case: str, tmp_path: Path) -> None:
    text, words = UNUSABLE[case]
    (tmp_path / "counts.csv").write_text(text)
    with pytest.raises(FactsError, match=words):
        read_frequencies(tmp_path / "counts.csv", VISITOR)


def test_a_visitors_table_is_read_apart_with_a_visitors_limits(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "counts.csv", [{"term": "a", "count": 3}, {"term": "b", "count": "many"}])
    assert read_frequencies_isolated(path) == read_frequencies(path)
    path.write_text("term,count\n" + "".join(f"t{i},1\n" for i in range(VISITOR.rows + 1)))
    with pytest.raises(FactsError, match="more than 100,000 rows"):
        read_frequencies_isolated(path)


# ------------------------------------------------------------------------- a corpus

NAMES = ["fever", "joint pain", "Crohn's disease", "pain", "diabetes mellitus, type 2", "itch", "Giant-cell arteritis"]


def test_counting_in_lines_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text(
        "Fever. Feverish is another word; FEVER again.\n"
        "Joint pain, and fever: crohns disease or Crohn’s disease.\n"
        "The joint: pain.\n"
        "Diabetes mellitus, type 2, but not diabetes mellitus type 2; giant cell arteritis (giant‑cell arteritis)."
    )
    counted = counts_in(path, [*NAMES, "''"])
    assert counted.counts == {
        "fever": 2,
        "joint pain": 1,
        "crohns disease": 1,
        "pain": 2,
        "type 2 diabetes mellitus": 1,
        "itch": 0,
        "giant cell arteritis": 1,
    }
    assert counted.notes == ("Counts are passages of corpus.txt: 4 in all.",)


def test_counting_in_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"a joint\r\npain here\r\n\r\n\r\nfever\r\nfever\r\n \r\njoint\r\n\r\npain\r\n")
    assert counts_in(path, NAMES).counts["joint pain"] == 1
    assert counts_in(path, NAMES).counts["fever"] == 1
    assert counts_in(path, NAMES).counts["pain"] == 2


def test_counting_in_tables(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"text": "fever", "title": "pain"}\n{"text": "no fever", "title": "itch"}\n{"text": "", "title": "x"}\n')
    assert counts_in(path, ["fever", "pain"]).counts == {"fever": 2, "pain": 0}
    assert counts_in(path, ["fever", "pain"], "title").counts == {"fever": 0, "pain": 1}
    with pytest.raises(FactsError, match=r"no column 'body'.*text, title"):
        counts_in(path, ["fever"], "body")
    for name, text in (("empty.txt", " \n"), ("no.pdf", "x")):
        (tmp_path / name).write_text(text)
        with pytest.raises(FactsError):
            counts_in(tmp_path / name, ["fever"])


def test_a_passage_without_end_is_cut_between_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MAX_PASSAGE", 50)
    path = tmp_path / "corpus.txt"
    path.write_text("fever itch " * 20)
    made = counts_in(path, ["fever", "itch", "fev", "feverfever"])
    assert made.counts["fev"] == made.counts["feverfever"] == 0
    assert made.counts["fever"] == made.counts["itch"] == 5  # 220 characters, four words in 44 of 50: five passages


@given(
    st.lists(st.sampled_from(["a", "b", "a-b", "a/b", "/", "b.c", "c"]), max_size=12),
    st.sampled_from(["a b", "a/b", "b", "a b b", "b."]),
)
def test_names_are_found_as_a_plain_search_finds_them(words: list[str], name: str) -> None:
    wanted = counting._Wanted([name])
    text, key = " ".join(words), name_key(name)
    spaced = " ".join(counting._WORDS.findall(name_key(text)))
    assert (key in wanted.found_in(text)) == (f" {' '.join(counting._WORDS.findall(key))} " in f" {spaced} ")


# ------------------------------------------------------------------------- PubMed


@dataclass
class Mirror:
    """A PubMed on this machine. counts: query → count; anything else is found in the index with 0. asked: queries."""

    url: str
    counts: dict[str, int] = field(default_factory=dict)
    unquoted: set[str] = field(default_factory=set)
    asked: list[dict[str, str]] = field(default_factory=list)
    reply: bytes | None = None

    def answer(self, address: str) -> bytes:
        params = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        self.asked.append({**params, "path": urlsplit(address).path})
        if self.reply is not None:
            return self.reply
        term = params["term"]
        dropped = {"warninglist": {"quotedphrasesnotfound": [term]}} if term in self.unquoted else {}
        return json.dumps({"esearchresult": {"count": str(self.counts.get(term, 0)), "idlist": [], **dropped}}).encode()


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    class Handler(WholeReplies, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = made.answer(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with LoopbackServer(Handler) as server:
        made = Mirror(server.url)
        monkeypatch.setenv("MEDFACT_PUBMED_URL", made.url)
        yield made


@pytest.fixture(autouse=True)
def nobody_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here asks NCBI, whatever it does."""
    monkeypatch.setenv("MEDFACT_PUBMED_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("NCBI_API_KEY", "secret")  # it allows 10 requests a second


def test_pubmed_counts_and_keeps(mirror: Mirror, tmp_path: Path) -> None:
    mirror.counts = {'"giant cell arteritis"': 12_345}
    kept = tmp_path / "home" / "pubmed.jsonl"
    pubmed = PubMed(kept)
    assert pubmed.count('giant  cell "arteritis"') == 12_345
    (asked,) = mirror.asked
    assert asked["path"] == "/entrez/eutils/esearch.fcgi"
    assert {name: asked[name] for name in ("db", "retmode", "retmax", "api_key")} == {
        "db": "pubmed",
        "retmode": "json",
        "retmax": "0",
        "api_key": "secret",
    }
    assert PubMed(kept).count("giant cell arteritis") == 12_345
    assert len(mirror.asked) == 1
    assert "secret" not in kept.read_text()


def test_a_phrase_outside_the_index_is_found_by_its_words_beside_each_other(mirror: Mirror) -> None:
    mirror.counts = {'"swallow syncope"': 900, '"swallow syncope"[Title/Abstract:~0]': 41}
    mirror.unquoted = {'"swallow syncope"'}
    assert PubMed().count("swallow syncope") == 41


@pytest.mark.parametrize("reply", [b"{}", b'{"esearchresult": {"ERROR": "x"}}', b'{"esearchresult": {"count": "-1"}}', b"[]"])
def test_an_answer_without_a_count_is_not_kept(mirror: Mirror, tmp_path: Path, reply: bytes) -> None:
    pubmed = PubMed(tmp_path / "pubmed.jsonl")
    mirror.reply = reply
    with pytest.raises(ReferenceDown, match="without a count"):
        pubmed.count("fever")
    mirror.reply, mirror.counts = None, {'"fever"': 5}
    assert pubmed.count("fever") == 5


def test_names_that_stand_together_are_counted_by_hand(tmp_path: Path) -> None:
    """Three passages: gout and fever stand together in one of the two that name gout; asthma and fever nowhere."""
    path = tmp_path / "corpus.txt"
    path.write_text("Gout with fever.\n\nFever.\n\nGOUT alone; asthma.\n", encoding="utf-8")
    found = counts_in(path, ["gout", "fever", "asthma"], couples=[("gout", "fever"), ("fever", "asthma"), ("asthma", "gout")])
    assert [found.of(name) for name in ("gout", "fever", "asthma")] == [2, 2, 1]
    assert [found.of_both(*names) for names in (("gout", "Fever"), ("asthma", "fever"), ("gout", "asthma"))] == [1, 0, 1]
    assert found.of_both("gout", "cough") is found.of_both("gout", None) is None


def test_a_table_knows_nothing_of_names_together(medfact: Medfact, world: World) -> None:
    outcome = medfact("rarity", world.run, "--frequencies", world.frequencies, "--db", world.store.url, "--json")
    assert outcome.rows[0]["by_together"] is None
    refused = medfact("rarity", world.run, "--frequencies", world.frequencies, "--together", "--db", world.store.url)
    assert refused.code == 2
    assert "does not say how often two stand together" in refused.err


def test_pubmed_counts_heads_with_tails_if_asked(
    medfact: Medfact, world: World, mirror: Mirror, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medfact.references.REQUESTS_A_SECOND_WITH_KEY", 10_000)
    names, couples = names_of(world.store, world.run), couples_of(world.store, world.run)
    mirror.counts = {f'"{head}" AND "{tail}"': 10 * place for place, (head, tail) in enumerate(couples)}
    outcome = medfact("rarity", world.run, "--pubmed", "--together", "--db", world.store.url, "--json")
    assert outcome.code == 0, outcome.err
    assert len(mirror.asked) == len(names) + len({frozenset(map(name_key, couple)) for couple in couples})
    made = json.loads(outcome.out)
    assert made["by_together"]["facts"] + made["by_together_of_false"]["facts"] == made["facts"]
    text = medfact("rarity", world.run, "--pubmed", "--together", "--db", world.store.url).out
    assert re.search(r"^  both together, true facts +[+−]", text, re.MULTILINE)
    assert re.search(r"^  both together, false facts +[+−]", text, re.MULTILINE)


def test_a_model_that_follows_names_that_stand_together_shows_it_in_true_and_in_false_facts() -> None:
    """It says "true" to about 0, 4 and 8 of eight statements where the names stand together 0, 9 and 99 times: +50 points a
    tenfold of right answers on true facts, −50 on false ones, and 0 over both.
    """
    points = []
    for number in range(60):
        for positive in (True, False):
            times, said = ((0, 0), (9, 4), (99, 8))[(number + number // 3) % 3]
            said = min(max(said + (-1, 0, 1)[number % 3], 0), 8)
            fact = Fact(f"disease {number // 2}", "symptoms", f"sign {number} {positive}", positive=positive)
            points.append(FactPoint(fact, 8, said if positive else 8 - said, 1, 1, times))
    for positive in (True, False):
        own = [point for point in points if point.fact.positive == positive]
        x, y = ([log10((point.together_count or 0) + 1) for point in own], [point.share or 0.0 for point in own])
        fit = _by_together(points, positive)
        assert fit.line.slope.value == pytest.approx(float(np.polyfit(x, y, 1)[0]))
        assert abs(fit.line.slope.value or 0) == pytest.approx(0.5, abs=0.05)
        assert (fit.line.slope.value > 0) == positive
        assert fit.facts == len(own)


def test_pubmed_waits_between_requests(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key PubMed allows three in a second."""
    due: list[float] = []
    sleep = time.sleep

    def slept(seconds: float) -> None:
        sleep(seconds)
        due.append(time.monotonic())

    monkeypatch.setattr("medfact.references.time.sleep", slept)
    monkeypatch.delenv("NCBI_API_KEY")
    pubmed = PubMed()
    for term in ("a", "b", "c"):
        pubmed.count(term)
    assert all(after - before >= 1 / 3 for before, after in pairwise(due))
    assert len(due) == 3
    assert "api_key" not in mirror.asked[0]


# ------------------------------------------------------------------------- the command


def test_without_frequencies_the_command_says_how_to_bring_them(medfact: Medfact, world: World) -> None:
    outcome = medfact("rarity", world.run, "--db", world.store.url)
    assert outcome.code == 2
    assert outcome.out == ""
    for way in ("--frequencies FILE", "--corpus FILE", "--pubmed"):
        assert way in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_the_command_with_a_table(medfact: Medfact, world: World, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    outcome = medfact("rarity", world.run[:8], "--frequencies", world.frequencies, "--db", world.store.url, "-o", rows)
    assert outcome.code == 0, outcome.err
    assert "the finding" in outcome.out
    assert "points (" in outcome.out
    assert "Kind 3" in outcome.out
    made = json.loads(medfact("rarity", world.run, "--frequencies", world.frequencies, "--db", world.store.url, "--json").out)
    assert made["by_tail"]["line"]["slope"].keys() == {"value", "low", "high", "n"}
    assert made == record_of(rarity_of(world.store, world.run, read_frequencies(world.frequencies))[0])
    assert len(rows.read_text().splitlines()) == 1 + made["facts"]


def test_the_command_with_a_corpus(medfact: Medfact, world: World, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    lines = [{"body": f"It was sign-{tail}."} for tail in range(TAILS) for _ in range(tail + 1)]
    corpus.write_text("\n".join(map(json.dumps, lines)))
    outcome = medfact("rarity", world.run, "--corpus", corpus, "--column", "body", "--db", world.store.url, "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["by_tail"]["without"] == 0
    assert medfact("rarity", world.run, "--corpus", corpus, "--db", world.store.url).code == 2
    wrong = medfact("rarity", world.run, "--column", "body", "--frequencies", world.frequencies, "--db", world.store.url)
    assert "--corpus" in wrong.err


def test_the_command_with_pubmed(
    medfact: Medfact, world: World, mirror: Mirror, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medfact.references.REQUESTS_A_SECOND_WITH_KEY", 10_000)
    names = names_of(world.store, world.run)
    mirror.counts = {f'"{name}"': world.counts[name_key(name)] for name in names}
    outcome = medfact("rarity", world.run, "--pubmed", "--db", world.store.url, "--json")
    assert outcome.code == 0, outcome.err
    assert urlsplit(mirror.url).netloc in outcome.err
    assert f"{len(names)} terms" in outcome.err
    assert len(mirror.asked) == len(names)
    assert (home / "references" / "pubmed.jsonl").is_file()
    again = medfact("rarity", world.run, "--pubmed", "--db", world.store.url, "--json")
    assert again.out == outcome.out
    assert len(mirror.asked) == len(names)
    assert f"{len(names)} of them from earlier answers" in again.err
    by_table = rarity_of(world.store, world.run, read_frequencies(world.frequencies))[0]
    assert json.loads(again.out)["by_tail"] == record_of(by_table.by_tail)


def test_without_network_pubmed_is_one_sentence_and_all_else_works(
    medfact: Medfact, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medfact.references.time.sleep", lambda _: None)
    outcome = medfact("rarity", world.run, "--pubmed", "--db", world.store.url)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "PubMed cannot be reached." in outcome.err.splitlines()[-1]
    assert "Traceback" not in outcome.err
    assert medfact("rarity", world.run, "--frequencies", world.frequencies, "--db", world.store.url).code == 0
    assert medfact("report", world.run, "--db", world.store.url).code == 0


def test_nothing_is_asked_without_the_option(medfact: Medfact, world: World, mirror: Mirror) -> None:
    assert medfact("rarity", world.run, "--frequencies", world.frequencies, "--db", world.store.url).code == 0
    assert mirror.asked == []


# ------------------------------------------------------------------------- text and figure


@pytest.fixture
def view(world: World) -> tuple[Rarity, list[FactPoint]]:
    return rarity_of(world.store, world.run, read_frequencies(world.frequencies))


def test_the_text_names_each_slope_with_its_n(view: tuple[Rarity, list[FactPoint]]) -> None:
    text = rarity_text(view[0])
    assert f"of {view[0].facts} facts" in text
    assert "no value: too few facts with different frequencies" in text  # of heads
    assert "A slope does not prove a cause" in text


def test_the_figure_shows_facts_types_line_and_band(
    view: tuple[Rarity, list[FactPoint]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, points = view
    facts, band, fitted, types = plots.rarity(made, points)["data"]
    assert facts["x"] == [1 + (point.tail_count or 0) for point in points]
    assert all(abs(y - 100 * (p.share or 0)) <= plots.JITTER / 2 for y, p in zip(facts["y"], points, strict=True))
    places = made.by_tail.line.band
    assert fitted["x"] == [10**place.x for place in places]
    assert (fitted["x"][0], fitted["x"][-1]) == pytest.approx((min(facts["x"]), max(facts["x"])))
    assert band["y"][: len(places)] == [100 * (place.high or 0) for place in places]
    assert types["text"] == list(made.types)
    assert len(types["error_y"]["array"]) == 5
    monkeypatch.setattr(plots, "MOST_POINTS", 100)
    fewer = plots.rarity(made, points)["data"][0]
    assert len(fewer["x"]) <= 100
    assert fewer["name"] == f"facts ({len(fewer['x'])} of {len(points)})"


def test_the_figure_takes_no_markup_from_types(view: tuple[Rarity, list[FactPoint]]) -> None:
    made, points = view
    hostile = replace(made, types={"<a href='javascript:alert(1)'>x</a>": next(iter(made.types.values()))})
    assert plots.rarity(hostile, points)["data"][-1]["text"] == ["&lt;a href='javascript:alert(1)'&gt;x&lt;/a&gt;"]


def test_without_frequencies_of_tails_there_is_no_figure(world: World) -> None:
    assert plots.rarity(*rarity_of(world.store, world.run, Frequencies("heads", {"disease 9": 4}))) == {}
