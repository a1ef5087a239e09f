"""How `engine="auto"` fares, and the fitting of its weights."""
