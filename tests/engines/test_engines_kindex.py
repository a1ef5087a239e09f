"""The K-index by itself: the paper's figures entry by entry, both forms at random, compression, merging, damage."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
from engines_support import (
    COMPILED,
    Constraint,
    Event,
    decode,
    encode,
    encode_events,
    found,
    frozen,
    random_conjunctions,
    random_constraint,
    random_events,
)

from matchwood.encoding.codes import TOP_LABEL, EncodedConjunctions
from matchwood.engines import ConjunctionStore, Workspace
from matchwood.engines.kindex.engine import SMALL, KIndex
from matchwood.engines.kindex.layout import RunArrays
from matchwood.engines.kindex.options import Layout
from matchwood.engines.kindex.run import Run
from matchwood.errors import CorruptSnapshot, InvalidArgument
from tests.conftest import SOAK

Clause = tuple[Constraint, ...]
Rule = tuple[Clause, ...]
SIZE = (2_000 if SOAK else 800) if COMPILED else 80

# Labels: a value v is the space [v, v + 1). A conjunction is a rule whose clauses are single constraints.
AGE, STATE, GENDER = 0, 1, 2
CA, NY, F, M = 1, 2, 1, 2


def among(attribute: int, *values: int) -> Constraint:
    return Constraint(attribute, tuple((value, value + 1) for value in values))


def weak_not(attribute: int, *values: int) -> Constraint:
    """WEAK not-in: all labels but these, and NULL."""
    edges = [0, *(edge for value in values for edge in (value, value + 1)), TOP_LABEL]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return Constraint(attribute, tuple((low, high) for low, high in pairs if low < high), True)


def encode_rules(rules: list[Rule]) -> EncodedConjunctions:
    flat = encode([tuple(itertools.chain.from_iterable(rule)) for rule in rules])
    alternatives = [place > 0 for rule in rules for clause in rule for place in range(len(clause))]
    return flat._replace(alternatives=np.array(alternatives, np.bool_))


def holds(rule: Rule, event: Event) -> bool:
    return all(any(each.holds(event.get(each.attribute)) for each in clause) for clause in rule)


def indexed(rules: list[Rule], **options: Any) -> tuple[KIndex, list[int]]:
    """An engine over these rules, and the unit of each."""
    store = ConjunctionStore(clauses=True)
    added = store.add(encode_rules(rules))
    engine = KIndex(store, options)
    engine.insert(added.new_units)
    return engine, added.units.tolist()


def lists_of(run: Run) -> dict[tuple[int, int], list[list[tuple[Any, ...]]]]:
    """The posting lists by K and attribute: (rule from 1 on, is it IN[, clause]), as the paper draws them.

    Numbers of units within a run are not those of the rules, so entries are put back into the order of the rules.
    """
    arrays, shown = run.arrays, {}
    for key in range(len(arrays.keys)):
        for place in range(arrays.key_offsets[key], arrays.key_offsets[key + 1]):
            size = int(arrays.sizes[arrays.list_sizes[place] >> 1])
            drawn = []
            for at in range(arrays.list_offsets[place], arrays.list_offsets[place + 1]):
                entry = int(arrays.entries[at])
                clause = (int(arrays.clauses[at]),) if run.of_clauses else ()
                drawn.append((int(arrays.units[entry >> 1]) + 1, bool(entry & 1), *clause))
            attribute = int(arrays.keys[key] >> np.uint64(32))
            shown.setdefault((size, attribute), []).append(sorted(drawn))
    return {key: sorted(lists) for key, lists in shown.items()}


CONJUNCTIONS: list[Rule] = [
    ((among(AGE, 3),), (among(STATE, NY),)),
    ((among(AGE, 3),), (among(GENDER, F),)),
    ((among(AGE, 3),), (weak_not(STATE, CA),), (among(GENDER, M),)),
    ((among(STATE, CA),), (among(GENDER, M),)),
    ((among(AGE, 3, 4),),),
    ((weak_not(STATE, CA, NY),),),
]
"""Figure 1, c1 to c6."""


def test_the_inverted_lists_of_figure_2() -> None:
    engine, _ = indexed(CONJUNCTIONS, direct=False)
    (run,) = engine._runs["dnf"]
    assert engine._runs["cnf"] == ()
    assert lists_of(run) == {
        (0, STATE): [[(6, False)], [(6, False)]],
        (1, AGE): [[(5, True)], [(5, True)]],
        (2, STATE): [[(1, True)], [(3, False), (4, True)]],
        (2, AGE): [[(1, True), (2, True), (3, True)]],
        (2, GENDER): [[(2, True)], [(3, True), (4, True)]],
    }
    assert run.zeros.tolist() == [5]
    assert engine.stats()["units_by_size"]["dnf"] == {"0": 1, "1": 1, "2": 4}


def test_the_assignment_of_figures_3_to_6_matches_c4_and_c5() -> None:
    """c1 and c2 are skipped; c3 and c6 are rejected by a NOT IN entry, after which all of their lists move on."""
    engine, units = indexed(CONJUNCTIONS, direct=False)
    hits = engine.match(encode_events([{AGE: 3, STATE: CA, GENDER: M}]), 0, Workspace())
    assert sorted(units.index(unit) + 1 for unit in hits.units.tolist()) == [4, 5]
    assert (hits.work.candidates, hits.work.matched) == (4, 2)


A, B, C, D, E = range(5)
CLAUSES: list[Rule] = [
    ((among(A, 1), among(B, 1)), (among(C, 1), among(D, 1))),
    ((among(A, 1), among(C, 2)), (among(B, 1), among(D, 1))),
    ((among(A, 1), among(B, 1)), (among(C, 2), among(D, 1))),
    ((among(A, 1), among(B, 1)), (among(A, 1, 2), among(D, 1))),
    ((among(A, 1), among(B, 1)), (weak_not(C, 1, 2), weak_not(D, 1), among(E, 1))),
    ((weak_not(A, 1), among(B, 1)),),
]
"""Figure 7, c1 to c6."""


def test_the_inverted_lists_of_figure_8() -> None:
    """(A, 2) stands in clause 1 of c4, as Figure 7 has it; the figure's entry says 0. Blocks join (A, 1) and (A, 2)
    only where they are aligned, which these are not."""
    engine, _ = indexed(CLAUSES, direct=False)
    (run,) = engine._runs["cnf"]
    assert engine._runs["dnf"] == ()
    assert lists_of(run) == {
        (0, A): [[(6, False, 0)]],
        (0, B): [[(6, True, 0)]],
        (1, C): [[(5, False, 1)], [(5, False, 1)]],
        (1, D): [[(5, False, 1)]],
        (1, A): [[(5, True, 0)]],
        (1, B): [[(5, True, 0)]],
        (1, E): [[(5, True, 1)]],
        (2, A): [[(1, True, 0), (2, True, 0), (3, True, 0), (4, True, 0)], [(4, True, 1)], [(4, True, 1)]],
        (2, B): [[(1, True, 0), (2, True, 1), (3, True, 0), (4, True, 0)]],
        (2, C): [[(1, True, 1)], [(2, True, 0), (3, True, 1)]],
        (2, D): [[(1, True, 1), (2, True, 1), (3, True, 1), (4, True, 1)]],
    }
    assert run.zeros.tolist() == [5]


def test_the_assignment_of_figure_9_matches_c3_c4_and_c5() -> None:
    """c1 is skipped; c2 (two lists, one clause) and c6 (only a violated NOT IN) are counted and fail."""
    engine, units = indexed(CLAUSES, direct=False)
    hits = engine.match(encode_events([{A: 1, C: 2}]), 0, Workspace())
    assert sorted(units.index(unit) + 1 for unit in hits.units.tolist()) == [3, 4, 5]
    assert (hits.work.candidates, hits.work.verified) == (5, 5)


def test_a_rejection_moves_the_first_lists_on() -> None:
    """Known slip: with the pseudo-code as printed this would not end."""
    rules: list[Rule] = [((among(0, 1),), (among(1, 1),), (weak_not(2, 1),)), ((among(0, 1),), (among(1, 1),))]
    engine, _ = indexed(rules, direct=False)
    assert found(engine, encode_events([{0: 1, 1: 1, 2: 1}, {0: 1, 1: 1}])) == [{1}, {0, 1}]


def random_rules(rng: np.random.Generator, count: int, attributes: int = 8, top: int = 40) -> list[Rule]:
    """Plain conjunctions and clauses, mixed; a clause has an attribute once, a rule may have it again."""
    made: list[Rule] = []
    for conjunction in random_conjunctions(rng, count, attributes, top):
        if rng.random() < 0.4:
            made.append(tuple((constraint,) for constraint in conjunction))
            continue
        clauses = []
        for place in range(int(rng.integers(1, 5))):
            # The first clause leaves a choice: rules without one are conjunctions, which have an attribute once.
            size = min(attributes, int(rng.integers(1 if place else 2, 5)))
            named = rng.choice(attributes, size=size, replace=False)
            clauses.append(tuple(random_constraint(rng, int(attribute), top) for attribute in np.sort(named)))
        made.append(tuple(clauses))
    return made


@pytest.mark.few
@pytest.mark.parametrize(("compressed", "direct"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize(("seed", "attributes", "top"), [(1, 8, 40), (2, 3, 30), (3, 40, 26), (4, 5, 10**6)])
def test_both_forms_in_one_index(compressed: bool, direct: bool, seed: int, attributes: int, top: int) -> None:
    rules, events, true = answered(seed, attributes, top)
    engine, units = indexed(rules, compressed=compressed, direct=direct)
    wanted = [{units[number] for number in numbers} for numbers in true]
    assert sum(map(len, wanted)) > len(events)
    assert found(engine, encode_events(events)) == wanted
    assert found(engine, encode_events(events), Workspace(room=0)) == wanted
    assert engine._runs["dnf"]
    assert engine._runs["cnf"]
    assert engine.audit() == []


@functools.cache
def answered(seed: int, attributes: int, top: int) -> tuple[list[Rule], list[Event], list[list[int]]]:
    """Rules, events and the rules that are true of them, which all forms of the index share."""
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, SIZE, attributes, top)
    events = random_events(rng, 40 if COMPILED else 8, attributes, top)
    return rules, events, [[number for number, rule in enumerate(rules) if holds(rule, event)] for event in events]


def test_compressed_lists_are_smaller_and_say_the_same() -> None:
    rng = np.random.default_rng(5)
    rules = random_rules(rng, 4 * SIZE, 4, 30)
    plain, _ = indexed(rules, direct=False)
    packed, _ = indexed(rules, compressed=True, direct=False)
    events = encode_events(random_events(rng, 20, 4, 30))
    assert found(plain, events) == found(packed, events)
    assert packed.stats()["postings"] == plain.stats()["postings"]
    for form in ("dnf", "cnf"):
        one, other = plain._runs[form][0], packed._runs[form][0]
        assert np.array_equal(other._entries(), one.arrays.entries)
        if COMPILED:
            assert other.arrays.data.nbytes + other.arrays.bases.nbytes < 0.8 * one.arrays.entries.nbytes


def test_repeated_rules_are_one_unit_and_the_order_of_leaves_stays() -> None:
    rules = [CLAUSES[0], CLAUSES[3], CLAUSES[0]]
    store = ConjunctionStore(clauses=True)
    added = store.add(encode_rules(rules))
    assert added.units.tolist() == [0, 1, 0]
    again = store.encoded(store.live_units())
    assert decode(again) == [tuple(itertools.chain.from_iterable(rule)) for rule in rules[:2]]
    assert again.alternatives.tolist() == [False, True, False, True] * 2
    assert store.has_clauses()
    # The same constraints, joined otherwise, are another rule.
    flat = tuple((each,) for clause in CLAUSES[0] for each in clause)
    assert store.add(encode_rules([flat])).units.tolist() == [2]
    assert store.audit() == []


def test_insertions_go_to_the_tail_and_a_merge_leaves_one_run() -> None:
    rng = np.random.default_rng(6)
    rules, events = random_rules(rng, 300 if COMPILED else 40), encode_events(random_events(rng, 10, 8, 40))
    store = ConjunctionStore(clauses=True)
    engine = KIndex(store)
    for rule in rules:
        engine.insert(store.add(encode_rules([rule])).new_units)
    assert sum(engine.stats()["runs"].values()) > 2
    gone = store.live_units()[::5]
    engine.remove(gone)
    store.free(store.drop(np.repeat(gone, store.uses[gone])))
    before, old = found(engine, events), dict(engine._runs)
    assert engine.stats()["stale_units"] > 0
    built = engine.merged()
    assert engine._runs == old
    assert found(engine, events) == before
    engine.adopt(built)
    assert engine.stats()["runs"] == {"dnf": 1, "cnf": 1}
    assert engine.stats()["stale_units"] == 0
    assert found(engine, events) == before
    assert engine.audit() == []


def test_a_merge_is_due_when_the_tail_or_the_tombstones_have_grown() -> None:
    count = SMALL + 10
    rules: list[Rule] = [((Constraint(0, ((value, value + 1),)),),) for value in range(4 * count)]
    store = ConjunctionStore(clauses=True)
    units = store.add(encode_rules(rules)).units
    engine = KIndex(store)
    engine.insert(units[: 2 * count])
    assert not engine.merge_due
    engine.insert(units[2 * count :])
    assert engine.merge_due
    engine.adopt(engine.merged())
    assert not engine.merge_due
    engine.remove(units[: 3 * count])
    assert engine.merge_due
    engine.adopt(engine.merged())
    assert engine.stats()["postings"] == count


@pytest.mark.long(1)
@pytest.mark.parametrize("options", [{"direct": False}, {"compressed": True, "direct": False}])
def test_damaged_runs_of_clauses_are_refused_or_harmless(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(7)
    engine, _ = indexed(random_rules(rng, 150), **options)
    events, refused = encode_events(random_events(rng, 8, 8, 40)), 0
    names = [name for name, array in engine.arrays().items() if len(array)]
    for name in names:
        for _ in range(40 if COMPILED else 2):
            arrays = {key: array.copy() for key, array in engine.arrays().items()}
            place = int(rng.integers(len(arrays[name])))
            arrays[name][place] = np.array(rng.choice([-(2**31), -1, 0, 7, 300, 2**31 - 1])).astype(arrays[name].dtype)
            again = KIndex(engine.store, options)
            try:
                again.restore(arrays, engine.header())
                units = again.match(events, 0, Workspace(room=0)).units
            except CorruptSnapshot:
                refused += 1
                continue
            assert units.min(initial=0) >= 0
            assert units.max(initial=0) < engine.store.count
    assert refused > 100 or not COMPILED


@pytest.mark.parametrize("direct", [True, False])
def test_a_snapshot_of_both_forms_is_the_same_engine(direct: bool) -> None:
    rng = np.random.default_rng(8)
    engine, _ = indexed(random_rules(rng, 200), direct=direct)
    events = encode_events(random_events(rng, 10, 8, 40))
    again = KIndex(engine.store, {"direct": direct})
    again.restore(frozen(engine.arrays()), engine.header())
    assert found(again, events) == found(engine, events)
    assert again.stats() == engine.stats()
    assert again.audit() == []
    for header in ({"dnf": 9, "cnf": 1}, {"dnf": -1, "cnf": 1}, {}):
        with pytest.raises(CorruptSnapshot):
            KIndex(engine.store).restore(engine.arrays(), header)


def test_an_audit_tells_of_levels_that_are_cut_off() -> None:
    engine, _ = indexed(random_rules(np.random.default_rng(9), 60), as_published=True)
    arrays = {name: array.copy() for name, array in engine.arrays().items()}
    for name in [name for name in arrays if name.endswith(".levels")]:
        arrays[name] = arrays[name][:1]
    again = KIndex(engine.store, {"as_published": True})
    again.restore(arrays, engine.header())
    try:
        problems = again.audit()
    except CorruptSnapshot:
        return
    assert any("no room for some attribute" in problem for problem in problems)


def test_lists_are_not_read_where_there_are_clusters_only() -> None:
    engine, _ = indexed(CONJUNCTIONS)
    again = KIndex(engine.store, {"direct": False})
    again.restore(frozen(engine.arrays()), engine.header())
    with pytest.raises(CorruptSnapshot, match="the lists are missing"):
        again.match(encode_events([{AGE: 3}]), 0, Workspace())


def test_clauses_are_refused_by_a_store_that_knows_none() -> None:
    engine, _ = indexed(CLAUSES)
    store = ConjunctionStore()
    store.restore(frozen(engine.store.arrays()), engine.store.header())
    with pytest.raises(CorruptSnapshot, match="a word names what there is not"):
        store.check()


def test_an_audit_finds_an_entry_that_is_not_there() -> None:
    engine, _ = indexed(CONJUNCTIONS, direct=False)
    (run,) = engine._runs["dnf"]
    entries = run.arrays.entries.copy()
    entries[0] ^= 1
    engine._runs["dnf"] = (Run(RunArrays(**{**run.arrays._asdict(), "entries": entries}), False, Layout(), 0),)
    assert engine.audit() == ["dnf: entries of a run of 6 units should be others"]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"form": "both"}, "must be one of 'auto', 'dnf', 'cnf'"), ({"form": 1}, "must be a string"),
     ({"compressed": 1}, "must be True or False"), ({"compressed": True}, "give direct=False as well"),
     ({"shortcuts": False}, "option .shortcuts. is about posting lists: give direct=False as well")],
)  # fmt: skip
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        KIndex(ConjunctionStore(clauses=True), options)


def test_the_work_is_that_of_skipping() -> None:
    """A thousand units share one key; the other key of the event has ten of them: most entries are never read."""
    rules: list[Rule] = [((among(0, 1),), (among(1, value // 10),), (among(2, value),)) for value in range(1000)]
    engine, _ = indexed(rules, direct=False)
    work = engine.match(encode_events([{0: 1, 1: 50, 2: 503}]), 0, Workspace()).work
    assert work.matched == 1
    assert work.postings < 60


def test_as_published_reads_what_the_algorithms_read() -> None:
    """Without groups and lists that are counted, all keys of an event are read from their first entry on."""
    rules: list[Rule] = [((among(0, 1),), (among(1, value % 7),), (among(2, value),)) for value in range(300)]
    events = encode_events([{0: 1, 1: 3, 2: 3}, {0: 1, 1: 3}])
    published, ours = (indexed(rules, **options)[0] for options in ({"as_published": True}, {"direct": False}))
    assert published.settings == {**KIndex.options, "direct": False, "compressed": False, "shortcuts": False}
    assert [len(run.arrays.group_starts) for run in published._all()] == [0]
    theirs, own = (engine.match(events, 0, Workspace()) for engine in (published, ours))
    assert (theirs.units.tolist(), theirs.offsets.tolist()) == (own.units.tolist(), own.offsets.tolist())
    assert theirs.work.postings > own.work.postings
    assert published.audit() == []


@pytest.mark.parametrize("option", [{"direct": True}, {"compressed": True}, {"shortcuts": True}])
def test_as_published_has_nothing_added(option: dict[str, bool]) -> None:
    with pytest.raises(InvalidArgument, match=r"is False as published \(got True\): leave out"):
        KIndex(ConjunctionStore(clauses=True), {"as_published": True, **option})
