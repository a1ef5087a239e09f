"""Attributes and values as small integers: types, predicate spaces, derived attributes, events to codes."""

from matchwood.encoding.encoder import Encoder
from matchwood.encoding.event_missing import near_misses
from matchwood.encoding.requirements import requirement
from matchwood.encoding.schema import Schema, Use

__all__ = ["Encoder", "Schema", "Use", "near_misses", "requirement"]
