"""Bash text in, words out: a static evaluator that knows nothing of Relax."""
