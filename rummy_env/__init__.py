"""Rummy for reinforcement learning."""
