"""The state of what consists of several parts: each part's arrays and header under the name of its room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray


def arrays_of(rooms: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays of all rooms, each named after its room."""
    return {f"{room}.{name}": array for room, state in rooms.items() for name, array in state.arrays().items()}


def headers_of(rooms: Mapping[str, Any]) -> dict[str, Any]:
    """The headers of all rooms; that of `a.b` lies under `b` in what lies under `a`."""
    found: dict[str, Any] = {}
    for room, state in rooms.items():
        *above, name = room.split(".")
        inner = found
        for each in above:
            inner = inner.setdefault(each, {})
        inner[name] = state.header()
    return found


def restore_rooms(rooms: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
    """Give every room what was its own."""
    for room, state in rooms.items():
        prefix = f"{room}."
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        found: Any = header
        for each in room.split("."):
            found = found[each]
        state.restore(own, found)
