"""Answers from recordings that the program has with it."""
