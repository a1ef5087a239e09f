"""Text and JSON to an expression tree and back."""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from matchwood.core.lazy import exports

if TYPE_CHECKING:
    from matchwood.language.builder import Attribute, attr
    from matchwood.language.columnar.lists import IN_LIST, NOT_IN_LIST, OTHER_TEST, ListedConstants, lists_in
    from matchwood.language.columnar.trees import PredicateSpans, RuleTrees, read_trees
    from matchwood.language.limits import MAX_NODES
    from matchwood.language.names import canonical, has_surrogate, join_path, split_path, unquoted_name
    from matchwood.language.numbers import decimal_of, read_decimal
    from matchwood.language.operators import PATTERNS
    from matchwood.language.parser import is_json, parse, parse_text, read_whole
    from matchwood.language.pointing import in_predicate, in_source
    from matchwood.language.predicates import CANONICAL
    from matchwood.language.simple import NAME, read_simple
    from matchwood.language.tree import (
        COMPARISONS,
        LIST_OPERATORS,
        NULL_OPERATORS,
        OPERATORS,
        PATTERN_OPERATORS,
        RANGE_OPERATORS,
        SET_OPERATORS,
        And,
        Constant,
        Expression,
        Literal,
        Not,
        Or,
        Predicate,
        Truth,
        Xnor,
        Xor,
        make_operator,
        make_predicate,
        postorder,
    )

__all__ = [
    "CANONICAL",
    "COMPARISONS",
    "IN_LIST",
    "LIST_OPERATORS",
    "MAX_NODES",
    "NAME",
    "NOT_IN_LIST",
    "NULL_OPERATORS",
    "OPERATORS",
    "OTHER_TEST",
    "PATTERNS",
    "PATTERN_OPERATORS",
    "RANGE_OPERATORS",
    "SET_OPERATORS",
    "And",
    "Attribute",
    "Constant",
    "Expression",
    "ListedConstants",
    "Literal",
    "Not",
    "Or",
    "Predicate",
    "PredicateSpans",
    "RuleTrees",
    "Truth",
    "Xnor",
    "Xor",
    "attr",
    "canonical",
    "decimal_of",
    "has_surrogate",
    "in_predicate",
    "in_source",
    "is_json",
    "join_path",
    "json_schema",
    "lists_in",
    "make_operator",
    "make_predicate",
    "parse",
    "parse_text",
    "postorder",
    "read_decimal",
    "read_simple",
    "read_trees",
    "read_whole",
    "split_path",
    "unquoted_name",
]

__getattr__ = exports(__name__)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of an expression's JSON form."""
    text = resources.files(__name__).joinpath("schema.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]
