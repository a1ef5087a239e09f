"""The PS-Tree (VLDB 2018, section 4): predicate spaces in a tree of elements."""
