"""The experiments of the A-Tree paper."""
