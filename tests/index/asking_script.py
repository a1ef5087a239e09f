"""Answers of a saved index, from a process of its own.

asking_script.py PATH        open the index, ask it the sample events, print ids and hits as JSON
"""

from __future__ import annotations

import json
import sys

import matchwood as mw
from tests.index.index_samples import answers, sample_events

if __name__ == "__main__":
    index = mw.open(sys.argv[1], read_only=True)
    print(json.dumps({"ids": list(index), "hits": answers(index, sample_events(1000))}))
