"""The JSON form: what each node looks like, what is refused and where, and the schema that ships."""

from __future__ import annotations

import json
import math
import re
from collections import UserDict
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from language_support import expressions, load, load_lines

from matchwood.errors import ParseError
from matchwood.language import Expression, json_schema, parse


@pytest.mark.parametrize(("text", "value"), load("json.txt", least=25))
def test_the_json_of_each_form(text: str, value: str) -> None:
    assert json.dumps(parse(text).to_json(), ensure_ascii=False) == value
    assert parse(value) == parse(text)
    assert Expression.from_json(json.loads(value)) == parse(text)


@pytest.mark.parametrize(("source", "message"), load("bad_json.txt", least=50))
def test_bad_json_gets_exactly_this_message(source: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        Expression.from_json(source)
    assert str(caught.value).split("\n")[0] == message


def _only_as_text(source: str, message: str) -> bool:
    """Whether only a text can be wrong in this way: its value is fine, no JSON, or spelled differently."""
    return (
        "expected JSON" in message or source[0] == '"' or json.dumps(json.loads(source), ensure_ascii=False) != source
    )


BAD_VALUES = [pair for pair in load("bad_json.txt", least=50) if not _only_as_text(*pair)]


@pytest.mark.parametrize(("source", "message"), BAD_VALUES)
def test_a_bad_value_gets_the_message_of_its_text(source: str, message: str) -> None:
    value = json.loads(source)
    with pytest.raises(ParseError) as caught:
        Expression.from_json(value)
    assert str(caught.value).split("\n")[0] == message


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"attr": "x", "op": "=", "value": math.nan}, "$.value"),
        ({"attr": "x", "op": "=", "value": {1, 2}}, "$.value"),
        ({"not": {"attr": "x", "op": "in", "value": [1, object()]}}, "$.not.value[1]"),
        ({1: 2}, '$["1"]'),
        ({"and": {True, False}}, "$.and"),
        (None, "$"),
        (5, "$"),
    ],
)
def test_python_values_that_are_no_json_are_refused(value: Any, path: str) -> None:
    with pytest.raises(ParseError) as caught:
        Expression.from_json(value)
    assert caught.value.expected.endswith(f" at {path}")


def test_any_mapping_and_tuple_will_do() -> None:
    value = MappingProxyType({"and": (UserDict({"attr": "x", "op": "in", "value": (1, 2)}), True)})
    assert Expression.from_json(value) == parse("x in (1, 2) and true")
    with pytest.raises(ParseError):
        Expression.from_json(MappingProxyType({"nand": ()}))


def test_the_place_in_deep_json_is_found() -> None:
    value: Any = {"attr": "x", "op": "=", "value": None}
    for _ in range(5_000):
        value = {"and": [True, value]}
    with pytest.raises(ParseError, match=re.escape("$.and[1].and[1]")) as caught:
        Expression.from_json(value)
    assert len(str(caught.value)) < 2_000


def conforms(value: Any, schema: Any, root: Any) -> bool:
    """Whether a value fits a schema, for the part of JSON Schema that ours is written in."""
    known = {"$ref", "oneOf", "enum", "type", "required", "properties", "additionalProperties", "items", "minItems"}
    known |= {"maxItems", "minLength", "maxLength", "pattern", "description", "$schema", "$id", "$defs", "title"}
    assert set(schema) <= known, f"the check does not know {set(schema) - known}"
    if "$ref" in schema and not conforms(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root):
        return False
    if "oneOf" in schema and sum(conforms(value, choice, root) for choice in schema["oneOf"]) != 1:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "type" in schema and not any(_is_type(value, name) for name in _listed(schema["type"])):
        return False
    return (
        _object_conforms(value, schema, root) and _array_conforms(value, schema, root) and _text_conforms(value, schema)
    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_type(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    kinds = {"object": dict, "array": list, "string": str, "number": (int, float), "boolean": bool}
    return isinstance(value, kinds[name])  # type: ignore[arg-type]


def _object_conforms(value: Any, schema: Any, root: Any) -> bool:
    if not isinstance(value, dict):
        return True
    properties = schema.get("properties", {})
    if not set(schema.get("required", ())) <= set(value):
        return False
    if schema.get("additionalProperties") is False and not set(value) <= set(properties):
        return False
    return all(conforms(value[key], properties[key], root) for key in value if key in properties)


def _array_conforms(value: Any, schema: Any, root: Any) -> bool:
    if not isinstance(value, list):
        return True
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
        return False
    return all(conforms(item, schema["items"], root) for item in value) if "items" in schema else True


def _text_conforms(value: Any, schema: Any) -> bool:
    if not isinstance(value, str):
        return True
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf):
        return False
    return re.search(schema["pattern"], value) is not None if "pattern" in schema else True


@given(expressions)
def test_every_expression_conforms_to_the_schema(expression: Expression) -> None:
    assert conforms(expression.to_json(), json_schema(), json_schema())


@pytest.mark.parametrize("rule", load_lines("identity.txt", least=100))
def test_every_canonical_rule_conforms_to_the_schema(rule: str) -> None:
    assert conforms(parse(rule).to_json(), json_schema(), json_schema())


def test_bad_json_does_not_conform_to_the_schema() -> None:
    checked = 0
    for source, message in load("bad_json.txt", least=50):
        try:
            value = json.loads(source)
        except ValueError:
            continue
        if "expected JSON" in message or "name" in message or "month" in message or "surrogate" in message:
            continue
        assert not conforms(value, json_schema(), json_schema()), source
        checked += 1
    assert checked >= 30


def test_the_schema_names_its_draft() -> None:
    assert json_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
