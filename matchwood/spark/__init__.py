"""The pipeline on Spark: build an index from a table of rules, match tables and streams of events against it.

    from matchwood import spark as mws

Everything uses the DataFrame API alone, so it also runs through Spark Connect.
"""

try:
    import pyspark  # noqa: F401
except ImportError as error:
    raise ImportError("matchwood.spark needs PySpark: pip install 'matchwood[spark]'") from error

from matchwood.spark.build import build
from matchwood.spark.diff import diff
from matchwood.spark.explain import explain
from matchwood.spark.functions import register
from matchwood.spark.history import rollback, vacuum, versions
from matchwood.spark.match import match, plan
from matchwood.spark.match_stream import match_stream
from matchwood.spark.rejects import rejects
from matchwood.spark.session import session
from matchwood.spark.update import update
from matchwood.spark.verify import verify
from matchwood.spark.why_not import why_not

# The functions take the names of the modules that they come from: these are imported first, whatever is used.
__all__ = [
    "build",
    "diff",
    "explain",
    "match",
    "match_stream",
    "plan",
    "register",
    "rejects",
    "rollback",
    "session",
    "update",
    "vacuum",
    "verify",
    "versions",
    "why_not",
]
