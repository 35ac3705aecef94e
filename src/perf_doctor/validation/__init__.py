"""The estimate judged on runs that somebody measured.

What a run leaves open is filled in with its framework's defaults (``frameworks``), the same
formulas are asked as for a plan, and predicted stands beside measured (``judged``). Nothing that
diagnoses a script knows this room.
"""
