"""Charts, drawn by Altair: what rules do with events, as data that anybody can style further."""
