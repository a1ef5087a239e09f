"""The versions of a snapshot over time: list them, bring one back, remove old ones."""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from matchwood.errors import CorruptSnapshot, InvalidArgument, SnapshotNotFound
from matchwood.storage.current import read_current
from matchwood.storage.damage import explained
from matchwood.storage.lent import LENT
from matchwood.storage.location import Location, Path, location_of
from matchwood.storage.naming import is_unfinished, version_name, version_number
from matchwood.storage.query_record import QUERIES
from matchwood.storage.snapshot import VERIFY_LIMIT, check_contents, check_sizes, open_manifest, version_numbers
from matchwood.storage.staging import begin
from matchwood.storage.stream_record import recorded_versions

_GRACE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(second|minute|hour|day|week)s?\s*", re.IGNORECASE | re.ASCII)
_UNFINISHED = datetime.timedelta(hours=1)
_OF_JOBS = datetime.timedelta(days=1)


@dataclass(frozen=True)
class VersionInfo:
    """A version as `versions` lists it; one whose manifest cannot be read only has a `problem`."""

    version: int
    current: bool
    created: datetime.datetime | None = None
    parts: int = 0
    bytes: int = 0
    restored_from: int | None = None
    problem: str | None = None


def versions(path: Path) -> list[VersionInfo]:
    """All versions, oldest first. Works when CURRENT or some manifests are damaged."""
    place = location_of(path)
    with explained(f"list the versions of {place}"):
        numbers = version_numbers(place)
        current = _current_or_none(place)
        return [_info(place, number, number == current) for number in numbers]


def _current_or_none(place: Location) -> int | None:
    try:
        return read_current(place).version
    except (CorruptSnapshot, SnapshotNotFound):
        return None


def _info(place: Location, number: int, current: bool) -> VersionInfo:
    try:
        manifest = open_manifest(place, number).manifest
    except CorruptSnapshot as error:
        return VersionInfo(number, current, problem=str(error))
    return VersionInfo(number, current, manifest.created, len(manifest.parts), manifest.bytes, manifest.restored_from)


def rollback(path: Path, version: int) -> int:
    """Publish a new version equal to an old one; returns its number. Files are linked, not copied, where possible."""
    place = location_of(path)
    with explained(f"roll back {place} to version {version}"):
        old = open_manifest(place, version)
        check_sizes(old)
        if place.is_local and old.manifest.bytes <= VERIFY_LIMIT:
            check_contents(old)
        with begin(place) as staging:
            descriptions = [staging.link_part(name, part, version) for name, part in old.manifest.parts.items()]
            return staging.publish(descriptions, old.manifest.header, restored_from=version)


def vacuum(
    path: Path, keep: int = 3, grace: str | datetime.timedelta = "1 day", protected: Iterable[int] = ()
) -> list[int]:
    """Remove old versions; returns their numbers.

    Kept are: the current version, the newest `keep`, those `protected`, those that a stream has recorded for one of its
    latest batches, those that were replaced by the next one less than `grace` ago, and damaged ones. What unfinished
    saves left is removed when nothing in it has changed for `grace`, an hour at least.
    """
    if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
        raise InvalidArgument(f"keep must be a whole number of at least 1 (got {keep!r})")
    place, patience = location_of(path), _duration(grace)
    with explained(f"vacuum {place}"):
        infos = versions(place)
        newest = {info.version for info in [info for info in infos if info.problem is None][-keep:]}
        spared = newest | {info.version for info in infos if info.current} | {*protected, *recorded_versions(place)}
        removed = [info.version for info in _expired(infos, patience) if info.version not in spared]
        for number in removed:
            place.remove(version_name(number))
        _remove_unfinished(place, {info.version for info in infos}, max(patience, _UNFINISHED))
        for file in _files_of(place, QUERIES):
            _remove_old(place, file, max(patience, _OF_JOBS))
        _remove_old(place, LENT, max(patience, _OF_JOBS))
    return removed


def _expired(infos: list[VersionInfo], patience: datetime.timedelta) -> list[VersionInfo]:
    """A reader may hold a version until it is replaced, so its age counts from then, not from its own creation."""
    limit = datetime.datetime.now(datetime.UTC) - patience
    sound = [info for info in infos if info.created is not None]
    return [old for old, new in pairwise(sound) if max(_created(old), _created(new)) <= limit]


def _created(info: VersionInfo) -> datetime.datetime:
    assert info.created is not None
    return info.created


def _remove_unfinished(place: Location, known: set[int], patience: datetime.timedelta) -> None:
    for name in place.names():
        if is_unfinished(name) or (version_number(name) or 0) not in {0, *known}:
            _remove_old(place, name, patience)


def _remove_old(place: Location, name: str, patience: datetime.timedelta) -> None:
    """Remove a file or a directory in which nothing has changed for so long."""
    since = place.changed(name)
    if since and time.time() - since > patience.total_seconds():
        place.remove(name)


def _files_of(place: Location, directory: str) -> list[str]:
    try:
        return [f"{directory}/{file}" for file in place.files(directory)]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _duration(grace: str | datetime.timedelta) -> datetime.timedelta:
    """
    >>> _duration("12 hours")
    datetime.timedelta(seconds=43200)
    """
    if isinstance(grace, datetime.timedelta) and grace >= datetime.timedelta(0):
        return grace
    found = _GRACE.fullmatch(grace) if isinstance(grace, str) else None
    if found is None:
        raise InvalidArgument(f"grace must be like '1 day', '12 hours', '30 minutes', or a timedelta (got {grace!r})")
    return datetime.timedelta(**{f"{found[2].lower()}s": float(found[1])})
