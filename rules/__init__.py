"""Judgement: pure functions of declared facts."""
