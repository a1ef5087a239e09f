"""Which version of an index each micro-batch of a stream used: one small file a batch, beside the index.

    <path>/streams/<query name>/000000000042.json     {"batch": 42, "query": "…", "version": 7}

A batch that is processed again, after a restart from a checkpoint, finds its record and uses the same version. `query`
is the identity that Spark keeps in the checkpoint: a record that another query of the same name left does not count.
Records of the newest batches are kept, as many as Spark can come back to by itself.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from matchwood.errors import CorruptSnapshot, InvalidArgument
from matchwood.storage.current import read_current
from matchwood.storage.location import Location, Path, location_of

DIRECTORY = "streams"
KEPT = 100
"""Batches whose records stay: what Spark keeps in a checkpoint (spark.sql.streaming.minBatchesToRetain)."""

_LIMIT = 4096
_FILE = re.compile(r"([0-9]{12,19})\.json")
_HARMLESS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}", re.ASCII)


def file_name(query_name: str) -> str:
    """One harmless step of a path for any query's name, and two for two.

    >>> file_name("campaigns"), file_name("../x")
    ('campaigns', 'q-c388c52125c33bd4')
    """
    if _HARMLESS.fullmatch(query_name) and not query_name.startswith("q-"):
        return query_name
    return "q-" + hashlib.blake2b(query_name.encode(), digest_size=8).hexdigest()


def pinned_version(path: Path, name: str, query: str, batch: int, wanted: int | None) -> int:
    """The version that a batch must use: what its record says, otherwise `wanted` or the current one, now recorded."""
    place, directory = location_of(path), f"{DIRECTORY}/{file_name(name)}"
    file = f"{directory}/{batch:012d}.json"
    known = _read(place, file)
    if known is not None and (known["batch"], known["query"]) == (batch, query):
        return int(known["version"])
    version = read_current(place).version if wanted is None else wanted
    make_directory(place, DIRECTORY)
    make_directory(place, directory)
    record = {"batch": batch, "query": query, "version": version}
    place.replace(file, json.dumps(record).encode() + b"\n")
    place.remove(f"{directory}/{max(batch - KEPT, -1):012d}.json")
    return version


@dataclass(frozen=True)
class StreamInfo:
    """The records of one stream: its `name`, how many `batches` they are of, their `versions`, when the last came."""

    name: str
    batches: int
    versions: tuple[int, ...]
    changed: datetime.datetime


def streams(path: Path) -> list[StreamInfo]:
    """The streams that have records beside an index, the one that wrote last at the end.

    Nobody can tell from here whether a stream still runs: `changed` says when it last began a batch, or was started.
    """
    place = location_of(path)
    found = [_info(place, name) for name in sorted({file.split("/")[0] for file in _files(place)})]
    return sorted(found, key=lambda info: info.changed)


def _info(place: Location, name: str) -> StreamInfo:
    files = [f"{DIRECTORY}/{file}" for file in _files(place) if file.split("/")[0] == name]
    versions = {int(record["version"]) for file in files if (record := _read(place, file)) is not None}
    changed = max(place.changed(file) for file in files)
    return StreamInfo(name, len(files), tuple(sorted(versions)), datetime.datetime.fromtimestamp(changed, datetime.UTC))


def drop_stream(path: Path, name: str) -> None:
    """Forget a stream that will never run again, so that `vacuum` no longer spares what it used.

    `name`  as `streams` has it, or as the query was called
    """
    place = location_of(path)
    known = {file.split("/")[0] for file in _files(place)}
    directory = name if name in known else file_name(name)
    if directory not in known:
        raise InvalidArgument(
            f"{place} has no records of a stream {name!r} (it has {', '.join(sorted(known)) or 'none'})"
        )
    place.remove(f"{DIRECTORY}/{directory}")


def recorded_versions(place: Location) -> set[int]:
    """All versions that a record names: a stream may need them again."""
    records = (_read(place, f"{DIRECTORY}/{file}") for file in _files(place))
    return {int(record["version"]) for record in records if record is not None}


def _files(place: Location) -> list[str]:
    try:
        found = place.files(DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [file for file in found if _FILE.fullmatch(file.rpartition("/")[2])]


def _read(place: Location, file: str) -> dict[str, Any] | None:
    try:
        record = json.loads(place.read(file, _LIMIT))
        return {"batch": int(record["batch"]), "query": str(record["query"]), "version": int(record["version"])}
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, LookupError, TypeError) as error:
        raise CorruptSnapshot(
            f"{place}/{file} does not tell the version of a stream's batch ({error}): remove it if the batch may be "
            "matched by the current version"
        ) from error


def make_directory(place: Location, directory: str) -> None:
    """Make a directory, if there is none yet."""
    try:
        place.make(directory)
    except FileExistsError:
        return
