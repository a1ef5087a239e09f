"""Answers of saved indexes, from a process of its own.

asking_script.py COUNT PATH ...     open each index, ask it so many of the sample events, print ids and hits as JSON
"""

from __future__ import annotations

import json
import sys

import matchwood as mw
from tests.index.index_samples import answers, sample_events

if __name__ == "__main__":
    events = sample_events(int(sys.argv[1]))
    opened = [mw.open(path, read_only=True) for path in sys.argv[2:]]
    print(json.dumps([{"ids": list(index), "hits": answers(index, events)} for index in opened]))
