"""Step 3: which models to ask and how, what came of it so far, and any single answer."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from medfact.ui.run_controls import Controls, controls
from medfact.ui.view import places, view


@dataclass(frozen=True)
class EvaluateStep:
    """What a visitor chooses and presses, and the component that is told which runs the page is to show."""

    controls: Controls
    shown: gr.HTML


def build() -> EvaluateStep:
    """Lays the step out. What comes of the runs is told by the news, which fill the places by their names."""
    gr.Markdown(
        "## 3 · Evaluate\nA model says true or false to each statement. A fact counts as mastered only when *all eight* "
        "answers are right."
    )
    chosen = controls()
    shown = view("shown", {}, elem_id="shown-runs")
    places(
        ("banner", "message"),
        ("progress", "progress"),
        ("link", "link"),
        ("scores", "scores"),
        "Right answers by the way of saying",
        ("bars", "figure"),
        "Does the model know when it knows?",
        ("calibration-said", "message"),
        ("calibration", "figure"),
        "Fact by fact",
        ("which", "choice"),
        ("heat", "heatmap"),
        ("heat-turn", "turn"),
        ("detail", "detail"),
    )
    return EvaluateStep(chosen, shown)
