"""Bridges to other libraries of games, each with an extra of its own."""
