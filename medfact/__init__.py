"""medfact: does a language model know a medical fact, or only one way of saying it?

A fact is a triplet (head, relation, tail). Logical implication gives eight statements; a model judges each one true or
false; the fact is mastered when all eight answers are right. Importing this package loads no model or page library.
"""

__version__ = "0.2.0"
