"""Follow a table of rules: what changes in it becomes updates of an index, exactly once."""
