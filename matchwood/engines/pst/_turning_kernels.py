"""Kernels that turn a group of events round: from the lists that each event selects to the events under each list.

VLDB 2018, ours, as `_group_kernels`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.core.jit import bare_kernel
from matchwood.core.prefetch import prefetch
from matchwood.engines.pst._known_list_kernels import SelectedLists
from matchwood.engines.pst._lane_kernels import TILE

_AHEAD = 12
LEFT = -1
"""The place of a list that each event looks at by itself."""


class TurnedLists(NamedTuple):
    """The events under each list.

    `places`   by list: how many events select it, then one more than where the next of them goes, or LEFT; 0 between
               two groups
    `touched`  the lists that are selected
    `tried`, `ends`  those that are tried with their events, and where these end
    `members`  the events under the lists, ascending under each
    `left`     by event: how many of its lists remain for itself
    `tiles`    how many tiles there may be
    """

    places: NDArray[np.int32]
    touched: NDArray[np.int32]
    tried: NDArray[np.int32]
    ends: NDArray[np.int64]
    members: NDArray[np.int32]
    left: NDArray[np.int64]
    tiles: NDArray[np.int64]


@bare_kernel
def _count_events(selected: SelectedLists, count: int, turned: TurnedLists) -> int:
    """Count the events under each list; returns how many lists there are."""
    places, touched, seen = turned.places, turned.touched, 0
    for event in range(count):
        if not selected.alone[event]:
            for at in range(selected.ends[event], selected.ends[event + 1]):
                listed = selected.lists[at]
                touched[seen] = listed
                seen += places[listed] == 0
                places[listed] += 1
    return seen


@bare_kernel
def _words(lists: Any, listed: Any) -> Any:
    """How many words may be kept of a list's candidates, for one tile."""
    return (np.int64(lists.counts[listed]) + TILE - 1) // TILE * TILE


@bare_kernel
def _give_places(lists: Any, seen: int, fewest: int, turned: TurnedLists, room: Any) -> int:
    """Choose the lists that are tried with all their events, as far as there is room for what may be kept of them."""
    places, touched, used, tried, tiles = turned.places, turned.touched, np.int64(0), 0, np.int64(0)
    for number in range(seen):
        prefetch(lists.counts, np.int64(touched[min(number + _AHEAD, seen - 1)]))
        listed = touched[number]
        under = np.int64(places[listed])
        parts = (under + TILE - 1) // TILE
        needed = parts * _words(lists, listed) if under >= fewest else room + 1
        if needed > room or tiles + parts > turned.tiles[0]:
            places[listed] = LEFT
            continue
        places[listed], room, tiles, used = used + 1, room - needed, tiles + parts, used + under
        turned.tried[tried], turned.ends[tried] = listed, used
        tried += 1
    return tried


@bare_kernel
def _take_places(selected: SelectedLists, count: int, turned: TurnedLists) -> None:
    """Put each event under its lists, and keep the lists that it must look at itself."""
    places, chosen = turned.places, selected.lists
    for event in range(count):
        first = end = selected.ends[event]
        for at in range(first, selected.ends[event + 1]):
            listed = chosen[at]
            place = places[listed]
            if place > 0 and not selected.alone[event]:
                turned.members[place - 1] = event
                places[listed] = place + 1
            else:
                chosen[end] = listed
                end += 1
        turned.left[event] = end - first


@bare_kernel
def turn_round(lists: Any, selected: SelectedLists, count: int, fewest: int, turned: TurnedLists, room: int) -> int:
    """Put the events of a group under the lists that at least `fewest` of them select; returns how many lists.

    There is `room` for the words of all tiles together.
    """
    seen = _count_events(selected, count, turned)
    tried = _give_places(lists, seen, fewest, turned, room)
    _take_places(selected, count, turned)
    for number in range(seen):
        turned.places[turned.touched[number]] = 0
    return tried
