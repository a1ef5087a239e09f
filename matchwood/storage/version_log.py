"""The versions of a snapshot over time: list them, bring one back, remove old ones."""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from matchwood.core import in_parallel
from matchwood.errors import CorruptSnapshot, InvalidArgument, SnapshotNotFound
from matchwood.storage.current import read_current
from matchwood.storage.damage import explained, nothing_at
from matchwood.storage.lent import LENT
from matchwood.storage.location import Location, Path, location_of, read_or_none
from matchwood.storage.manifest import Manifest
from matchwood.storage.naming import CLAIM, GIVEN_UP, MANIFEST, is_unfinished, version_name, version_number
from matchwood.storage.query_record import QUERIES
from matchwood.storage.snapshot import VERIFY_LIMIT, check_contents, check_sizes, manifest_at, open_manifest
from matchwood.storage.staging import begin
from matchwood.storage.stream_record import recorded_versions

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(second|minute|hour|day|week)s?\s*", re.IGNORECASE | re.ASCII)
_UNFINISHED = datetime.timedelta(hours=1)
_OF_JOBS = datetime.timedelta(days=1)

FOLLOWS = "follows"
"""What a header calls the state of a table that its version stands for, if it follows one."""


@dataclass(frozen=True)
class VersionInfo:
    """A version as `versions` lists it; one whose manifest cannot be read only has a `problem`.

    `follows`  the table that the index follows and the table's version that this one stands for, if it does
    """

    version: int
    current: bool
    created: datetime.datetime | None = None
    parts: int = 0
    bytes: int = 0
    restored_from: int | None = None
    problem: str | None = None
    follows: Mapping[str, Any] | None = None


def versions(path: Path) -> list[VersionInfo]:
    """All versions, oldest first. Works when CURRENT or some manifests are damaged."""
    place = location_of(path)
    with explained(f"list the versions of {place}"):
        current = _current_or_none(place)
        return [_info(number, opened, number == current) for number, opened in _manifests(place).items()]


Found: TypeAlias = Manifest | CorruptSnapshot


def _manifests(place: Location) -> dict[int, Found]:
    """The manifests of all versions, or what is wrong with them; a directory without one is no version."""
    try:
        numbers = sorted(number for name in place.names() if (number := version_number(name)))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise nothing_at(place) from error
    found = in_parallel(lambda number: _manifest(place, number), numbers)
    return {number: each for number, each in zip(numbers, found, strict=True) if each is not None}


def _manifest(place: Location, number: int) -> Found | None:
    try:
        return manifest_at(place, number).manifest
    except (FileNotFoundError, NotADirectoryError):
        return None
    except CorruptSnapshot as error:
        return error


def _current_or_none(place: Location) -> int | None:
    try:
        return read_current(place).version
    except (CorruptSnapshot, SnapshotNotFound):
        return None


def _info(number: int, found: Found, current: bool) -> VersionInfo:
    if isinstance(found, CorruptSnapshot):
        return VersionInfo(number, current, problem=str(found))
    return VersionInfo(
        number,
        current,
        found.created,
        len(found.parts),
        found.bytes,
        found.restored_from,
        follows=found.header.get(FOLLOWS),
    )


def rollback(path: Path, version: int) -> int:
    """Publish a new version equal to an old one; returns its number. Files are shared, not copied."""
    place = location_of(path)
    with explained(f"roll back {place} to version {version}"):
        open_manifest(place, version)  # what is not there costs no number
        with begin(place) as staging:
            old = open_manifest(place, version)  # from here on, vacuum knows that somebody is about to share files
            check_sizes(old)
            if place.is_local and old.manifest.bytes <= VERIFY_LIMIT:
                check_contents(old)
            descriptions = [staging.link_part(name, part, version) for name, part in old.manifest.parts.items()]
            return staging.publish(descriptions, old.manifest.header, restored_from=version)


