"""Step 3: which models to ask and how, what came of it so far, and any single answer."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from medfact.web.run_controls import Controls, controls
from medfact.web.view import Heading, Place, view

PLACES = (
    Place("runs-message", "message"),
    Place("banner", "message"),
    Place("progress", "progress"),
    Place("link", "link"),
    Place("scores", "scores"),
    Heading("Right answers by the way of saying"),
    Place("bars", "figure"),
    Heading("Does the model know when it knows?"),
    Place("calibration-said", "message"),
    Place("calibration", "figure"),
    Heading("Fact by fact"),
    Place("which", "choice"),
    Place("heat", "heatmap"),
    Place("heat-turn", "turn"),
    Place("detail", "detail"),
)
"""Where it is shown what comes of the runs."""


@dataclass(frozen=True)
class EvaluateStep:
    """What a visitor chooses and presses, and the component that is told which runs the page is to show."""

    controls: Controls
    shown: gr.HTML


def build() -> EvaluateStep:
    """Lays the controls out."""
    gr.Markdown(
        "## 3 · Evaluate\nA model says true or false to each statement. A fact counts as mastered only when *all eight* "
        "answers are right."
    )
    chosen = controls()
    shown = view("shown", {}, elem_id="shown-runs")
    return EvaluateStep(chosen, shown)
