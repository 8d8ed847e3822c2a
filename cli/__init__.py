"""Words: parse, gather, judge, render, exit."""
