"""The constants of tests that are lists, `in (…)` and `not in (…)`, in tests that `_predicate_kernels` has taken."""

from __future__ import annotations

from typing import Any

from matchwood.core.jit import bare_kernel
from matchwood.language.columnar._token_kernels import CLOSE, COMMA, IN, NOT, OPEN, read_token

OTHER_TEST, IN_LIST, NOT_IN_LIST = range(3)


@bare_kernel
def split_lists(data: Any, starts: Any, stops: Any, most: int, forms: Any, spans: Any, ends: Any) -> Any:
    """Tell which tests are lists of at most so many constants, and where these stand: first byte and length.

    `ends`  where the constants of each test end among all; returns how many there are
    """
    count = 0
    for test in range(len(starts)):
        begin = count
        kind, _, position = read_token(data, starts[test], stops[test])
        form = NOT_IN_LIST if kind == NOT else IN_LIST
        if kind == NOT:
            kind, _, position = read_token(data, position, stops[test])
        forms[test] = form if kind == IN else OTHER_TEST
        if kind == IN:
            kind, _, position = read_token(data, position, stops[test])
        while kind in (OPEN, COMMA):
            kind, first, position = read_token(data, position, stops[test])
            last = position
            while kind not in (COMMA, CLOSE) and position < stops[test]:
                last = position
                kind, _, position = read_token(data, position, stops[test])
            spans[count, 0], spans[count, 1] = first, last - first
            count += 1
        if count - begin > most:
            forms[test], count = OTHER_TEST, begin
        ends[test] = count
    return count
