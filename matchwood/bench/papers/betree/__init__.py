"""The experiments of the BE-Tree paper."""
