"""Streams that follow new versions of an index."""
