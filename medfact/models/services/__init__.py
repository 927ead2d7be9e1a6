"""Models behind a service that speaks the OpenAI protocol."""
