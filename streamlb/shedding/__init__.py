"""Load shedding: which messages to drop."""
