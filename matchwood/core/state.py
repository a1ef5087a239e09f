"""The state of what consists of several parts: each part's arrays and header under the name of its room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray


def arrays_of(rooms: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays of all rooms, each named after its room."""
    return {f"{room}.{name}": array for room, state in rooms.items() for name, array in state.arrays().items()}


def headers_of(rooms: Mapping[str, Any]) -> dict[str, Any]:
    return {room: state.header() for room, state in rooms.items()}


def restore_rooms(rooms: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
    """Give every room what was its own."""
    for room, state in rooms.items():
        prefix = f"{room}."
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        state.restore(own, header[room])
