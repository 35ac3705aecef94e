"""The catalog of rules, the language of their conditions, and the verdicts on a plan."""
