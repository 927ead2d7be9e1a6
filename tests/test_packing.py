"""Prompts packed as prefix trees: every token once, every prompt whole, and nothing seen of another prompt."""

from hypothesis import given
from hypothesis import strategies as st

from medfact.models.packing import ROOT, Pack, packs

PROMPTS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=12)


def path(pack: Pack, node: int) -> list[int]:
    """The nodes on the way from the root to a node."""
    nodes: list[int] = []
    while node != ROOT:
        nodes.insert(0, node)
        node = pack.parents[node]
    return nodes


@given(prompts=PROMPTS, budget=st.integers(1, 40), followers=st.lists(st.integers(7, 9), unique=True))
def test_every_prompt_is_a_way_from_the_root(prompts: list[list[int]], budget: int, followers: list[int]) -> None:
    made = list(packs(prompts, budget, followers))
    placed = [place for pack in made for place, _ in pack.ends]
    assert sorted(placed) == list(range(len(prompts)))
    for pack in made:
        assert len(pack.tokens) <= budget or len(pack.ends) == 1
        for place, end in pack.ends:
            way = path(pack, end)
            assert [pack.tokens[node] for node in way] == prompts[place]
            assert [pack.depths[node] for node in way] == list(range(len(way)))
            assert [pack.tokens[node] for node in pack.follows[place]] == followers
            assert all(pack.parents[node] == end for node in pack.follows[place])


@given(prompts=PROMPTS)
def test_what_prompts_begin_with_is_there_once(prompts: list[list[int]]) -> None:
    (pack,) = packs(prompts, 1_000)
    beginnings = {tuple(prompt[:length]) for prompt in prompts for length in range(1, len(prompt) + 1)}
    assert len(pack.tokens) == len(beginnings)


@given(prompts=PROMPTS, followers=st.lists(st.integers(7, 9), unique=True))
def test_a_token_sees_its_own_prompt_alone(prompts: list[list[int]], followers: list[int]) -> None:
    (pack,) = packs(prompts, 1_000, followers)
    sees = pack.sees()
    for node in range(len(pack.tokens)):
        assert {other for other in range(len(pack.tokens)) if sees[node, other]} == set(path(pack, node))


def test_two_prompts_by_hand() -> None:
    """1 2 3 and 1 2 4, after each of them 9: six tokens; the second 9 sees 1, 2, 4 and itself."""
    (pack,) = packs([[1, 2, 4], [1, 2, 3]], 100, [9])
    assert (pack.tokens, pack.parents, pack.depths) == ([1, 2, 3, 9, 4, 9], [-1, 0, 1, 2, 1, 4], [0, 1, 2, 3, 2, 3])
    assert pack.ends == [(1, 2), (0, 4)]
    assert [int(seen) for seen in pack.sees()[5]] == [1, 1, 0, 0, 1, 1]