def vacuum(
    path: Path, keep: int = 3, grace: str | datetime.timedelta = "1 day", protected: Iterable[int] = ()
) -> list[int]:
    """Remove old versions; returns their numbers.

    It keeps the current version, the newest `keep` versions, those in `protected`, those that a stream has recorded for
    one of its latest batches, those that were replaced less than `grace` ago, damaged ones, and all files that a kept
    version shares. The files of an unfinished save are removed when nothing in them has changed for `grace`, and for at
    least an hour. While a save runs on a remote file system, files wait for the next vacuum.
    """
    if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
        raise InvalidArgument(f"keep must be a whole number of at least 1 (got {keep!r})")
    place, patience = location_of(path), duration_of("grace", grace)
    with explained(f"vacuum {place}"):
        infos = versions(place)
        newest = {info.version for info in [info for info in infos if info.problem is None][-keep:]}
        spared = newest | {info.version for info in infos if info.current} | {*protected, *recorded_versions(place)}
        removed = [info.version for info in _expired(infos, patience) if info.version not in spared]
        _unpublish(place, [version_name(number) for number in removed])
        _sweep(place, removed, max(patience, _UNFINISHED))
        for file in _files_of(place, QUERIES):
            _remove_old(place, file, max(patience, _OF_JOBS))
        _remove_old(place, LENT, max(patience, _OF_JOBS))
    return removed


def _unpublish(place: Location, names: list[str]) -> None:
    """Without a manifest it is no version, and without a claim it does not look like one to be."""
    place.remove_files(f"{name}/{MANIFEST}" for name in names)
    if not place.is_local:
        claims = [file for name in names for file in _files_of(place, name) if file.startswith(f"{name}/{CLAIM}")]
        place.remove_files(claims)


def _sweep(place: Location, removed: list[int], patience: datetime.timedelta) -> None:
    """Remove the files of directories without a manifest that no version shares.

    The order keeps files that a writer is about to share: it claims a number before it reads the manifest that names
    them, and here manifests are removed before claims are looked for, which are looked for before manifests are read.
    So whoever claims later has read one that is among those read here.
    """
    names = place.names()
    found = _manifests(place)
    for name in filter(is_unfinished, names):
        _remove_old(place, name, patience)
    limit = time.time() - patience.total_seconds()
    bare = {number: name for name in names if (number := version_number(name)) and number not in found}
    under_way = {n for n, name in bare.items() if n not in removed and _is_under_way(place, name, limit)}
    if not place.is_local and (under_way or any(isinstance(each, CorruptSnapshot) for each in found.values())):
        return
    manifests = [each for each in found.values() if isinstance(each, Manifest)]
    shared = {name for manifest in manifests for name in (*manifest.files(), *manifest.directories())}
    newest = max([*bare, *found])
    for number in bare.keys() - under_way:
        _remove_unshared(place, bare[number], shared, is_newest=number == newest)


def _is_under_way(place: Location, name: str, limit: float) -> bool:
    """Whether a version may still be published: it is claimed, and something in it has changed lately."""
    if place.is_local:
        return place.changed(name) > limit
    claims = [file for file in _files_of(place, name) if file.startswith(f"{name}/{CLAIM}")]
    is_claimed = any(read_or_none(place, claim) not in (None, GIVEN_UP) for claim in claims)
    return is_claimed and place.changed(name) > limit


def _remove_unshared(place: Location, name: str, shared: set[str], is_newest: bool) -> None:
    """The newest stays claimed where it is remote: so no number is given twice. `shared` has files and directories."""
    every = _files_of(place, name)
    files = [file for file in every if file not in shared and file.rpartition("/")[0] not in shared]
    if len(files) == len(every) and (place.is_local or not is_newest):
        place.remove(name)
        return
    if is_newest:
        files = [file for file in files if not file.startswith(f"{name}/{CLAIM}")]
    place.remove_files(files)


def _expired(infos: list[VersionInfo], patience: datetime.timedelta) -> list[VersionInfo]:
    """A reader may hold a version until it is replaced, so its age counts from then, not from its own creation."""
    limit = datetime.datetime.now(datetime.UTC) - patience
    sound = [info for info in infos if info.created is not None]
    return [old for old, new in pairwise(sound) if max(_created(old), _created(new)) <= limit]


def _created(info: VersionInfo) -> datetime.datetime:
    assert info.created is not None
    return info.created


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


def duration_of(what: str, given: str | datetime.timedelta) -> datetime.timedelta:
    """A duration that somebody gave, in words or as it is.

    >>> duration_of("grace", "12 hours")
    datetime.timedelta(seconds=43200)
    """
    if isinstance(given, datetime.timedelta) and given >= datetime.timedelta(0):
        return given
    found = _DURATION.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise InvalidArgument(f"{what} must be like '1 day', '12 hours', '30 minutes', or a timedelta (got {given!r})")
    return datetime.timedelta(**{f"{found[2].lower()}s": float(found[1])})
