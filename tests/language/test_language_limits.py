"""Size and depth: what must work does, what is larger is refused by name, and nothing recurses."""

from __future__ import annotations

import pickle

import pytest

from matchwood.errors import LimitExceeded, ParseError
from matchwood.language import And, Expression, Not, Predicate, Truth, Xnor, Xor, parse, postorder
from matchwood.language.limits import MAX_DEPTH, MAX_DIGITS, MAX_JSON_TEXT, MAX_PRINTED, MAX_TEXT

DEEP = 10_000
LEAF = Predicate("x", "=", 1)


@pytest.mark.parametrize(
    "text",
    [
        "(" * DEEP + "x = 1" + ")" * DEEP,
        "not " * DEEP + "x = 1",
        "not (" * DEEP + "x = 1" + ")" * DEEP,
        "(y or " * DEEP + "x" + ")" * DEEP,
        "(y = 1 and (z = 2 or " * (DEEP // 2) + "x = 1" + "))" * (DEEP // 2),
        "(" * DEEP + "x" + ") is not true" * DEEP,
        "x" + " xor y xnor z" * (DEEP // 2),
        "(" * DEEP + "x = 1e3" + " )" * DEEP,
    ],
    ids=["parentheses", "not", "not (", "or (", "and or", "is true", "xor xnor", "spaced"],
)
def test_deep_text_is_read_printed_and_pickled(text: str) -> None:
    root = parse(text)
    again = parse(str(root))
    assert again == root
    assert pickle.loads(pickle.dumps(root)) == root
    assert parse(root.to_json()) == root
    assert sum(1 for _ in postorder(root)) == sum(1 for _ in postorder(again))


@pytest.mark.parametrize("opening", ["(", "not ", "( not\n"])
def test_deeper_text_is_refused(opening: str) -> None:
    with pytest.raises(LimitExceeded, match=f"more than {MAX_DEPTH:,} parentheses"):
        parse(opening * (MAX_DEPTH + 1) + "x = 1")


@pytest.mark.parametrize("tail", [" is true", " xor y xnor z"])
def test_deep_trees_without_parentheses_are_refused(tail: str) -> None:
    with pytest.raises(LimitExceeded, match=f"nests more than {MAX_DEPTH:,} operators"):
        parse("x" + tail * (MAX_DEPTH + 1))


def test_a_megabyte_of_text_is_read() -> None:
    rule = " or ".join(f"(name_{number} = {number} and not country in ('US', 'C{number}'))" for number in range(20_000))
    assert len(rule) > 1_000_000
    root = parse(rule)
    assert len(root.operands) == 20_000
    assert root.operands[-1].operands[0].position == rule.rindex("name_")  # type: ignore[attr-defined]


def test_a_megabyte_of_one_list_is_read() -> None:
    values = tuple(range(150_000))
    assert parse(f"x in ({', '.join(map(str, values))})").value == values  # type: ignore[attr-defined]
    mixed = parse(f"x in ({', '.join(map(str, values))}, 'a')")
    assert len(mixed.value) == len(values) + 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        " " * 1_000_000 + "x = 1",
        "x = '" + "a" * 1_000_000 + "'",
        "x = '" + "''" * 500_000 + "'",
        "`" + "a" * 1_000_000 + "` = 1",
        "a" * 1_000_000 + " = 1",
        "a" + ".b" * 400_000 + " = 1",
        "x" + " xor x" * 100_000,
        "x = 1 " + "and x = 1e3 " * 50_000,
    ],
    ids=["spaces", "text", "quotes", "quoted name", "name", "path", "xor", "slow and"],
)
def test_a_megabyte_of_anything_is_read_in_linear_time(text: str) -> None:
    """Without a clock: what takes more than linear time would not come back from this at all."""
    assert str(parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "x in (" + "1, " * 300_000,
        "x = '" + "''" * 500_000,
        "(" * 15_000 + "vip " * 3,
        "( " * 10_000 + "not " * 9_000,
        "x = 1 and " * 100_000,
        "x like 'a' " + " " * 900_000 + "escape",
        "x = " + "-" * 1_000_000,
        "'" * 999_999,
        "x.`" * 300_000,
    ],
    ids=["list", "quotes", "parentheses", "spaced", "and", "escape", "minus", "odd quotes", "path"],
)
def test_a_megabyte_of_nonsense_is_refused_in_linear_time(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_text_beyond_the_limit_is_refused() -> None:
    with pytest.raises(LimitExceeded, match=f"the limit is {MAX_TEXT:,}"):
        parse(" " * (MAX_TEXT + 1))
    with pytest.raises(LimitExceeded, match=f"the limit is {MAX_JSON_TEXT:,}"):
        parse("{" + " " * MAX_JSON_TEXT)


@pytest.mark.parametrize("form", ["{0}", "-{0}", "{0}.5", "0.{0}", "{0}e5"])
def test_numbers_with_too_many_digits_are_refused(form: str) -> None:
    with pytest.raises(LimitExceeded, match=f"more than {MAX_DIGITS:,} digits"):
        parse("x = " + form.format("1" * (MAX_DIGITS + 1)))


def test_large_numbers_up_to_the_limit_work() -> None:
    digits = "9" * MAX_DIGITS
    root = parse(f"x = {digits} or x = -{digits}")
    assert str(root) == f"x = {digits} or x = -{digits}"
    assert Expression.from_json(root.to_json()) == root
    for value in (10**MAX_DIGITS, -(10**MAX_DIGITS)):
        with pytest.raises(LimitExceeded, match="digits"):
            Predicate("x", "=", value)
    with pytest.raises(LimitExceeded, match="digits"):
        parse('{"attr": "x", "op": "=", "value": 1' + "0" * MAX_DIGITS + "}")


def test_trees_built_in_python_may_be_deeper_than_text() -> None:
    node: Expression = LEAF
    for number in range(100_000):
        node = (Not(node), Truth(node, "true"), And(node, LEAF), Xor(LEAF, node), Xnor(node, LEAF))[number % 5]
    assert len(str(node)) > 100_000
    assert hash(node) == hash(node)
    with pytest.raises(LimitExceeded):
        parse(str(node))


def test_text_of_shared_nodes_is_refused_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.language.printing.MAX_PRINTED", 10_000)
    node: Expression = LEAF
    for _ in range(60):
        node = And(node, node)
    with pytest.raises(LimitExceeded, match="text is longer"):
        str(node)


def test_deep_json_values_work_up_to_the_limit() -> None:
    value: dict[str, object] = LEAF.to_json()
    for _ in range(DEEP):
        value = {"not": value}
    root = Expression.from_json(value)
    assert parse(str(root)) == root
    for _ in range(MAX_DEPTH):
        value = {"not": value}
    with pytest.raises(LimitExceeded, match=f"more than {MAX_DEPTH:,}"):
        Expression.from_json(value)


def test_deep_json_text_is_refused_by_name() -> None:
    with pytest.raises(LimitExceeded, match="nests deeper than Python's reader goes"):
        parse('{"not": ' * 100_000 + "true" + "}" * 100_000)


def test_cyclic_and_exploding_json_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cycle: dict[str, object] = {}
    cycle["and"] = [cycle, cycle]
    with pytest.raises(LimitExceeded):
        Expression.from_json(cycle)
    monkeypatch.setattr("matchwood.language.jsonform.MAX_NODES", 1000)
    shared: object = True
    for _ in range(60):
        shared = {"and": [shared, shared]}
    with pytest.raises(LimitExceeded, match="more than 1,000 expressions"):
        Expression.from_json(shared)  # type: ignore[arg-type]


def test_exploding_expressions_are_not_written_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matchwood.language.jsonform.MAX_NODES", 1000)
    shared = parse("a = 1")
    for _ in range(60):
        shared = Not(And(shared, shared))
    with pytest.raises(LimitExceeded, match="more than 1,000 nodes"):
        shared.to_json()


def test_a_list_of_short_large_numbers_prints_within_the_limit() -> None:
    text = f"x in ({','.join(['1e15'] * 800_000)})"
    assert len(text) <= MAX_TEXT
    assert len(str(parse(text))) <= MAX_PRINTED


def test_the_text_limit_does_not_keep_a_large_rule_from_its_pickle() -> None:
    """Bare names print longer than they are written."""
    name = "a" * 1_000
    text = f"{name} or " * 4_150 + name
    assert len(text) <= MAX_TEXT
    root = parse(text)
    assert len(str(root)) > MAX_TEXT
    assert len(pickle.loads(pickle.dumps(root)).operands) == 4_151
    with pytest.raises(LimitExceeded):
        parse(str(root))
