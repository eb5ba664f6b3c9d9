"""Spark: sessions that find Java by themselves, and what skewed jobs need."""
