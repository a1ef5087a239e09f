"""Engines: units in, hits out. They see integers only (`encoding/codes.py`)."""

from matchwood.engines.base import Engine, Hits, Work
from matchwood.engines.conjunctions import Added, ConjunctionStore
from matchwood.engines.form_scan import FormScan
from matchwood.engines.forms import FormStore
from matchwood.engines.registry import engine_class, engine_names
from matchwood.engines.workspace import Workspace

__all__ = [
    "Added",
    "ConjunctionStore",
    "Engine",
    "FormScan",
    "FormStore",
    "Hits",
    "Work",
    "Workspace",
    "engine_class",
    "engine_names",
]
