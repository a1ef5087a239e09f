"""Matchwood finds, for every event, all of the Boolean expressions that are true of it, among millions."""
