"""The Agent Skill: SKILL.md and its references, and what puts them where agents look."""
