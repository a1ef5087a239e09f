"""Columns of events read at once: Arrow arrays, Python objects, values of fixed width."""
