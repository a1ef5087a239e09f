"""The experiments of the HEM paper."""
