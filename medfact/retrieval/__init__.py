"""Ranking passages for a query: strings in, ranked passages out. Sparse by shared words (BM25), dense by meaning (cosine)."""

from medfact.retrieval.index import (
    DENSE,
    RETRIEVERS,
    SPARSE,
    MentionIndex,
    RankedPassage,
    Retriever,
    open_dense,
    open_sparse,
)

__all__ = ["DENSE", "RETRIEVERS", "SPARSE", "MentionIndex", "RankedPassage", "Retriever", "open_dense", "open_sparse"]
