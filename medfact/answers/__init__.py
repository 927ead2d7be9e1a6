"""The prompt and the reply: how a statement is asked, and how what comes back is read."""

from medfact.answers.formats import CHOICES, FORMATS, Demonstration, QuestionFormat, make_prompt
from medfact.answers.reading import READINGS, read_answer

__all__ = ["CHOICES", "FORMATS", "READINGS", "Demonstration", "QuestionFormat", "make_prompt", "read_answer"]
