"""Puts ``tests/`` on the path, so that every test can import the bash oracle."""
