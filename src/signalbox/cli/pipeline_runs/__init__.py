"""What the commands of `signalbox pipeline` have in common."""
