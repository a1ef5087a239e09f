"""Constraints of a store: each distinct one is a record of three integers, found by what it says."""
