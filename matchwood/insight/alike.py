"""How to make an index that reads events as another one does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matchwood.encoding import TYPES, EventSettings


def reading_settings(types: Mapping[str, str], timezone: str, settings: EventSettings) -> dict[str, Any]:
    """What `Index` must be given to read events with these types, this time zone and these settings."""
    schema = {name: kind for name, kind in types.items() if kind in TYPES}
    return {"schema": schema, "timezone": timezone, **settings._asdict()}
