"""Where local models are computed: here, or on a cluster that the person at this command line names."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from medfact.errors import Mistake
from medfact.models import Model, is_local, load_model


@contextmanager
def loader(options: argparse.Namespace, models: Sequence[str], racing: Sequence[str] = ()) -> Iterator[Callable[..., Model]]:
    """What loads the models of a command. The address of a cluster comes from the command line alone, never from a record.
    racing: those of the models that race with each other.

    Raises Mistake where the options do not go together, and ModelError where the cluster cannot be used.
    """
    if options.on is None:
        if any(value is not None for value in (options.actors, options.cpus_per_actor, options.gpus_per_actor)):
            raise Mistake("--actors, --cpus-per-actor and --gpus-per-actor say how to use a cluster.", "Add --on ray.")
        yield load_model
        return
    local = [model for model in models if is_local(model)]
    if not local:
        raise Mistake(
            "--on is for models with weights, such as hf:NAME, which a cluster computes.",
            "Leave it out. A service is spread over replicas with several --base-url.",
        )
    from medfact.models.cluster.model import ClusterSettings, connected

    settings = ClusterSettings(options.on, options.actors, options.cpus_per_actor, options.gpus_per_actor)
    with connected(settings, len(local), sum(map(is_local, racing))) as load:
        yield load
