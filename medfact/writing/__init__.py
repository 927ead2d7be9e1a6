"""What a language model writes (rephrased prototypes, whole statements, templates), and the guards over it."""
