"""The options of an A-Tree: each switches one of its ideas off, as the measurements of its parts need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matchwood.errors import InvalidArgument

DEFAULTS: Mapping[str, Any] = {
    "unique": True,
    "reorganise": True,
    "self_adjust": True,
    "zero_suppression": True,
    "on_demand": True,
    "binary": False,
}


def checked(settings: Mapping[str, Any]) -> dict[str, bool]:
    """Every option is on or off."""
    for name, value in settings.items():
        if not isinstance(value, bool):
            raise InvalidArgument(f"option {name!r} of engine 'atree' must be True or False (got {value!r:.80})")
    return dict(settings)
