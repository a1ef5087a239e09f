"""Predicate spaces: all constants of an attribute cut its domain, and a value falls into one piece."""
