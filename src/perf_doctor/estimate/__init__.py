"""Plan → memory by phase and pipeline stage. Pure arithmetic: no I/O and no flag names."""
