"""SQL functions, and rules as Spark SQL."""
