"""The same diagnosis for agents and editors that speak the Model Context Protocol.

The one room that may import ``mcp`` and what comes with it, an extra; nothing imports this room
but ``perf-doctor mcp``. Files are read, none is written, and no port is opened.
"""
