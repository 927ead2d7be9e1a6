"""Ranking passages for a query: strings in, ranked passages out. Sparse by shared words (BM25), dense by meaning (cosine)."""

from medfact.retrieval.index import DENSE, RETRIEVERS, SPARSE, Retriever, open_dense, open_sparse
from medfact.retrieval.mentions import Mentions
from medfact.retrieval.ranking import Ranked

__all__ = ["DENSE", "RETRIEVERS", "SPARSE", "Mentions", "Ranked", "Retriever", "open_dense", "open_sparse"]
