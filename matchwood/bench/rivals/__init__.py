"""Other ways to match that experiments stand beside ours: compiled as well, and held to the same answers."""
