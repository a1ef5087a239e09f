"""Derived attributes: list tests and patterns, each distinct one a Boolean attribute of its own."""
