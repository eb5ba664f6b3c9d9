"""What scheduling and shedding share: learning what tuples cost, and the messages that carry it."""
