"""The version, as a constant: reading package metadata would cost 40 ms of every start."""

__version__ = "0.1.0"
