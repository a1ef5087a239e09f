"""Many rules at once, from UTF-8 bytes to trees in columns."""
