"""A slow, obvious second implementation of International Rummy, written from the rules page alone."""
