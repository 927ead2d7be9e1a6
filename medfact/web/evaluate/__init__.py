"""From what a visitor chooses to runs: the form, the specs, the plans, and the press of the button."""
