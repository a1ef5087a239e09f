"""The types that `schema=` declares: read from a dict, an Arrow schema, a Spark StructType, or DDL.

Structs flatten into paths. A map's keys are not known beforehand: every path below it has the type of its values.
"""

from __future__ import annotations

import datetime
import types
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.encoding.schema.ddl import TypeText, parse_ddl, parse_type
from matchwood.encoding.schema.types import list_type, refused, scalar_type
from matchwood.errors import InvalidArgument, kind_in_words
from matchwood.language import join_path, split_path

_PYTHON_TYPES: dict[type, str] = {
    bool: "bool",
    int: "int",
    float: "double",
    Decimal: "decimal",
    str: "string",
    datetime.date: "date",
    datetime.datetime: "timestamp",
}
_ARROW_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


class Declared(NamedTuple):
    """`types` by attribute; `maps` by the map's attribute, with its values' type; `structs` that were flattened."""

    types: dict[str, str]
    maps: dict[str, str]
    structs: frozenset[str]

    def type_of(self, attribute: str) -> str | None:
        """The declared type of an attribute, if it has one."""
        found = self.types.get(attribute)
        if found is not None or not self.maps:
            return found
        end = attribute.find(".")
        while end >= 0:
            found = self.maps.get(attribute[:end])
            if found is not None:
                return found
            end = attribute.find(".", end + 1)
        return None


class _Path(NamedTuple):
    """The keys that lead to a field; `exact` if a key with dots was given in backquotes, as one key alone."""

    keys: tuple[str, ...]
    exact: bool = False

    def below(self, key: str) -> _Path:
        return _Path((*self.keys, key), self.exact)

    def spellings(self) -> list[str]:
        """How rules may spell the attribute: a key with dots also without its backquotes."""
        spelling = join_path(self.keys)
        if self.exact or not any("." in key for key in self.keys):
            return [spelling]
        return [spelling, ".".join(self.keys)]


def read_schema(schema: Any) -> Declared:
    """The declarations in a schema of any of the accepted forms.

    >>> read_schema("age int, geo struct<city: string>, tags array<string>").types
    {'age': 'int', 'geo.city': 'string', 'tags': 'list<string>'}
    """
    declared = Declared({}, {}, frozenset())
    structs: set[str] = set()
    for path, described in _fields(schema):
        _declare(declared, structs, path, described)
    return declared._replace(structs=frozenset(structs))


def _fields(schema: Any) -> Iterable[tuple[_Path, Any]]:
    """Top-level fields: the path to each, and its type in whatever form."""
    if schema is None:
        return []
    if isinstance(schema, str):
        return [(_Path((name,)), kind) for name, kind in parse_ddl(schema)]
    if isinstance(schema, pa.Schema):
        return [(_Path((field.name,)), field.type) for field in schema]
    if isinstance(schema, Mapping):
        return [(_given_path(name), _given_type(name, kind)) for name, kind in schema.items()]
    if hasattr(schema, "fields"):
        return [(_Path((field.name,)), field.dataType) for field in schema.fields]
    raise InvalidArgument(
        "schema must be a dict of names and types, a pyarrow.Schema, a Spark StructType or DDL text "
        f"(got {schema!r:.80}, {kind_in_words(schema)})"
    )


def _given_path(name: Any) -> _Path:
    """A dict may spell a name as rules do: what stands in backquotes is one key."""
    if not isinstance(name, str):
        raise InvalidArgument(f"schema: a name must be a str (got {name!r:.80}, {kind_in_words(name)})")
    return _Path(split_path(name), exact=True) if "`" in name else _Path((name,))


def _given_type(name: Any, kind: Any) -> Any:
    if isinstance(kind, str):
        return parse_type(kind)
    if isinstance(kind, pa.DataType | Mapping) or hasattr(kind, "simpleString"):
        return kind
    if isinstance(kind, types.GenericAlias) and kind.__origin__ is list:
        return TypeText("list", [("element", _given_type(name, kind.__args__[0]))])
    if isinstance(kind, np.dtype) or (isinstance(kind, type) and issubclass(kind, np.generic)):
        found = np.dtype(kind)
        return TypeText("string" if found.kind == "U" else found.name, [])
    python = _PYTHON_TYPES.get(kind) if isinstance(kind, type) else None
    if python is None:
        raise refused(str(name), str(kind))
    return TypeText(python, [])


