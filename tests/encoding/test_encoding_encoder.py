"""The encoder as a whole: rules in and out, in bulk and one by one, saved and restored, against the oracle."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import numpy as np
import pytest
from encoding_support import Rules, holds, pairs_of, relabelled

from matchwood.encoding import Encoder, Schema, codes
from matchwood.encoding import encoder as encoder_module
from matchwood.encoding.codes import TOP_LABEL, EncodedConjunctions
from matchwood.encoding.derived.attributes import TRUE_LABEL
from matchwood.errors import InvalidArgument, TypeConflict
from matchwood.language import parse
from matchwood.logic import Form, dnf_of, normalise
from matchwood.logic.cuts import FULL
from matchwood.logic.form import ALWAYS
from matchwood.logic.leaf import Conjunction, Leaf
from matchwood.semantics.evaluation import evaluate
from tests.cases import workloads


def conjunctions_of(encoder: Encoder, text: str) -> list[Conjunction]:
    found = dnf_of(parse(text), encoder.bind, 256)
    assert not isinstance(found, Form)
    return found


@pytest.mark.parametrize("few", [0, 64])
@pytest.mark.parametrize("seed", range(6))
def test_random_rules_and_events_agree_with_the_oracle(seed: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_module, "FEW_LEAVES", few)
    for work in workloads(seed, 3, 15, 8):
        types = {name: kind for name, kind in work.attributes.items() if kind != "number"}
        encoder = Encoder(Schema(types))
        rules = [(rule, dnf_of(rule, encoder.bind, 100)) for rule in work.rules]
        for rule, _ in rules:
            encoder.schema.add(encoder.schema.check(rule))
        encoded = [(rule, encoder.encode(normal)) for rule, normal in rules if not isinstance(normal, Form)]
        assert encoder.drain_relabelled() == []
        for event in work.events:
            pairs = pairs_of(encoder, event)
            for rule, held in encoded:
                assert holds(held, pairs) == (evaluate(rule, event, types) is True), (str(rule), event)
        assert encoder.audit() == []
        for _, held in encoded:
            encoder.release(held)
        nothing_left(encoder)


def nothing_left(encoder: Encoder) -> None:
    assert encoder.audit() == []
    stats = encoder.stats()
    assert (stats["boundaries"], stats["attributes"], stats["derived_attributes"]) == (0, 0, 0)
    table = encoder.vocabulary.table
    assert not any(counts.view().any() for counts in (table.references, table.needs_true, table.needs_false))
    assert encoder.sources() == []


TEXTS = [
    "a = 1", "a between 2 and 9 and b in ('x', 'y')", "c is null or a > 5", "a != 3 and d like '%z%' and c",
    "b like 'x%'",
    "tags one of ('p', 'q') and a < 7", "b > 'm' and tags none of ('p') and d is not null", "not c and a in (1, 3, 5)",
]  # fmt: skip


def ranks(encoded: EncodedConjunctions) -> EncodedConjunctions:
    """The codes with labels replaced by their rank within the attribute, which no choice of labels changes."""
    owners = np.repeat(encoded.attributes, np.diff(encoded.pieces))
    low, high = encoded.low.copy(), encoded.high.copy()
    for number in np.unique(owners):
        mine = owners == number
        distinct = np.unique(np.concatenate((low[mine], high[mine])))
        low[mine], high[mine] = np.searchsorted(distinct, low[mine]), np.searchsorted(distinct, high[mine])
    return encoded._replace(low=low, high=high)


def test_a_few_and_many_are_encoded_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, together = Encoder(), Encoder()
    conjunctions = [each for text in TEXTS for each in conjunctions_of(alone, text)]
    for text in TEXTS:
        conjunctions_of(together, text)
    few = alone.encode(conjunctions)
    monkeypatch.setattr(encoder_module, "FEW_LEAVES", -1)
    many = together.encode(conjunctions)
    for name, left, right in zip(few._fields, ranks(few), ranks(many), strict=True):
        assert left.dtype == right.dtype
        assert left.tolist() == right.tolist(), name
    for encoder in (alone, together):
        encoder.release(many if encoder is together else few)
        nothing_left(encoder)


def test_what_conjunctions_look_like() -> None:
    encoder = Encoder()
    encoded = encoder.encode(conjunctions_of(encoder, "b != 5 and a > 1 and (c is null or c = 'x') and d is not null"))
    assert encoded.offsets.tolist() == [0, 4]
    assert encoded.attributes.tolist() == sorted(encoded.attributes.tolist())
    names = {encoder.vocabulary.table.key(number): place for place, number in enumerate(encoded.attributes.tolist())}
    pieces = {name: slice(encoded.pieces[place], encoded.pieces[place + 1]) for name, place in names.items()}
    assert {name: bool(encoded.accepts_null[place]) for name, place in names.items()} == {
        "a": False,
        "b": False,
        "c": True,
        "d": False,
    }
    assert len(encoded.low[pieces["b"]]) == 2
    assert encoded.low[pieces["b"]][0] == 0
    assert encoded.high[pieces["b"]][1] == TOP_LABEL
    assert (encoded.low[pieces["d"]].tolist(), encoded.high[pieces["d"]].tolist()) == ([0], [TOP_LABEL])
    empty = encoder.encode([(), ()])
    assert empty.offsets.tolist() == [0, 0, 0]
    assert encoder.encode([]).count == 0


def test_labels_that_change_while_rules_are_added() -> None:
    """Each rule halves the gap that the one before left, so that labels run out again and again."""
    rules = Rules(Encoder())
    low, high = 0.0, 1.0
    for step in range(45):
        middle = (low + high) / 2
        rules.add(f"r{step}", f"x >= {low!r} and x < {middle!r}" if step % 2 else f"x > {middle!r} and x <= {high!r}")
        low, high = (middle, high) if step % 2 else (low, middle)
    assert rules.encoder.stats()["relabelled"] >= 1
    points = [0.0, 0.1, 0.3, low, (low + high) / 2, high, 0.34, 0.5, 1.0]
    for point in points:
        event = {"x": point}
        expected = [name for name in rules.stored if evaluate(parse(text_of(name)), event) is True]
        assert rules.match(event) == expected


def text_of(name: str) -> str:
    low, high = 0.0, 1.0
    for step in range(int(name[1:]) + 1):
        middle = (low + high) / 2
        text = f"x >= {low!r} and x < {middle!r}" if step % 2 else f"x > {middle!r} and x <= {high!r}"
        low, high = (middle, high) if step % 2 else (low, middle)
    return text


@pytest.mark.parametrize("seed", range(5))
def test_rules_come_and_go(seed: int) -> None:
    rng, rules = random.Random(seed), Rules(Encoder())
    choices = {
        "a": [1, 3, 5.5, 9, None],
        "b": ["x", "y", "z", None],
        "c": [True, False, None],
        "d": ["zz", "q", None],
        "tags": [["p"], ["q", "r"], [], None],
    }
    events = [{name: rng.choice(values) for name, values in choices.items()} for _ in range(6)]
    for step in range(40):
        if rng.random() < 0.6 or not rules.stored:
            text = rng.choice(TEXTS)
            rules.add(f"{step}: {text}", text)
        else:
            rules.remove(rng.choice(list(rules.stored)))
        event = rng.choice(events)
        expected = [name for name in rules.stored if evaluate(parse(name.split(": ", 1)[1]), event) is True]
        assert rules.match(event) == expected
    for name in list(rules.stored):
        rules.remove(name)
    nothing_left(rules.encoder)


# ------------------------------------------------------------------- kinds


def kinds(encoder: Encoder) -> dict[str, str]:
    return {source.name: source.kind for source in encoder.sources()}


def test_an_attribute_only_in_null_tests_takes_any_type() -> None:
    rules = Rules(Encoder())
    rules.add("null", "x is null")
    rules.add("not null", "x is not null")
    for value in (1, "a", [1, "b"], True, {"deep": 1}):
        assert rules.match({"x": value}) == ["not null"]
    assert rules.match({}) == ["null"]
    rules.add("typed", "x = 1")
    assert kinds(rules.encoder) == {"x": "number"}
    assert rules.match({"x": 1}) == ["not null", "typed"]
    rules.remove("typed")
    assert kinds(rules.encoder) == {"x": "any"}
    assert rules.match({"x": "a"}) == ["not null"]
    rules.add("text", "x like 'a%'")
    assert rules.match({"x": "abc"}) == ["not null", "text"]


def test_a_rule_replaced_by_one_of_another_type() -> None:
    """The new codes are made while the old ones still live, as in a replacement."""
    encoder = Encoder()
    schema = encoder.schema
    stored = {}
    for name, text in (("null", "x is not null"), ("old", "x > 5")):
        uses = schema.check(parse(text), name)
        stored[name] = uses, encoder.encode(conjunctions_of(encoder, text))
        schema.add(uses, name)
    uses = schema.check(parse("x >= 'b'"), "old", replaced=stored["old"][0])
    schema.remove(stored["old"][0], "old")
    schema.add(uses, "old")
    replacement = encoder.encode(conjunctions_of(encoder, "x >= 'b'"))
    encoder.release(stored["old"][1])
    for value, expected in (("a", False), ("b", True), ("c", True)):
        pairs = pairs_of(encoder, {"x": value})
        assert holds(replacement, pairs) == expected
        assert holds(stored["null"][1], pairs)
    assert not holds(stored["null"][1], pairs_of(encoder, {}))
    encoder.release(replacement)
    encoder.release(stored["null"][1])
    nothing_left(encoder)


def test_declared_types_stay() -> None:
    rules = Rules(Encoder(Schema({"x": "int", "tags": "array<string>", "day": "date"})))
    rules.add("r", "x is not null and tags is null and day is null")
    assert kinds(rules.encoder) == {"x": "int", "tags": "list<string>", "day": "date"}
    with pytest.raises(TypeConflict):
        rules.add("bad", "x = 'a'")


# ----------------------------------------------------------------- derived


def derived_pairs(rules: Rules, event: dict[str, Any]) -> dict[str, int]:
    table = rules.encoder.vocabulary.table
    pairs = pairs_of(rules.encoder, event)
    return {table.key(number).split("\0")[-1]: label for number, label in pairs.items() if table.key(number)[0] == "\0"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("s like '%a_'", {True}),
        ("s not like '%a_'", {False}),
        ("(s like '%a_') is true", {True}),
        ("(s like '%a_') is not true", {True}),
        ("(s like '%a_') is false", {False}),
        ("(s like '%a_') is not false", {False}),
        ("(s like '%a_') is unknown", {True, False}),
        ("(s like '%a_') is not unknown", {True, False}),
        ("s like '%a_' or b is null and s not like '%a_'", {True, False}),
    ],
)
def test_only_verdicts_that_a_rule_can_tell_from_null_are_told(text: str, told: set[bool]) -> None:
    rules = Rules(Encoder())
    rules.add("r", text)
    found = {verdict for verdict, value in ((True, "xax"), (False, "q")) if derived_pairs(rules, {"s": value}) != {}}
    assert found == told
    for event in ({"s": "xax"}, {"s": "q"}, {}, {"s": "q", "b": 1}):
        assert (rules.match(event) == ["r"]) == (evaluate(parse(text), event) is True)
    rules.remove("r")
    nothing_left(rules.encoder)


def test_true_is_in_the_middle_of_all_labels() -> None:
    rules = Rules(Encoder())
    rules.add("r", "tags one of ('a') and tags none of ('b')")
    assert derived_pairs(rules, {"tags": ["a", "b"]}) == {'["a"]': TRUE_LABEL}
    assert derived_pairs(rules, {"tags": ["a"]}) == {'["a"]': TRUE_LABEL, '["b"]': 0}


# ------------------------------------------------------------------- forms


def test_a_constant_form() -> None:
    encoded = Encoder().encode_forms([ALWAYS])
    assert (encoded.roots.tolist(), encoded.kinds.tolist(), encoded.children.tolist()) == ([codes.ALWAYS_TRUE], [], [])
    assert encoded.child_offsets.tolist() == [0]
    assert encoded.constraints.offsets.tolist() == [0]


def test_forms() -> None:
    """Several at once: a leaf that they share is encoded once."""
    encoder = Encoder()
    texts = [
        "(a = 1 or b = 'x') and (a > 5 or c) and (b is null or a = 3)",
        "a = 1",
        "true",
        "a = 1 and b = 'x' or c",
    ]
    forms = [normalise(parse(text), encoder.bind) for text in texts]
    encoded = encoder.encode_forms(forms)
    leaves = len(encoded.leaf_kinds)
    assert leaves == len({leaf for form in forms for leaf in form.leaves}) < sum(len(form.leaves) for form in forms)
    assert encoded.constraints.offsets.tolist() == [*range(leaves + 1)]
    for event in ({"a": 1, "c": True}, {"a": 3, "b": "x", "c": True}, {"a": 6}, {"b": "x", "c": True}, {"a": 1}):
        pairs = pairs_of(encoder, event)
        ones = [encoded.constraints._replace(offsets=np.array([place, place + 1])) for place in range(leaves)]
        truths = [holds(one, pairs) for one in ones]
        for node, kind in enumerate(encoded.kinds.tolist()):
            below = encoded.children[encoded.child_offsets[node] : encoded.child_offsets[node + 1]]
            assert (below < leaves + node).all()
            truths.append((all if kind == codes.AND else any)(truths[child] for child in below))
        found = [root == codes.ALWAYS_TRUE or truths[root] for root in encoded.roots.tolist()]
        assert found == [evaluate(parse(text), event) is True for text in texts]
    encoder.release(encoded.constraints)
    nothing_left(encoder)


# --------------------------------------------------------------- snapshots


def saved(encoder: Encoder) -> tuple[dict[str, Any], dict[str, Any]]:
    """What storage would give back: read-only arrays, and a header that went through JSON."""
    arrays = {name: array.copy() for name, array in encoder.arrays().items()}
    for array in arrays.values():
        array.flags.writeable = False
    return arrays, json.loads(json.dumps(encoder.header()))


EVENTS = [
    {"a": 1, "b": "x", "c": True, "d": "zzz", "tags": ["p"]},
    {"a": 6.5, "b": "y", "c": False, "d": "q", "tags": ["q", "r"]},
    {"a": 3, "b": "n", "tags": []},
    {},
]


def test_a_saved_encoder_comes_back_and_can_be_changed() -> None:
    rules = Rules(Encoder(Schema({"declared": "date", "m": "map<string, int>"}, strict=False), timezone="Europe/Paris"))
    for place, text in enumerate([*TEXTS, "m.key > 5", "s rlike '^a+$'", "when >= timestamp '2026-01-01 00:00:00'"]):
        rules.add(f"r{place}", text)
    arrays, header = saved(rules.encoder)
    before = {name: array.copy() for name, array in arrays.items()}
    other = Rules(Encoder.restored(arrays, header))
    other.stored = dict(rules.stored)
    assert other.encoder.timezone == "Europe/Paris"
    assert other.encoder.attributes_named() == rules.encoder.attributes_named()
    assert other.encoder.schema.types() == rules.encoder.schema.types()
    assert other.encoder.stats()["boundaries"] == rules.encoder.stats()["boundaries"]
    for event in EVENTS:
        assert other.match(event) == rules.match(event)
    for changed in (rules, other):
        changed.add("new", "a = 42 and tags one of ('new', 'p') and b in ('x', 'unheard of')")
        changed.remove("r1")
    for event in EVENTS:
        assert other.match(event) == rules.match(event)
    for name in list(other.stored):
        other.remove(name)
    nothing_left(other.encoder)
    assert all((arrays[name] == array).all() for name, array in before.items())


def test_a_saved_encoder_can_be_saved_again_untouched() -> None:
    rules = Rules(Encoder())
    for place, text in enumerate(TEXTS):
        rules.add(f"r{place}", text)
    arrays, header = saved(rules.encoder)
    again, header_again = saved(Encoder.restored(arrays, header))
    assert header == header_again
    assert {name: array.tolist() for name, array in arrays.items()} == {name: a.tolist() for name, a in again.items()}


def test_damaged_states_are_refused() -> None:
    rules = Rules(Encoder())
    for place, text in enumerate(TEXTS):
        rules.add(f"r{place}", text)
    arrays, header = saved(rules.encoder)
    refused = 0
    for name, array in arrays.items():
        for damage in (array[:-1], np.append(array, array[-1:] + 9)) if len(array) else ():
            try:
                restored = Encoder.restored({**arrays, name: damage}, header)
                restored.audit()
                for event in EVENTS:
                    restored.encode_event(event)
            except (ValueError, KeyError, IndexError):
                refused += 1
    assert refused >= len(arrays)
    with pytest.raises(KeyError):
        Encoder.restored({name: array for name, array in arrays.items() if not name.startswith("uses")}, header)
    with pytest.raises(ValueError, match="format is 99"):
        Encoder.restored(arrays, {**header, "format": 99})


def test_compaction_renumbers_attributes() -> None:
    rules = Rules(Encoder())
    for place, text in enumerate(TEXTS):
        rules.add(f"r{place}", text)
    before = {place: rules.match(event) for place, event in enumerate(EVENTS)}
    for name in ("r3", "r5", "r6"):
        rules.remove(name)
    numbers = rules.encoder.compact()
    live = sorted(number for number in numbers.tolist() if number >= 0)
    assert live == list(range(len(live)))
    assert len(live) < len(numbers)
    rules.stored = {
        name: (uses, encoded._replace(attributes=numbers[encoded.attributes]))
        for name, (uses, encoded) in rules.stored.items()
    }
    for place, event in enumerate(EVENTS):
        assert rules.match(event) == [name for name in before[place] if name not in ("r3", "r5", "r6")]
    rules.add("r5", TEXTS[5])
    assert rules.match(EVENTS[0]) == [*[name for name in before[0] if name not in ("r3", "r5", "r6")], "r5"]
    for name in list(rules.stored):
        rules.remove(name)
    nothing_left(rules.encoder)


# ------------------------------------------------------------------- bulk


@pytest.mark.parametrize("order", ["ascending", "descending", "random"])
def test_one_sided_ranges_with_distinct_constants(order: str) -> None:
    """In chunks and one by one: the same spaces, and never an enumeration of them."""
    count = 30_000
    constants = list(range(count))
    if order != "ascending":
        constants = constants[::-1] if order == "descending" else random.Random(5).sample(constants, count)
    encoder = Encoder(Schema({"x": "int"}))
    leaves = [(Leaf("x", ((constant, 0),), False),) for constant in constants]
    stored = [encoder.encode(leaves[start : start + 10_000]) for start in range(0, 20_000, 10_000)]
    stored += [encoder.encode([leaf]) for leaf in leaves[20_000:22_000]]
    stats = encoder.stats()
    assert stats["boundaries"] == 22_000
    assert stats["relabelled"] <= 4
    changes = encoder.drain_relabelled()
    assert len(changes) == stats["relabelled"]
    assert sum(len(held.low) for held in stored) == 22_000
    if not changes:
        for probe in (0, 1, 17, 5_000, 12_345, 29_999):
            pairs = pairs_of(encoder, {"x": probe})
            label = next(iter(pairs.values()))
            expected = sum(constant <= probe for constant in constants[:22_000])
            assert sum(int((held.low <= label).sum()) for held in stored) == expected


def test_relabelling_is_told_for_labels_given_before() -> None:
    encoder = Encoder()
    first = encoder.encode([(Leaf("x", ((value, 0), (value + 1.0, 0)), False),) for value in range(0, 4_000, 40)])
    history = []
    low, high = 0.0, 1.0
    for step in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if step % 2 else (low, middle)
        encoder.encode([(Leaf("x", ((middle, 0),), False),)])
        history += encoder.drain_relabelled()
    assert history
    moved = relabelled(first, history)
    for value in (0, 40, 2_000, 3_960):
        pairs = pairs_of(encoder, {"x": value})
        assert [holds(moved._replace(offsets=moved.offsets[place : place + 2]), pairs) for place in range(100)] == [
            value == 40 * place for place in range(100)
        ]


def test_sources_and_versions() -> None:
    rules = Rules(Encoder())
    version = rules.encoder.version
    rules.add("r", "a > 1 and tags one of ('x') and s like 'a%b' and s > 'c' and n is null")
    assert rules.encoder.version != version
    sources = {source.name: source for source in rules.encoder.sources()}
    assert {name: source.kind for name, source in sources.items()} == {
        "a": "number",
        "n": "any",
        "s": "string",
        "tags": "list<string>",
    }
    assert {name: len(source.direct) for name, source in sources.items()} == {"a": 1, "n": 1, "s": 1, "tags": 0}
    assert {name: source.derived is not None for name, source in sources.items()} == {
        "a": False,
        "n": False,
        "s": True,
        "tags": True,
    }
    assert rules.encoder.attributes_named() == ["a", "n", "s", "tags"]
    version = rules.encoder.version
    rules.add("more", "a > 2 and s > 'd'")
    assert rules.encoder.version == version
    assert sources["n"].direct[0].locate_many(np.empty(0, np.int64), 3).tolist() == [0, 0, 0]


def test_unknown_settings() -> None:
    with pytest.raises(InvalidArgument, match="spaces must be one of"):
        Encoder(spaces="tree")
    with pytest.raises(InvalidArgument, match="timezone"):
        Encoder(timezone="Nowhere/Land")


def test_constraints_for_everything_but_null() -> None:
    encoder = Encoder()
    encoded = encoder.encode([(Leaf("x", FULL, False),), (Leaf("x", (), True),)])
    assert [
        holds(encoded._replace(offsets=encoded.offsets[place : place + 2]), pairs_of(encoder, {"x": 1}))
        for place in (0, 1)
    ] == [
        True,
        False,
    ]


def test_bind_keeps_no_state_that_changes_answers() -> None:
    """Binding a rule that is refused afterwards leaves nothing behind."""
    for order in itertools.permutations(("x = 1", "x = 'a'")):
        encoder = Encoder()
        for text in order:
            encoder.bind(parse(text))
        rules = Rules(encoder)
        rules.add("r", order[-1])
        assert rules.match({"x": 1 if "1" in order[-1] else "a"}) == ["r"]
