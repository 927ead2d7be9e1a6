"""A local model on a cluster, behind the same door as every other model."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medfact.errors import ModelError
from medfact.extras import install_command
from medfact.limits import is_public_server
from medfact.models.cluster.actors import Actors, Lost
from medfact.models.cluster.schedule import Distribution
from medfact.models.local.placement import HERE, Placement
from medfact.models.prompt import Completion, Prompt
from medfact.models.providers import NO_MONITOR, Model, ModelInfo, Monitor

LOCAL = "ray"
"""The address that stands for a cluster of one's own on this machine, for as long as the command runs."""

OBJECT_STORE_BYTES = 256 << 20
"""Memory of a cluster on this machine for prompts and answers on their way."""

_ON_LOOPBACK = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray reports no use of it, and takes the loopback address for that of this machine."""


_HOME_OF_PACKAGE = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class ClusterSettings:
    """Which cluster, and how models are spread over it.

    address: LOCAL, or an address in Ray's own form: "auto", HOST:PORT or ray://HOST:PORT.
    actors:  processes that hold a model, for each model; None means as many as there is room for.
    cpus, gpus: of each actor; None means one processor, and one GPU if the cluster has any.
    """

    address: str
    actors: int | None = None
    cpus: int | None = None
    gpus: float | None = None

    def __post_init__(self) -> None:
        if min(1 if number is None else number for number in (self.actors, self.cpus)) < 1 or (self.gpus or 0) < 0:
            raise ModelError(
                "--actors and --cpus-per-actor are at least 1.", "--gpus-per-actor may be 0, or a part such as 0.5."
            )


class ClusterModel:
    """A local model that workers of a cluster hold, all of them the same one. Close it when no more prompts follow."""

    takes_all = True
    """Workers would be idle at the end of each set of prompts, so it wants all at once."""

    def __init__(self, spec: str, actors: Actors, monitor: Monitor = NO_MONITOR) -> None:
        assert actors.description is not None
        self.spec, self._actors, self._monitor = spec, actors, monitor
        self._description = actors.description
        self._notes = dict.fromkeys([f"Asked on a Ray cluster, by up to {actors.count} processes that each held the model."])

    @property
    def chat(self) -> bool:
        return self._description.chat

    @property
    def info(self) -> ModelInfo:
        """As the model says where it was loaded: answers do not depend on how many compute them."""
        info = self._description.info
        return {**info, "notes": (*info.get("notes", ()), *self._notes)}

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """The index of each prompt and its completion, in order of arrival. Raises ServiceDown if all workers are gone."""
        seconds_left = self._monitor.seconds_left
        return Distribution(prompts, self._actors, list(self._actors.joined), seconds_left, self._note).completions()

    def close(self) -> None:
        """Ends the processes that hold the model."""
        self._actors.close()

    def _note(self, note: str) -> None:
        self._notes[note] = None


@contextmanager
def connected(settings: ClusterSettings, models: int, racing: int = 0) -> Iterator[Callable[..., Model]]:
    """Connects to a cluster, and yields what loads models on it, so many of them side by side. Models without weights, and
    those behind services, are loaded here as always. racing: how many of the models race: each waits for all the others.

    Raises ModelError: Ray is not installed, the cluster cannot be reached or has no room, or this is a public server.
    """
    ray = _connect(settings)
    try:
        yield lambda spec, **options: _load(ray, settings, models, racing, spec, **options)
    finally:
        ray.shutdown()


def _connect(settings: ClusterSettings) -> Any:
    if is_public_server():
        raise ModelError("A public server computes on no cluster.", "Leave --on out.")
    if settings.address == LOCAL:
        # read when Ray is imported, and by the processes that it starts, which need this medfact
        path = os.pathsep.join([str(_HOME_OF_PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])
        os.environ |= _ON_LOOPBACK | {"PYTHONPATH": path}
    try:
        ray = importlib.import_module("ray")
    except ImportError:
        raise ModelError("--on needs Ray, which is not installed.", f"Install it: {install_command('cluster')}") from None
    options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if settings.address == LOCAL:
        own = {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES, "_node_ip_address": "127.0.0.1"}
        ray.init(address="local", **own, **options)
        return ray
    try:
        ray.init(address=settings.address, **options)
    except ImportError:
        hint = 'Install it: pip install "ray[client]".'
        raise ModelError("An address that begins with ray:// needs Ray's client, which is not installed.", hint) from None
    except (ConnectionError, ValueError, RuntimeError, OSError):
        hint = "Give the address as Ray prints it: HOST:PORT or ray://HOST:PORT."
        raise ModelError(f"There is no Ray cluster at {settings.address}, or it cannot be reached.", hint) from None
    return ray


def _load(
    ray: Any,
    settings: ClusterSettings,
    models: int,
    racing: int,
    spec: str,
    *,
    seed: int = 0,
    placement: Placement = HERE,
    monitor: Monitor = NO_MONITOR,
    tell: Callable[[str], None] = lambda progress: None,
    **options: Any,
) -> Model:
    """A local model on the cluster, as soon as one actor holds it; the others join later."""
    from medfact.models import is_local, load_model

    if not is_local(spec):
        return load_model(spec, seed=seed, placement=placement, monitor=monitor, tell=tell, **options)
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    cpus = settings.cpus or 1
    any_gpu = placement.device in ("auto", "cuda") and any(node.get("GPU") for node in nodes)
    gpus = settings.gpus if settings.gpus is not None else float(any_gpu)
    room = _room(nodes, cpus, gpus)
    count = settings.actors or max(room // max(models, 1), 1)
    if not settings.actors and not room:
        each = f"{cpus} processors" + (f" and {gpus:g} GPUs" if gpus else "")
        raise ModelError(f"No node of the cluster has {each}.", "Ask for less with --cpus-per-actor and --gpus-per-actor.")
    _check_race(racing, count, room)
    tell(f"loading the model on the cluster, {count} times")
    actors = Actors(ray, spec, placement, seed, count, cpus, gpus)
    try:
        _wait_for_one(actors, spec, monitor)
    except BaseException:
        actors.close()
        raise
    return ClusterModel(spec, actors, monitor)


def _check_race(racing: int, count: int, room: int) -> None:
    """Raises ModelError where one model of a race would wait for room that another frees only once the first has answered."""
    if racing > 1 and racing * count > room:
        each = f" with {count} processes each" if count > 1 else ""
        processes = f"{room} process{'' if room == 1 else 'es'}"
        raise ModelError(
            f"{racing} models race{each}, and the cluster has room for {processes}.",
            "Ask for less with --actors, --cpus-per-actor or --gpus-per-actor, or leave out --race.",
        )


def _room(nodes: Sequence[dict[str, float]], cpus: int, gpus: float) -> int:
    """How many actors the nodes can hold, none of them over two nodes."""
    per_node = (min(node.get("CPU", 0) / cpus, node.get("GPU", 0) / gpus if gpus else 1e9) for node in nodes)
    return sum(int(number) for number in per_node)


def _wait_for_one(actors: Actors, spec: str, monitor: Monitor) -> None:
    """Waits until an actor holds the model. Raises the error of the last one if none can."""
    while not actors.joined:
        lost = [event for event in actors.events(0.2) if isinstance(event, Lost)]
        if lost and not actors.expected:
            why = lost[-1].why.rstrip(".")
            raise lost[-1].error or ModelError(f"No process of the cluster could load {spec!r}: {why}.", "See Ray's logs.")
        if monitor.seconds_left() is not None:
            raise ModelError("The run was stopped before the cluster had loaded the model.", "Resume it.")
