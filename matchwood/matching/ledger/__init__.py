"""What is remembered of past events."""
