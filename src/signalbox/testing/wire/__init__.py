"""What a line of the switchboard does with single requests: count them, answer in the broker's place, delay, cut."""
