"""The pipeline on Spark: build an index from a table of rules, match tables and streams of events against it.

    from matchwood import spark as mws

Everything uses the DataFrame API alone, so it also runs through Spark Connect.
"""

try:
    import pyspark  # noqa: F401
except ImportError as error:
    raise ImportError("matchwood.spark needs PySpark: pip install 'matchwood[spark]'") from error

from matchwood.spark.session import session

# The functions take the names of the modules that they come from: these are imported first, whatever is used.
__all__ = ["session"]
