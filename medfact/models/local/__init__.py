"""Models that run on this machine: transformers, packed prompts, memory."""
