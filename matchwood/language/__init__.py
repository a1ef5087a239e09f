"""Text and JSON to an expression tree and back."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from matchwood.language.builder import Attribute, attr
from matchwood.language.parser import parse
from matchwood.language.pointing import in_predicate, in_source
from matchwood.language.tree import (
    And,
    Constant,
    Expression,
    Not,
    Or,
    Predicate,
    Truth,
    Xnor,
    Xor,
    postorder,
)

__all__ = [
    "And", "Attribute", "Constant", "Expression", "Not", "Or", "Predicate", "Truth", "Xnor", "Xor", "attr",
    "in_predicate", "in_source", "json_schema", "parse", "postorder",
]  # fmt: skip


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of an expression's JSON form."""
    text = resources.files(__name__).joinpath("schema.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]
