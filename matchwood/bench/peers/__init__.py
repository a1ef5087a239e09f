"""Next to what users might pick instead."""
