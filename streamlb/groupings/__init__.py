"""Groupings: which worker gets a keyed message. One algorithm, one file."""
