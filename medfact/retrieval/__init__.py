"""Retrieval of passages for a query: sparse by shared words (BM25), dense by meaning (cosines of sentence vectors)."""

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
