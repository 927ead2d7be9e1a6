"""Packed prompts as prefix trees: every token once, every prompt whole, and nothing seen of another prompt."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from medfact.models.local.packing import PACK_OVERHEAD_TOKENS, ROOT, Pack, packs

PROMPTS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=12)


def path(pack: Pack, node: int) -> list[int]:
    """The nodes on the way from the root to a node."""
    nodes: list[int] = []
    while node != ROOT:
        nodes.insert(0, node)
        node = pack.parents[node]
    return nodes


@given(prompts=PROMPTS, budget=st.integers(1, 40), long=st.floats(1, 1e6))
def test_every_prompt_is_a_way_from_the_root(prompts: list[list[int]], budget: int, long: float) -> None:
    made = list(packs(prompts, budget, long))
    placed = [place for pack in made for place, _ in pack.ends]
    assert sorted(placed) == list(range(len(prompts)))
    for pack in made:
        assert len(pack.tokens) <= budget or len(pack.ends) == 1
        for place, end in pack.ends:
            way = path(pack, end)
            assert [pack.tokens[node] for node in way] == prompts[place]
            assert [pack.depths[node] for node in way] == list(range(len(way)))


@given(prompts=PROMPTS)
def test_what_prompts_begin_with_is_there_once(prompts: list[list[int]]) -> None:
    (pack,) = packs(prompts, 1_000)
    beginnings = {tuple(prompt[:length]) for prompt in prompts for length in range(1, len(prompt) + 1)}
    assert len(pack.tokens) == len(beginnings)


@given(prompts=PROMPTS)
def test_a_token_sees_its_own_prompt_alone(prompts: list[list[int]]) -> None:
    (pack,) = packs(prompts, 1_000)
    sees = pack.attention()
    for node in range(len(pack.tokens)):
        assert {other for other in range(len(pack.tokens)) if sees[node, other]} == set(path(pack, node))


def cost(sizes: list[int], long: float) -> float:
    return sum(PACK_OVERHEAD_TOKENS + size * (1 + size / long) for size in sizes)


@given(prompts=st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=8), min_size=1, max_size=7), long=st.floats(1, 200))
def test_no_other_cuts_cost_less(prompts: list[list[int]], long: float) -> None:
    """All 2^(n - 1) ways to cut the sorted prompts, sized by counting beginnings."""

    def size(group: list[list[int]]) -> int:
        return len({tuple(prompt[:length]) for prompt in group for length in range(1, len(prompt) + 1)})

    ordered = sorted(prompts)
    ways = []
    for bits in range(2 ** (len(ordered) - 1)):
        cuts = [0, *(n + 1 for n in range(len(ordered) - 1) if bits >> n & 1), len(ordered)]
        sizes = [size(ordered[start:end]) for start, end in pairwise(cuts)]
        if all(tokens <= 20 or end - start == 1 for tokens, (start, end) in zip(sizes, pairwise(cuts), strict=True)):
            ways.append(cost(sizes, long))
    made = cost([len(pack.tokens) for pack in packs(prompts, 20, long)], long)
    assert abs(made - min(ways)) < 1e-6 * made


def test_two_prompts_by_hand() -> None:
    """1 2 3 and 1 2 4: four tokens; the 4 sees 1, 2 and itself."""
    (pack,) = packs([[1, 2, 4], [1, 2, 3]], 100)
    assert (pack.tokens, pack.parents, pack.depths) == ([1, 2, 3, 4], [-1, 0, 1, 1], [0, 1, 2, 2])
    assert pack.ends == [(1, 2), (0, 3)]
    assert [int(seen) for seen in pack.attention()[3]] == [1, 1, 0, 1]


def test_a_group_is_cut_off_where_a_longer_row_would_cost_more() -> None:
    """Two groups of 60 tokens that share nothing. In one row of 120: 32 + 120 · (1 + 120/100) = 296; in two of 60 each:
    2 · (32 + 60 · (1 + 60/100)) = 256. Where a row of 1,000 tokens is long: 32 + 120 · 1.12 = 166.4 against 2 · 95.6 = 191.2.
    """
    groups = [[first, *range(2, 51), number] for first in (0, 1) for number in range(100, 110)]
    assert [len(pack.tokens) for pack in packs(groups, 500, 100)] == [60, 60]
    assert [len(pack.tokens) for pack in packs(groups, 500, 1_000)] == [120]
