"""The types an attribute can have, and the many names under which users know them."""

from __future__ import annotations

from matchwood.errors import InvalidArgument

TYPES = ("bool", "int", "double", "string", "date", "timestamp", "list<int>", "list<string>")
"""What can be declared."""

KINDS = ("any", *TYPES, "number")
"""What an attribute can be: as declared, or inferred; `number`, as which decimals are declared too, holds ints,
doubles and decimals in one exact order; `any` is an attribute that rules only test for NULL. Snapshots hold
positions in this tuple."""

LISTS = ("list<int>", "list<string>")

ALIASES = {
    **dict.fromkeys(("bool", "boolean", "bool_"), "bool"),
    **dict.fromkeys(("int", "integer", "long", "bigint", "short", "smallint", "tinyint", "byte"), "int"),
    **dict.fromkeys((f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "int"),
    **dict.fromkeys(("double", "float", "real", "float16", "float32", "float64", "halffloat"), "double"),
    **dict.fromkeys(("string", "str", "text", "varchar", "char", "large_string", "string_view", "utf8"), "string"),
    **dict.fromkeys(("date", "date32", "date64"), "date"),
    **dict.fromkeys(("timestamp", "datetime", "datetime64"), "timestamp"),
    **dict.fromkeys(("timestamp_ntz", "timestamp_ltz", "timestamptz"), "timestamp"),
    **dict.fromkeys(
        ("decimal", "dec", "numeric", "number", "decimal32", "decimal64", "decimal128", "decimal256"), "number"
    ),
    **dict.fromkeys(("null", "void", "any"), "any"),
}
"""Names of scalar types, in lower case and without parameters."""

_WITH_UNIT = ("date", "timestamp")
"""Types whose unit Arrow writes in brackets; after any other type they would make a list of it."""

FAMILIES = {
    "any": "any",
    "bool": "bool",
    "int": "number",
    "double": "number",
    "number": "number",
    "string": "string",
    "date": "timestamp",
    "timestamp": "timestamp",
    "list<int>": "list<int>",
    "list<string>": "list<string>",
}
"""What constants a type can be compared with: the kind that a predicate requires."""


def scalar_type(spelling: str, name: str) -> str:
    """The type that a spelling means, without its parameters; InvalidArgument when there is none.

    >>> scalar_type("BIGINT", "age"), scalar_type("varchar(20)", "city"), scalar_type("timestamp[us]", "seen")
    ('int', 'string', 'timestamp')
    """
    bare, bracket, _ = spelling.lower().split("(")[0].partition("[")
    bare = bare.strip()
    if bare in ALIASES and (not bracket or ALIASES[bare] in _WITH_UNIT):
        return ALIASES[bare]
    raise refused(name, spelling)


def list_type(element: str, name: str, spelling: str) -> str:
    """The list type with elements of a type."""
    if element in ("int", "string"):
        return f"list<{element}>"
    raise refused(name, spelling)


def refused(name: str, spelling: str) -> InvalidArgument:
    """The error for a type that no attribute can have."""
    return InvalidArgument(
        f"schema: {name!r} cannot have the type {spelling!r:.100}; the types are {', '.join(TYPES)}, decimal "
        "(convert the values, or leave the attribute out of the schema)"
    )
