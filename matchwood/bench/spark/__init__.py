"""Matching on Spark, and what it cannot be faster than."""
