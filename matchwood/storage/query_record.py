"""Which version of an index a query uses whose tasks cannot be told when it is planned: one small file a query.

    <path>/queries/<query>.json     {"version": 7}

The first task creates it, and all others read it. `vacuum` removes what is old.
"""

from __future__ import annotations

import json

from matchwood.errors import CorruptSnapshot
from matchwood.storage.current import read_current
from matchwood.storage.location import Location, Path, location_of
from matchwood.storage.stream_record import file_name, make_directory

QUERIES = "queries"
_LIMIT = 4096


def version_of_query(path: Path, query: str) -> int:
    """The version that all tasks of a query use: the one that is current when the first of them asks."""
    place, file = location_of(path), f"{QUERIES}/{file_name(query)}.json"
    known = _read(place, file)
    if known is not None:
        return known
    with place.alone():
        version = read_current(place).version
        make_directory(place, QUERIES)
        if place.create(file, json.dumps({"version": version}).encode() + b"\n"):
            return version
    return version_of_query(place, query)


def _read(place: Location, file: str) -> int | None:
    try:
        return int(json.loads(place.read(file, _LIMIT))["version"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, LookupError, TypeError) as error:
        raise CorruptSnapshot(f"{place}/{file} does not tell the version of a query ({error}): remove it") from error
