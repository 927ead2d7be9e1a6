"""Local models spread over a cluster: batches of prompts go to workers that each hold the model, and answers stream back."""
