"""The experiments of the PS-Tree paper."""
