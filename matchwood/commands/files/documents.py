"""YAML as people write it: a list of objects, or objects by name.

Only `true` and `false` are truth values and only digits are numbers, as in YAML 1.2: `NO` may be a country, `12:30` a
time, `007` and `2026-01-31` stay text, which the index reads as what the rules ask for.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from matchwood.commands.files.formats import is_compressed
from matchwood.errors import InvalidArgument, kind_in_words

_DIGITS = "-+.0123456789"
_PLAIN = (
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:int", r"^[-+]?(?:0|[1-9][0-9]*)$", _DIGITS),
    ("tag:yaml.org,2002:float", r"^[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", _DIGITS),
    ("tag:yaml.org,2002:float", r"^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$", "-+."),
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:merge", r"^<<$", "<"),
)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a YAML file that holds a list of them."""
    return _rows(path, read_yaml(path))


def _rows(path: Path, document: Any) -> list[dict[str, Any]]:
    if not isinstance(document, list):
        raise InvalidArgument(f"{path}: must be a list of objects (got {kind_in_words(document)})")
    for number, row in enumerate(document, 1):
        if not isinstance(row, dict):
            raise InvalidArgument(f"{path}, entry {number}: must be an object (got {kind_in_words(row)})")
    return [{str(key): value for key, value in row.items()} for row in document]


def read_rules(path: Path, id_column: str, expression_column: str) -> list[dict[str, Any]]:
    """The rules of a YAML file: a list of objects, or an expression or an object under each id."""
    document = read_yaml(path)
    if not isinstance(document, dict):
        return _rows(path, document)
    return [
        {id_column: name, **(value if isinstance(value, Mapping) else {expression_column: value})}
        for name, value in document.items()
    ]


def read_yaml(path: Path) -> Any:
    """What a YAML file holds; an empty one an empty list."""
    if not path.is_file():
        raise InvalidArgument(f"{path}: there is no such file")
    yaml, loader = _loader(path)
    opener = gzip.open if is_compressed(path) else open
    try:
        with opener(path, "rt", encoding="utf-8-sig") as text:
            document = yaml.load(text, loader)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InvalidArgument(f"{path}{line}: not readable as YAML ({error.problem})") from None
    except (yaml.YAMLError, UnicodeDecodeError, EOFError, gzip.BadGzipFile, RecursionError) as error:
        told = str(error).split("\n")[0]
        raise InvalidArgument(f"{path}: not readable as YAML ({told})") from None
    return [] if document is None else document


def _loader(path: Path) -> tuple[Any, Any]:
    try:
        return _yaml()
    except ImportError:
        raise InvalidArgument(f"{path}: YAML needs PyYAML: pip install 'matchwood[yaml]'") from None


@cache
def _yaml() -> tuple[Any, Any]:
    import yaml

    class PlainLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """YAML 1.2's plain values, and a key once at most."""

        yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012  # of the base class, and filled below

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
            twice = next((key for number, key in enumerate(keys) if key in keys[:number]), None)
            if twice is not None:
                raise yaml.constructor.ConstructorError(None, None, f"the key {twice!r} occurs twice", node.start_mark)
            return super().construct_mapping(node, deep)

    for tag, form, first in _PLAIN:
        PlainLoader.add_implicit_resolver(tag, re.compile(form), list(first))
    for tag, make in (("int", int), ("float", _double)):
        PlainLoader.add_constructor(f"tag:yaml.org,2002:{tag}", lambda loader, node, make=make: make(node.value))
    return yaml, PlainLoader


def _double(text: str) -> float:
    """A number as YAML writes it.

    >>> _double("1e3"), _double("-.inf")
    (1000.0, -inf)
    """
    bare = text.lower()
    return float(bare.replace(".inf", "inf").replace(".nan", "nan"))
