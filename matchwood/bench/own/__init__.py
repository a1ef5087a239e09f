"""Experiments of Matchwood's own."""
