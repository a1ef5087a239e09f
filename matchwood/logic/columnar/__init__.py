"""The conjunctions of many rules at once, from trees in columns."""
