"""A table of rules to a version of an index, and changes to a new version."""
