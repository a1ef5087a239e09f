"""A form's identity as bytes, the same in every process: equal forms have equal keys.

Values that compare equal are spelled alike (1, 1.0 and True; 0.0 and -0.0; one moment in two time zones), as
they are in the cuts. Each part carries its length, so that no two forms spell the same.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from hashlib import blake2b
from typing import Any

from matchwood.errors import InvalidArgument
from matchwood.logic.cuts import Cut
from matchwood.logic.form import Form
from matchwood.logic.leaf import Leaf


def form_key(form: Form) -> bytes:
    """32 bytes that only equal forms share."""
    digest = blake2b(digest_size=32)
    for part in _parts(form):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.digest()


def _parts(form: Form) -> Iterator[str]:
    yield f"{len(form.leaves)} leaves"
    for leaf in form.leaves:
        yield from _leaf_parts(leaf)
    for kind, children in zip(form.kinds, form.children, strict=True):
        yield f"{kind} {' '.join(map(str, children))}"


def _leaf_parts(leaf: Leaf) -> Iterator[str]:
    yield leaf.attribute
    yield f"{len(leaf.cuts)} cuts {int(leaf.null)}"
    for cut in leaf.cuts:
        yield _spelled_cut(cut)


def _spelled_cut(cut: Cut) -> str:
    return f"{cut[1]}{_spelled(cut[0])}" if cut else "start"


def _spelled(value: Any) -> str:
    if isinstance(value, str):
        return f"s{value}"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return f"i{int(value):x}"
    if isinstance(value, float):
        return f"f{value.hex()}"
    if isinstance(value, Decimal):
        return f"n{value}"
    if isinstance(value, datetime.datetime):
        return f"t{_moment(value).isoformat()}"
    if isinstance(value, datetime.date):
        return f"d{value.isoformat()}"
    if isinstance(value, bytes):
        return f"b{value.hex()}"
    raise InvalidArgument(
        f"a cut's value must be a bool, int, float, Decimal, str, bytes, date or datetime (got {value!r})"
    )


def _moment(value: datetime.datetime) -> datetime.datetime:
    return value if value.tzinfo is None else value.astimezone(datetime.UTC)
