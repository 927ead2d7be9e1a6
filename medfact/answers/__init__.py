"""The prompts that ask about a statement or for one, and the reading of replies."""

from medfact.answers.formats import CHOICES, FORMATS, Demonstration, QuestionFormat, make_prompt
from medfact.answers.instructions import INSTRUCTIONS
from medfact.answers.reading import READINGS, read_answer

__all__ = ["CHOICES", "FORMATS", "INSTRUCTIONS", "READINGS", "Demonstration", "QuestionFormat", "make_prompt", "read_answer"]
