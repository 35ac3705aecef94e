"""What a project says once for all its scripts: its configuration file, and whose word counts."""
