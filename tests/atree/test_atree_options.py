"""Every option switches one idea off, shows it in a counter, and changes no answer."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from atree_support import by_rule, p, random_event, random_rule, tree_of, true

import matchwood as mw
from matchwood.engines.atree.layout import ID_MASK, MOST_ASKED
from matchwood.engines.atree.options import DEFAULTS
from matchwood.errors import InvalidArgument
from tests.conftest import SOAK

STEPS = 40 if SOAK else 10
COMBINATIONS = [
    dict(zip(DEFAULTS, (*values, sum(values) % 2 == 0), strict=True))
    for values in itertools.product((True, False), repeat=len(DEFAULTS) - 1)
]
TRIED = COMBINATIONS if SOAK else COMBINATIONS[::5]
"""Every fifth has any two values of any two options together."""


@pytest.mark.parametrize("options", TRIED, ids=lambda each: "".join("01"[value] for value in each.values()))
def test_equal_to_the_oracle_with_all_combinations(options: dict[str, bool], tmp_path: Any) -> None:
    rng = random.Random(repr(options))
    index, oracle = mw.Index("atree", options=options), mw.Index("oracle")
    for step in range(STEPS):
        number = rng.randrange(15)
        if number in index and rng.random() < 0.5:
            del index[number]
            del oracle[number]
        elif rng.random() < 0.3:
            rules = {rng.randrange(15): random_rule(rng, depth=rng.randint(1, 4)) for _ in range(4)}
            index.insert_many(rules, on_duplicate="replace")
            oracle.insert_many(rules, on_duplicate="replace")
        else:
            index[number] = oracle[number] = random_rule(rng)
        if step == STEPS // 2:
            index.save(tmp_path / "index")
            index = mw.open(tmp_path / "index")
        assert index.audit() == []
        events = [random_event(rng) for _ in range(8)]
        assert index.match_many(events).to_pydict() == oracle.match_many(events).to_pydict()


def test_any_two_values_of_options_are_tried_together() -> None:
    for first, second in itertools.combinations(DEFAULTS, 2):
        assert len({(options[first], options[second]) for options in TRIED}) == 4, (first, second)


def test_options_are_checked_and_saved(tmp_path: Any) -> None:
    for name in DEFAULTS:
        with pytest.raises(InvalidArgument, match=f"option '{name}' of engine 'atree' must be True or False"):
            mw.Index("atree", options={name: 1})
    with pytest.raises(InvalidArgument, match="has no option 'speed'"):
        mw.Index("atree", options={"speed": True})
    tree_of(["x = 1"], unique=False, on_demand=False).save(tmp_path)
    settings = mw.open(tmp_path)._matcher.parts[-1].store.settings  # type: ignore[attr-defined]
    assert settings == {**DEFAULTS, "unique": False, "on_demand": False}


def stats_of(rules: list[str], events: list[dict[str, int]] = (), **options: bool) -> dict[str, Any]:  # type: ignore[assignment]
    index = tree_of(rules, **options)
    index.match_many(events or [{}])
    return index.stats()


def test_unique_makes_equal_parts_one_node() -> None:
    rules = [p(1, 2), f"({p(1, 2)}) and {p(3)}", p(2, 1)]
    shared, apart = stats_of(rules), stats_of(rules, unique=False)
    assert (shared["nodes"], shared["units"]) == (5, 2)
    assert (apart["nodes"], apart["units"]) == (3 + 5 + 3, 3)


def test_without_unique_nothing_is_shared_in_a_batch_either() -> None:
    """In bulk as one by one: equal leaves of rules that come together are leaves of their own."""
    rules = dict(enumerate([p(1, 2), f"({p(1, 2)}) and {p(3)}", p(2, 1), p(1), p(1)]))
    bulk, single = mw.Index("atree", options={"unique": False}), tree_of(rules, unique=False)
    bulk.insert_many(rules)
    for key, expected in (("nodes", 3 + 5 + 3 + 1 + 1), ("units", 5), ("edges", 2 + 4 + 2)):
        assert bulk.stats()[key] == single.stats()[key] == expected
    assert (bulk.audit(), bulk.match(true(1))) == ([], [0, 2, 3, 4])
    for rule in rules:
        del bulk[rule]
        assert bulk.audit() == []
    assert (bulk.stats()["nodes"], bulk.stats()["encoding"]["boundaries"]) == (0, 0)


def nested(rng: random.Random, members: list[str], word: str) -> str:
    """The same operands and operator, in brackets here and there."""
    parts = list(members)
    rng.shuffle(parts)
    while len(parts) > 2 and rng.random() < 0.9:
        first = rng.randrange(len(parts) - 1)
        stop = min(len(parts), first + rng.randint(2, 5))
        parts[first:stop] = [f"({f' {word} '.join(parts[first:stop])})"]
    return f" {word} ".join(parts)


@pytest.mark.parametrize("seed", range(4))
def test_nests_of_one_operator_are_one_node_however_they_are_written(seed: int) -> None:
    rng = random.Random(seed)
    members = [f"not {p(1)}", *(p(number) for number in range(2, 14))]
    index = mw.Index("atree", options={"zero_suppression": False})
    for rule in range(12):
        index[rule] = nested(rng, members, "and")
        assert index.audit() == []
    assert (index.stats()["units"], index.stats()["nodes"]) == (1, 13 + 2)
    for rule in range(12, 30):
        index[rule] = nested(rng, rng.sample(members, rng.randint(3, 13)), rng.choice(("and", "or")))
        assert index.audit() == []
    for rule in range(30):
        del index[rule]
        assert index.audit() == []
    assert index.stats()["nodes"] == 0


def test_reorganise_saves_links() -> None:
    rules = [p(1, 2, 3), p(1, 2, 3, 4), p(1, 2, 3, 5)]
    assert stats_of(rules)["edges"] == 3 + 2 + 2
    assert stats_of(rules, reorganise=False)["edges"] == 3 + 4 + 4


PARITIES = {
    "part": p(1, 2, 3, word="xor"),
    "other": p(3, 4, word="xor"),
    "more": p(1, 2, 3, 4, 5, word="xor"),
    "even": f"not ({p(9)}) xnor {p(1, 2, 3, word='xor')}",
    "both": f"({p(1, 2, 3, word='xor')}) xor ({p(3, 4, word='xor')})",
}


def test_parities_are_reorganised_by_parts_that_do_not_overlap() -> None:
    """Alg. 2 for xor and xnor, of which no operand may be covered twice: part and other share p3."""
    index = tree_of(PARITIES, zero_suppression=False)
    roots = by_rule(index)
    leaves = {node.constraint: node.number for node in index.nodes()}
    assert set(roots["more"].children) == {roots["part"].number, leaves["p4 = 1"], leaves["p5 = 1"]}
    assert (roots["even"].kind, roots["part"].number in roots["even"].children) == ("xnor", True)
    assert roots["part"].number not in roots["both"].children
    backwards = tree_of(dict(reversed(PARITIES.items())), zero_suppression=False)
    assert (backwards.stats()["adopted"], backwards.stats()["nodes"]) == (2, index.stats()["nodes"])
    plain = tree_of(PARITIES, zero_suppression=False, reorganise=False, self_adjust=False)
    # Backwards, more takes other in, which has p3, and part comes too late for that.
    edges = plain.stats()["edges"]
    assert (index.stats()["edges"], backwards.stats()["edges"]) == (edges - 4, edges - 3)


def parity_rule(rng: random.Random, attributes: int = 6) -> str:
    """A nest of xor and xnor, in which operands may come more than once."""
    parts = [f"a{rng.randrange(attributes)} = 1" for _ in range(rng.randint(2, 6))]
    while len(parts) > 1:
        count = rng.randint(2, len(parts))
        word = rng.choice(("xor", "xor", "xor", "xnor", "and"))
        parts[:count] = [f"({f' {word} '.join(parts[:count])})"]
        rng.shuffle(parts)
    return parts[0]


@pytest.mark.few
@pytest.mark.parametrize("mask", [-1, 1])
@pytest.mark.parametrize("seed", range(3))
def test_parities_are_sound_after_every_operation(seed: int, mask: int) -> None:
    """Also where ids collide, so that nodes are told apart by what they say."""
    rng = random.Random(seed)
    index, oracle = mw.Index("atree", options={"zero_suppression": False}), mw.Index("oracle")
    index._matcher.parts[-1].store.nodes.state[ID_MASK] = mask  # type: ignore[attr-defined]
    for _ in range(150 if SOAK else 30):
        number = rng.randrange(20)
        if number in index and rng.random() < 0.5:
            del index[number]
            del oracle[number]
        else:
            index[number] = oracle[number] = parity_rule(rng)
        assert index.audit() == []
        events = [random_event(rng) for _ in range(8)]
        assert index.match_many(events).to_pydict() == oracle.match_many(events).to_pydict()
    assert index.stats()["nodes"] == tree_of(dict(index), zero_suppression=False).stats()["nodes"]
    for number in list(index):
        del index[number]
        assert index.audit() == []
    assert index.stats()["nodes"] == 0


def test_long_nests_of_xor_keep_some_of_their_nodes() -> None:
    """More operands than are read as one list, some of them twice, and a part that another rule needs for a while."""
    text = p(*range(1, 61), word="xor")
    rules = {"part": text, "long": f"({text}) xor ({p(*range(55, 120), word='xor')}) xor {p(7)}"}
    index = tree_of({**rules, "again": rules["long"]}, zero_suppression=False)
    assert index.stats()["units"] == 2
    for members in ((7,), (1, 7, 56), (56, 100), (1, 2), ()):
        odd = {"part": sum(number <= 60 for number in members) % 2}
        odd["long"] = odd["again"] = (odd["part"] + sum(number >= 55 for number in members) + (7 in members)) % 2
        assert index.match(true(*members, of=120)) == [rule for rule in ("part", "long", "again") if odd[rule]]
    for rule in ("part", "long", "again"):
        del index[rule]
        assert index.audit() == []
    assert index.stats()["nodes"] == 0


def test_self_adjust_saves_links_whatever_the_order() -> None:
    rules = [p(1, 2, 3, 4), p(1, 2, 3, 5), p(1, 2, 3)]
    assert stats_of(rules)["edges"] == 2 + 2 + 3
    assert stats_of(rules, self_adjust=False)["edges"] == 4 + 4 + 3


def test_as_published_all_covers_and_all_parents_are_looked_at() -> None:
    """More parts than we weigh against each other, and more parents than we ask."""
    parts = [p(*pair) for pair in itertools.combinations(range(1, 13), 2)]
    wide = [f"{p(1, 2, 3)} or a{number} = 1" for number in range(100)]
    for rules in ([*wide, p(1, 2, 3)], [*parts, p(*range(1, 13))]):
        ours, theirs = (tree_of(rules, as_published=published).stats() for published in (False, True))
        assert theirs["adopted"] >= ours["adopted"]
        assert theirs["links_saved"] >= ours["links_saved"]
    ours, theirs = (tree_of([*wide, p(1, 2, 3)], as_published=published) for published in (False, True))
    assert (ours.stats()["adopted"], theirs.stats()["adopted"]) == (MOST_ASKED, 100)
    assert ours.stats()["edges"] > theirs.stats()["edges"]
    assert theirs.stats()["options"]["bounded"] is False
    with pytest.raises(InvalidArgument, match="'bounded' of engine 'atree' is False as published"):
        mw.Index("atree", options={"as_published": True, "bounded": True})


def test_a_node_that_very_many_adopt_has_room_for_them() -> None:
    rules = {number: f"{p(1, 2, 3)} or a{number} = 1" for number in range(5_000)}
    index = mw.Index("atree", options={"as_published": True})
    index.insert_many(rules)
    index[len(rules)] = p(1, 2, 3)
    assert index.stats()["adopted"] == 5_000
    assert index.audit() == []
    assert len(index.match({"p3": 1})) == 5_001
    assert index.match({"a7": 1}) == [7]


def test_bytes_are_those_of_everything_that_is_kept() -> None:
    index = tree_of([random_rule(random.Random(number)) for number in range(60)])
    tree, stats = index._matcher.parts[-1].store, index.stats()  # type: ignore[attr-defined]
    saved = sum(array.nbytes for array in tree.arrays().values())
    links = sum(4 * len(tree.arrays()[name]) for name in ("children", "parents"))
    assert stats["bytes_index"] + tree.bytes_verify + tree.bytes_shared == saved + links


def test_zero_suppression_saves_the_work_on_what_is_false() -> None:
    rules = [f"({p(n, n + 1)}) and not ({p(n + 2)} xor {p(n + 3)})" for n in range(1, 6)]
    events = [true(2), true(4, 6)]
    with_it, without = stats_of(rules, events), stats_of(rules, events, zero_suppression=False)
    assert with_it["matching"]["matched"] == without["matching"]["matched"]
    assert 1.5 * with_it["matching"]["candidates"] < without["matching"]["candidates"]
    kinds = {node.kind for node in tree_of(rules, zero_suppression=False).nodes()}
    assert {"predicate", "not", "xor", "and", "or"} == kinds


@pytest.mark.parametrize("zero_suppression", [True, False])
def test_on_demand_looks_only_where_the_access_child_is_true(zero_suppression: bool) -> None:
    rules = [f"a = {number} and p1 = 1" for number in range(20)]
    events = [{"a": 5, "p1": 1}]
    options = {"zero_suppression": zero_suppression}
    with_it, without = stats_of(rules, events, **options), stats_of(rules, events, on_demand=False, **options)
    assert with_it["matching"]["verified"] == 1
    assert without["matching"]["verified"] == 20


def test_binary_makes_nodes_of_two_children() -> None:
    rules = [p(1, 2, 3, 4), p(1, 2, 3, 5)]
    index = tree_of(rules, binary=True)
    assert {len(node.children) for node in index.nodes()} == {0, 2}
    assert index.stats()["levels"] == 4
    assert index.stats()["nodes"] == 5 + 2 + 2
    assert stats_of(rules)["levels"] == 2


@pytest.mark.parametrize(
    ("rule", "event"),
    [
        ("not t one of ('x', 'y')", {"t": []}),
        ("e != 2 xor t none of ('z')", {"e": 5, "t": ["z"]}),
        ("t all of ('x', 'y') xnor c = 4", {"t": ["z"], "c": 1}),
        ("not s like '%a%b%'", {"s": "q"}),
        ("s rlike 'x' xor c = 1", {"s": "q", "c": 1}),
    ],
)
def test_false_of_lists_and_patterns_is_told_from_null(rule: str, event: dict[str, Any]) -> None:
    index = mw.Index(engine="atree", options={"zero_suppression": False})
    index["rule"] = rule
    assert index.match(event) == ["rule"]
    assert index.match({}) == []
