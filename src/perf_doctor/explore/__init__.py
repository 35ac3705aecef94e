"""Many plans through the same estimate: what if, compare."""
