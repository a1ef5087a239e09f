"""What groups of events write to (`_group_kernels`), in the workspace of one thread.

VLDB 2018, ours, as `_group_kernels`.
"""

from __future__ import annotations

import numpy as np

from matchwood.encoding import LEVELS, NULL_LABEL
from matchwood.engines.pst._candidate_kernels import TEST_WIDTH
from matchwood.engines.pst._group_kernels import (
    LARGEST_GROUP,
    SEGMENT_WIDTH,
    GroupCounts,
    GroupScratch,
    KeptSegments,
)
from matchwood.engines.pst._known_list_kernels import LONG, NULL_RANK, SLOT, WAYS, KnownLists, SelectedLists
from matchwood.engines.pst._lane_kernels import AT_A_TIME, TILE, EventCodes, LaneWords
from matchwood.engines.pst._turning_kernels import TurnedLists
from matchwood.engines.shared.workspace import Workspace

MOST_ATTRIBUTES = 2**16
"""Beyond that, laying out the ranks of a tile would take more memory than it is worth: events go one by one."""

FEWEST = 2
"""Events under a list for which it is tried with all of them at once."""

SELECTED = 2**19
"""Lists that the events of a group may select together."""

KEPT = 2**21
"""Candidates of all tiles of a group that may hold of an event."""

SEGMENTS = 2**15
"""Tiles of a group."""

KNOWN_LABELS, KNOWN_LISTS, KNOWN_TESTS = 2**17, 2**18, 2**18
"""Labels that are remembered, a power of two, and the lists and tests of all of them."""

FEW_KNOWN = 64
"""Where there are so many times more slots for labels than pairs, one of so many slots is enough."""


def group_scratch(
    workspace: Workspace, lists: int, attributes: int, pairs: int, with_labels: bool, version: object
) -> GroupScratch:
    """Room for groups of events that have so many pairs, of an engine with so many lists and attributes.

    `with_labels`  whether ranks do not tell all
    `version`      is another object when the lists have changed
    """
    limits = workspace.array("pst.limits", 2, np.int64)[:2]
    limits[0] = FEWEST
    return GroupScratch(
        _known_lists(workspace, pairs, version),
        _selected_lists(workspace),
        _turned_lists(workspace, lists),
        _event_codes(workspace, pairs, with_labels),
        _lane_words(workspace, attributes, with_labels),
        KeptSegments(
            workspace.array("pst.segments", SEGMENT_WIDTH * SEGMENTS, np.int64, None),
            workspace.array("pst.used", 4, np.int64)[:4],
        ),
        GroupCounts._make(
            workspace.array(f"pst.{name}", LARGEST_GROUP, np.int64, None) for name in GroupCounts._fields
        ),
        limits,
    )


def _known_lists(workspace: Workspace, pairs: int, version: object) -> KnownLists:
    """What is known of labels is kept from call to call. Few pairs need few slots, which are sooner cleared when lists
    have changed."""
    few = FEW_KNOWN * pairs < KNOWN_LABELS
    name, share = ("pst.few_known", FEW_KNOWN) if few else ("pst.known", 1)
    lines, lists = max(1, KNOWN_LABELS // share // WAYS), max(3 * LEVELS, KNOWN_LISTS)
    return KnownLists(
        workspace.kept(f"{name}_slots", SLOT * WAYS * lines, np.int32, 0, version),
        workspace.array(f"{name}_lists", lists, np.int32, None),
        workspace.array(f"{name}_levels", lists, np.uint32, None),
        workspace.array(f"{name}_tests", TEST_WIDTH * max(LONG * LEVELS, KNOWN_TESTS), np.uint32, None),
        workspace.kept(f"{name}_used", 2, np.int64, 0, version),
    )


def _selected_lists(workspace: Workspace) -> SelectedLists:
    return SelectedLists(
        workspace.array("pst.selected", SELECTED, np.int32, None),
        workspace.array("pst.selected_ends", LARGEST_GROUP + 1, np.int64, None),
        workspace.array("pst.selected_tests", SELECTED, np.int32, None),
        workspace.array("pst.test_ends", LARGEST_GROUP + 1, np.int64, None),
        workspace.array("pst.alone", LARGEST_GROUP, np.bool_, None),
    )


def _turned_lists(workspace: Workspace, lists: int) -> TurnedLists:
    tiles = workspace.array("pst.tiles", 1, np.int64)
    tiles[0] = SEGMENTS
    return TurnedLists(
        workspace.array("pst.places", lists, np.int32),
        workspace.array("pst.touched", lists, np.int32, None),
        workspace.array("pst.tried", lists, np.int32, None),
        workspace.array("pst.tried_ends", lists, np.int64, None),
        workspace.array("pst.members", SELECTED, np.int32, None),
        workspace.array("pst.left_lists", LARGEST_GROUP, np.int64, None),
        tiles,
    )


def _event_codes(workspace: Workspace, pairs: int, with_labels: bool) -> EventCodes:
    return EventCodes(
        workspace.array("pst.codes", pairs + 1, np.uint32, None),
        workspace.array("pst.labels", pairs + 1, np.int32, None)[: pairs + 1 if with_labels else 0],
        workspace.array("pst.code_ends", LARGEST_GROUP + 1, np.int64, None),
    )


def _lane_words(workspace: Workspace, attributes: int, with_labels: bool) -> LaneWords:
    cells = TILE * attributes
    return LaneWords(
        workspace.array("pst.ranks", cells, np.uint16, NULL_RANK)[:cells],
        workspace.array("pst.tile_labels", cells if with_labels else 0, np.int32, NULL_LABEL)[: cells * with_labels],
        workspace.array("pst.kept_units", KEPT, np.int32, None),
        workspace.array("pst.kept_lanes", KEPT, np.uint64, None),
        workspace.array("pst.rest_places", AT_A_TIME, np.int32, None),
    )
