"""JSON that comes back as it was given, and JSON from strangers.

Python's encoder turns tuples into lists and integer keys into strings without a word; a header that changes when
it is saved is refused instead. What is read is bounded in depth, so that no file exhausts the stack.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from matchwood.errors import InvalidArgument

MOST_LEVELS = 64

# Matches an unfinished string too, so that each byte is looked at once whatever the text is.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


def encoded(what: str, value: Any) -> str:
    """JSON text that decodes to an equal value, or an error that names `what`."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(f"{what} cannot be saved as JSON: {error}") from error
    if depth(text.encode()) > MOST_LEVELS:
        raise InvalidArgument(f"{what} is nested more than {MOST_LEVELS} levels deep")
    if json.loads(text) != value:
        raise InvalidArgument(f"{what} would not come back equal from JSON (write lists for tuples, strings for keys)")
    return text


def decoded(data: bytes) -> Any:
    """The value of some JSON text; a ValueError says what is wrong with it."""
    if depth(data) > MOST_LEVELS:
        raise ValueError(f"nested more than {MOST_LEVELS} levels deep")
    return json.loads(data, parse_constant=_refuse)


def depth(data: bytes) -> int:
    """The deepest nesting of lists and objects.

    >>> depth(b'{"a": [1, "[[["]}')
    2
    """
    bare = np.frombuffer(_STRING.sub(b"", data), np.uint8)
    opening = (bare == ord("[")) | (bare == ord("{"))
    closing = (bare == ord("]")) | (bare == ord("}"))
    levels = np.cumsum(opening.astype(np.int8) - closing.astype(np.int8), dtype=np.int64)
    return int(levels.max(initial=0))


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
