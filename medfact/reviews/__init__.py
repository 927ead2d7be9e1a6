"""What clinicians say of facts and statements, how far they agree, and what their judgement does to labels and scores."""
