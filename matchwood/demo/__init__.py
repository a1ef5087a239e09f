"""The main job on generated data, with results to look at: what `make demo` runs."""
