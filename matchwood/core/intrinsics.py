"""Instructions of the processor that Python has no words for, with a function that does the same without compilation.

Kernels that are not compiled, or not yet (`interpreting.py`), call that function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import config
from numba.core.extending import _Intrinsic

Typing = Callable[..., Any]
"""What Numba asks for types: they become a signature and the function that generates code, as of its `intrinsic`."""


class TwoWays(_Intrinsic):  # type: ignore[misc]
    """An intrinsic of Numba that can also be called from Python."""

    plain: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        return self.plain(*arguments)


def instruction(plain: Callable[..., Any]) -> Callable[[Typing], Any]:
    """Decorates what generates the code; `plain` does the same in Python."""

    def made(typing: Typing) -> Any:
        if config.DISABLE_JIT:
            return plain
        found = TwoWays(plain.__name__, typing)
        found.plain = plain
        found._register()
        return found

    return made
