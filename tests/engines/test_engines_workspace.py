"""Scratch memory: kept between calls, never shared by mistake."""

from __future__ import annotations

import numpy as np

from matchwood.engines import Workspace


def test_an_array_is_kept_as_its_user_left_it() -> None:
    workspace = Workspace()
    first = workspace.array("labels", 20, np.int32, -1)
    assert (first == -1).all()
    first[3] = 7
    assert workspace.array("labels", 10, np.int32, -1) is first
    assert workspace.array("labels", 10, np.int32, -1)[3] == 7


def test_an_array_that_grows_or_changes_its_type_is_filled_anew() -> None:
    workspace = Workspace()
    small = workspace.array("labels", 20, np.int32, -1)
    small[3] = 7
    large = workspace.array("labels", 21, np.int32, -1)
    assert len(large) >= 30
    assert (large == -1).all()
    assert workspace.array("labels", 5, np.int64).dtype == np.int64


def test_a_copy_is_made_anew_for_another_version_only() -> None:
    workspace, source, version = Workspace(), np.arange(5, dtype=np.uint8), object()
    copy = workspace.copy("counters", source, version)
    copy[0] = 9
    assert source[0] == 0
    assert workspace.copy("counters", source, version) is copy
    assert np.array_equal(workspace.copy("counters", source, object()), source)


def test_what_is_kept_is_filled_anew_for_another_version() -> None:
    workspace, first, second = Workspace(), object(), object()
    kept = workspace.kept("keys", 4, np.int64, -1, first)
    kept[0] = 7
    assert workspace.kept("keys", 4, np.int64, -1, first).tolist() == [7, -1, -1, -1]
    assert workspace.kept("keys", 4, np.int64, -1, second).tolist() == [-1] * 4
    assert workspace.kept("keys", 8, np.int64, -1, second).tolist() == [-1] * 8
