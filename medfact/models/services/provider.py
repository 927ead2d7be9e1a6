"""The provider of models behind a service that speaks OpenAI's protocol."""

from __future__ import annotations

from dataclasses import replace

from medfact.models.encoder import service_encoder
from medfact.models.providers import SERVICE, LoadOptions, Model, Provider
from medfact.models.services.named import NamedService, named_services
from medfact.models.services.prices import price_of
from medfact.models.services.settings import OPENAI_PREFIX, ServiceSettings


def _load(spec: str, options: LoadOptions) -> Model:
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


def provider_of_service(named: NamedService) -> Provider:
    """A provider of models at a service that has a name. One with a fixed address is asked there and nowhere else."""

    def service(settings: ServiceSettings) -> ServiceSettings:
        if named.is_fixed or not settings.base_url:
            return replace(settings, base_url=named.filled_address)
        return settings

    return replace(
        OPENAI,
        prefixes=(named.prefix,),
        patterns=(f"{named.prefix}<model>",),
        help=(f"{named.prefix}MODEL",),
        service=service,
        price=price_of if named.key else None,
        encoder=None,
        encoder_help=(),
    )


NAMED = tuple(provider_of_service(named) for named in named_services() if named.prefix != OPENAI_PREFIX)
