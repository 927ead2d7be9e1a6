"""The prompts that ask about a statement, and the reading of replies."""

from medfact.answers.formats import CHOICES, FORMATS, Demonstration, QuestionFormat, make_prompt
from medfact.answers.reading import READINGS, read_answer

__all__ = ["CHOICES", "FORMATS", "READINGS", "Demonstration", "QuestionFormat", "make_prompt", "read_answer"]
