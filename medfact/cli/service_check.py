"""The self-check of a service: do its answers depend on what else it computes?"""

from __future__ import annotations

import argparse

from medfact.cli.consent import check_models
from medfact.cli.options import spec_of
from medfact.cli.rows import emit
from medfact.errors import Mistake
from medfact.models import key_of_named
from medfact.runs.service_check import check_service, cost_of_check, prompts_of_check


def check(options: argparse.Namespace) -> int:
    """Checks the service of each model and prints a row each; with --dry-run, what the check would cost. Records no run."""
    if options.again or options.writing or options.race or not options.model:
        raise Mistake(
            "The check asks models behind a service, and no run.", "Give --model, without --again, --writing or --race."
        )
    specs = [spec_of(options, model) for model in options.model]
    check_models(specs)
    prompts = [prompts_of_check(spec) for spec in specs]
    both = zip(specs, prompts, strict=True)
    if options.dry_run:
        return emit((cost_of_check(spec, asked) for spec, asked in both), options.output)
    return emit([check_service(spec, asked, key_of_named(spec.model, spec.service)) for spec, asked in both], options.output)
