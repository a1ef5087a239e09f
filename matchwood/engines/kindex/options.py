"""The options of the K-index, what they come to in a run, and which of them are the paper's.

VLDB 2009, sections 3 and 4, and what is ours beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from matchwood.errors import InvalidArgument

DEFAULTS: Mapping[str, Any] = {"form": "auto", "compressed": False, "direct": True, "shortcuts": True, "bounds": {}}
CHOICES: Mapping[str, tuple[str, ...]] = {"form": ("auto", "dnf", "cnf")}

PUBLISHED: Mapping[str, Any] = {"compressed": False, "direct": False, "shortcuts": False}
"""Algorithms 1 and 2 over plain posting lists; both forms are the paper's."""


class Layout(NamedTuple):
    """How runs lie in memory.

    `compressed`  whether posting lists are compressed
    `direct`      whether clusters take the place of posting lists
    `shortcuts`   whether conjunctions of a K-index are grouped by their rarest attribute, lists that hold a whole
                  K-index are counted instead of read, lists are taken as they are where one is enough, and the bound
                  of a unit's own is looked at before its rules are scored; Algorithms 1 and 2 do none of that
    """

    compressed: bool = False
    direct: bool = False
    shortcuts: bool = True


def layout_of(settings: Mapping[str, Any]) -> Layout:
    """What the settings come to; InvalidArgument where two of them say nothing together."""
    layout = Layout(settings["compressed"], settings["direct"], settings["shortcuts"])
    if layout.direct:
        odd = "compressed" if layout.compressed else "" if layout.shortcuts else "shortcuts"
        if odd:
            raise InvalidArgument(f"the option {odd!r} is about posting lists: give direct=False as well")
    return layout