def _declare(declared: Declared, structs: set[str], path: _Path, described: Any) -> None:
    """One field and, by an explicit stack, the fields below it."""
    stack = [(path, described)]
    while stack:
        path, described = stack.pop()
        form, inner = _shape(described)
        if form == "struct":
            structs.update(path.spellings())
            stack.extend((path.below(name), kind) for name, kind in reversed(inner))
            continue
        shown = ".".join(path.keys)
        kind, target = _column_type(form, inner, described, shown), declared.types
        if form == "map":
            target = declared.maps
        for spelling in path.spellings():
            if target.setdefault(spelling, kind) != kind:
                raise InvalidArgument(f"schema: {shown!r} is declared twice, as {target[spelling]} and as {kind}")


def _column_type(form: str, inner: list[tuple[str, Any]], described: Any, shown: str) -> str:
    """The type of a scalar, of a list, or of a map's values."""
    if form == "scalar":
        return scalar_type(str(inner[0][1]), shown)
    element_form, element = _shape(inner[-1][1])
    if form == "list":
        if element_form != "scalar":
            raise refused(shown, _spelling(described))
        return list_type(scalar_type(str(element[0][1]), shown), shown, _spelling(described))
    key_form, key = _shape(inner[0][1])
    if key_form != "scalar" or scalar_type(str(key[0][1]), shown) != "string" or element_form in ("struct", "map"):
        raise refused(shown, _spelling(described))
    return _column_type(element_form, element, inner[-1][1], shown)


def _shape(kind: Any) -> tuple[str, list[tuple[str, Any]]]:
    """A type as struct, list, map or scalar, with the types inside it; a scalar holds its own spelling."""
    if isinstance(kind, TypeText):
        return _text_shape(kind)
    if isinstance(kind, pa.DataType):
        return _arrow_shape(kind)
    if isinstance(kind, Mapping):
        return "struct", [(str(name), _given_type(name, inner)) for name, inner in kind.items()]
    if hasattr(kind, "fields"):
        return "struct", [(field.name, field.dataType) for field in kind.fields]
    if hasattr(kind, "keyType"):
        return "map", [("key", kind.keyType), ("value", kind.valueType)]
    if hasattr(kind, "elementType"):
        return "list", [("element", kind.elementType)]
    return "scalar", [("", kind.simpleString())]


def _text_shape(kind: TypeText) -> tuple[str, list[tuple[str, Any]]]:
    form = {"struct": "struct", "row": "struct", "map": "map", "array": "list", "list": "list"}.get(kind.spelling)
    wanted = {"map": 2, "list": 1}.get(form or "", len(kind.fields))
    if form and kind.fields and len(kind.fields) == wanted:
        return form, kind.fields
    if form or kind.fields:
        raise InvalidArgument(f"schema: {_spelling(kind)!r} is not a type")
    return "scalar", [("", kind.spelling)]


def _arrow_shape(kind: pa.DataType) -> tuple[str, list[tuple[str, Any]]]:
    if pa.types.is_dictionary(kind):
        return _arrow_shape(kind.value_type)
    if pa.types.is_struct(kind):
        return "struct", [(field.name, field.type) for field in kind]
    if pa.types.is_map(kind):
        return "map", [("key", kind.key_type), ("value", kind.item_type)]
    if any(is_list(kind) for is_list in _ARROW_LISTS):
        return "list", [("element", kind.value_type)]
    return "scalar", [("", str(kind))]


def _spelling(kind: Any) -> str:
    """A type for a message: the outermost two levels of it."""
    if isinstance(kind, TypeText):
        inner = ", ".join(str(field) for _, field in kind.fields)
        return f"{kind.spelling}<{inner}>" if inner else kind.spelling
    return kind.simpleString() if hasattr(kind, "simpleString") else str(kind)
