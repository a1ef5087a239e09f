"""The papers' own experiments, a folder a system."""
