"""Unions (OEM, Computer Networks 2024): of each run of spaces, one bit for every unit that fails there."""
