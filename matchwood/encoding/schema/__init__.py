"""The types of attributes: declared, read from DDL, or inferred from what rules ask of them."""
