"""Cases: events as files, with the rules that must be true of them and those that must not."""
