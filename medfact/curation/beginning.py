"""A curation is begun: documents and lists are read, passages indexed, candidates proposed and recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from medfact.curation.names import Name, Passage, read_names, read_passages, tails_of, with_known_names
from medfact.curation.proposals import Proposing, proposed
from medfact.errors import Mistake
from medfact.facts import digest, name_key, normalize_space
from medfact.models import load_encoder, provider_of
from medfact.models.services.settings import ServiceSettings
from medfact.retrieval import Retriever, open_dense, open_sparse
from medfact.reviews.transfer import LONGEST_NAME
from medfact.store import Curation, Store, home

MOST_REVIEWERS = 20

RELATIONS = '--relations "symptoms,therapeutic drugs"'
"""How relations are named, of which the bundled sets know what stands at their ends."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Begun:
    """What is to be curated. column: of a table, the one with the text. names: a list of what may stand at the end of the
    relations; None for what the bundled sets know. encoder: ranks passages by meaning instead of words, "" for words. name: of
    the curation, "" for that of the documents. reviewers: how many are to check each candidate.
    """

    documents: Path
    diseases: Path
    relations: tuple[str, ...]
    names: Path | None = None
    column: str | None = None
    encoder: str = ""
    name: str = ""
    reviewers: int = 2
    how: Proposing = field(default_factory=Proposing)


def begin(asked: Begun, store: Store, tell: Tell) -> Curation:
    """Proposes and records the candidates. tell: gets the progress as sentences.

    Raises FactsError where a file cannot be read, ModelError where the encoder cannot be used, Mistake where nothing is found.
    """
    relations = tuple({name_key(one): one for part in asked.relations if (one := normalize_space(part))}.values())
    if not relations:
        raise Mistake("No relation is named.", f"Name some with commas between: {RELATIONS}.")
    if not 1 <= asked.reviewers <= MOST_REVIEWERS:
        raise Mistake(f"1 to {MOST_REVIEWERS} reviewers check a candidate.", "Change --reviewers.")
    diseases = tuple(map(with_known_names, read_names(asked.diseases)))
    own: Sequence[Name] = read_names(asked.names) if asked.names else ()
    tails = {relation: tails_of(relation, own) for relation in relations}
    tell("Reading the documents.")
    passages = read_passages(asked.documents, asked.column)
    tell(f"Indexing {len(passages):,} passages.")
    candidates = proposed(diseases, tails, passages, _retriever(asked.encoder, passages, tell), asked.how)
    if not candidates:
        raise Mistake(
            "No sentence names a disease of the list and something at the end of a relation.",
            "Bring documents about these diseases, further names of them, or a list of names with --names FILE.",
        )
    settings = {
        "diseases": [one.name for one in diseases],
        "relations": list(relations),
        "names": {relation: len(names) for relation, names in tails.items()},
        "own_names": asked.names.name if asked.names else None,
        "passages": len(passages),
        "documents": digest(*(passage.searched for passage in passages)),
        "encoder": asked.encoder or None,
        **asdict(asked.how),
    }
    documents = asked.documents.resolve().name  # of ".", too
    name = (normalize_space(asked.name) or documents)[:LONGEST_NAME]
    return store.curations.begin(name, documents, candidates, asked.reviewers, settings)


def _retriever(encoder: str, passages: Sequence[Passage], tell: Tell) -> Retriever:
    texts, folder = [passage.searched for passage in passages], home() / "retrieval"
    if not encoder:
        return open_sparse(texts, folder)
    if provider_of(encoder).is_remote:
        raise Mistake(f"{encoder} is behind a service, which would get your documents.", "Name an encoder on this machine.")
    return open_dense(texts, folder, load_encoder(encoder, ServiceSettings()), tell)
