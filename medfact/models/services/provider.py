"""The provider of models behind a service that speaks OpenAI's protocol."""

from __future__ import annotations

from medfact.extras import importing
from medfact.models.encoder import service_encoder
from medfact.models.providers import SERVICE, LoadOptions, Model, Provider
from medfact.models.services.prices import price_of
from medfact.models.services.settings import OPENAI_PREFIX


def _load(spec: str, options: LoadOptions) -> Model:
    with importing():
        from medfact.models.services.client import load_service

    return load_service(spec, options.service, options.monitor)


OPENAI = Provider(
    prefixes=(OPENAI_PREFIX,),
    load=_load,
    patterns=(f"{OPENAI_PREFIX}<model>",),
    help=(f"{OPENAI_PREFIX}MODEL",),
    needs=("openai",),
    lane=SERVICE,
    service=lambda settings: settings,
    price=price_of,
    takes_messages=lambda spec, options: options.service.shots_as_turns,
    encoder=lambda spec, settings: service_encoder(spec, spec.removeprefix(OPENAI_PREFIX), settings),
    encoder_help=(f"{OPENAI_PREFIX}MODEL",),
    begins="waiting for the first answer",
    advice="look at how the service runs the model, such as its number format and its chat template.",
)
