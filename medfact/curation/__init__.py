"""Facts made by retrieve-and-check: passages of one's own documents propose, clinicians decide (TPEval, Appendix A)."""
