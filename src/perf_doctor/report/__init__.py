"""Diagnoses in, text out: markdown, JSON, and what is told on the side."""
