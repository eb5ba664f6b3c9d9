"""Shuffle scheduling: which instance gets a message when costs depend on content."""
