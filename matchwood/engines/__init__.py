"""Engines: units in, hits out. They see integers only (`encoding/codes.py`)."""

from matchwood.engines.atree import AddedForms, ATree
from matchwood.engines.base import Engine, History, Hits, Structure, Work
from matchwood.engines.conjunctions import Added, ConjunctionStore
from matchwood.engines.registry import engine_class, engine_names
from matchwood.engines.workspace import Workspace

__all__ = [
    "ATree",
    "Added",
    "AddedForms",
    "ConjunctionStore",
    "Engine",
    "History",
    "Hits",
    "Structure",
    "Work",
    "Workspace",
    "engine_class",
    "engine_names",
]
