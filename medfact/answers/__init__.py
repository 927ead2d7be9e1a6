"""Prompts that ask about statements or for texts, and the parsing of replies."""

from medfact.answers.prompts import CHOICES, FORMATS, INSTRUCTIONS, Demonstration, QuestionFormat, make_prompt
from medfact.answers.reading import READINGS, read_answer

__all__ = ["CHOICES", "FORMATS", "INSTRUCTIONS", "READINGS", "Demonstration", "QuestionFormat", "make_prompt", "read_answer"]
