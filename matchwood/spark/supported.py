"""Which Spark Matchwood runs on, checked when it is imported and where a session is first met.

`match` is a scalar Arrow function, and `build` and `partitioned` place rows by number: both are new in Spark 4.1.
"""

from __future__ import annotations

import re
import weakref
from typing import Any

from matchwood.errors import MatchwoodError

try:
    import pyspark
except ImportError as error:
    raise ImportError("matchwood.spark needs PySpark: pip install 'matchwood[spark]'") from error

OLDEST = (4, 1)
_OLDEST = ".".join(map(str, OLDEST))

_known: weakref.WeakSet[Any] = weakref.WeakSet()
"""Sessions that were asked: through Connect it takes a request."""


def is_old(version: str) -> bool:
    """
    >>> is_old("4.0.5"), is_old("4.1.0"), is_old("5.0.0.dev1"), is_old("a platform's own")
    (True, False, False, False)
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) < OLDEST


def check_server(session: Any) -> None:
    """MatchwoodError if the Spark that a session belongs to is too old; a client may well be newer than its server."""
    if session in _known:
        return
    if is_old(str(session.version)):
        raise MatchwoodError(
            f"this session runs on Spark {session.version}, and Matchwood needs {_OLDEST} or later: upgrade the "
            "cluster, or match with mw.Index in a mapInArrow of your own"
        )
    _known.add(session)


if is_old(pyspark.__version__):
    _found = f"PySpark {_OLDEST} or later (found {pyspark.__version__})"
    raise ImportError(f"matchwood.spark needs {_found}: pip install 'matchwood[spark]'")
