"""What is checked before a model is asked: its name, a person's consent to an upload, and whose key goes where."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence

from medfact.cli.options import typed_settings
from medfact.errors import Mistake
from medfact.models import check_spec, check_typed_address
from medfact.runs.checks import check_settings, hosts_of_own_data
from medfact.spec import RunSpec


def check_models(specs: Collection[RunSpec]) -> None:
    """Raises an error where a model cannot be named, an address is none or not asked, or a budget cannot be kept."""
    for spec in specs:
        check_spec(spec.model)
        check_settings(spec)
    check_addressed(specs)


def check_addressed(specs: Collection[RunSpec]) -> None:
    """Raises Mistake where an address was typed, and every model is asked at one of its own."""
    for spec in specs:
        try:
            return check_typed_address(spec.model, spec.service.base_url)
        except Mistake as mistake:
            passed_over = mistake
    if specs:
        raise passed_over


def confirm_upload(specs: Sequence[RunSpec], agreed: bool) -> None:
    """Asks before a person's own facts go to a service on another machine. Raises Mistake where the person does not agree."""
    remote = sorted(set[str]().union(*map(hosts_of_own_data, specs)))
    if not remote or agreed:
        return
    documents = " and documents" if any(spec.corpus for spec in specs) else ""
    warning = f"Your facts{documents} go to {', '.join(remote)}. They must hold no patient data."
    if not sys.stdin.isatty() or input(f"{warning} Send them? [y/N] ").strip().lower() not in {"y", "yes"}:
        raise Mistake(warning, "If you agree, add --yes.")


def typed_address(options: argparse.Namespace) -> str | None:
    address: str | None = typed_settings(options)["service"].get("base_url")
    return address
