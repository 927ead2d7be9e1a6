"""What may be true of a disease of `rare-core`, by every source: more than is plainly true, so that none is called false."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from rare_core_sources import Ontology, Sources, terms_by_words, terms_in, words

MOST_KIN = 200
"""Terms below a parent of an annotated term are kin of it, unless there are more of them."""


class Truth:
    """What the sources say of diseases, joined by identifier, by gene and by name."""

    def __init__(self, sources: Sources) -> None:
        self.sources, self.ontology = sources, sources.ontology
        self._annotated: defaultdict[str, set[str]] = defaultdict(set)
        self._names: dict[str, str] = {}
        for row in sources.rows:
            self._names[row.disease] = row.name.lower()
            if not row.denied:
                self._annotated[row.disease].add(row.term)
        self._of_gene: defaultdict[str, set[str]] = defaultdict(set)
        for disease, genes in sources.genes.items():
            for gene in genes:
                self._of_gene[gene].add(disease)
        self._named = terms_by_words(self.ontology)

    def same_or_below(self, disease: str, name: str) -> set[str]:
        """The identifiers of a disease and of its kinds: by Mondo's joins to OMIM, and by names that hold its name."""
        omim = self.sources.omim.get(disease, set())
        kinds = {other for other, its in self.sources.omim.items() if its <= omim}
        return {disease, *omim, *kinds, *(other for other, its in self._names.items() if name.lower() in its)}

    def genes(self, disease: str, name: str) -> set[str]:
        """The genes of a disease and of its kinds."""
        return _all(self.sources.genes, self.same_or_below(disease, name))

    def of_one_gene(self, disease: str, name: str) -> set[str]:
        """The diseases of the same gene, where Orphanet or the joined sources list just one."""
        lists = self.sources.genes.get(disease, set()), self.genes(disease, name)
        return _all(self._of_gene, set().union(*(genes for genes in lists if len(genes) == 1)))

    def annotated(self, diseases: Iterable[str]) -> set[str]:
        """The terms with which any of these diseases is annotated."""
        return _all(self._annotated, diseases)

    def told(self, disease: str, name: str) -> set[str]:
        """The terms that the pages about a disease name."""
        names = {words(name), words(self.sources.called.get(disease, name))}
        pages = {page for each in names for page in self.sources.pages.get(each, ())}
        return set().union(*(terms_in(page, self._named) for page in pages))

    def joined(self, disease: str, name: str) -> set[str]:
        """The terms of the annotations of a disease, of its kinds, and of the diseases of its one gene."""
        return self.annotated(self.same_or_below(disease, name) | self.of_one_gene(disease, name))

    def elsewhere(self, disease: str, name: str) -> set[str]:
        """The terms that another source than the disease's own annotations gives it, and those above them."""
        others = self.annotated((self.same_or_below(disease, name) | self.of_one_gene(disease, name)) - {disease})
        said = others | self.sources.treated.get(disease, set()) | self.told(disease, name)
        return said.union(*(self.ontology.above(term) for term in said))

    def terms(self, disease: str, name: str) -> set[str]:
        """Every term that may be true of a disease: annotated or treated, above such a term or below one, or kin of one: who
        has muscle weakness may well have weak neck muscles, though nobody wrote it down. Of what pages name, kin are not taken.
        """
        own = self.joined(disease, name) | self.sources.treated.get(disease, set())
        near = set().union(*(kin(term, self.ontology) for term in own))
        return near | with_relatives(own | self.told(disease, name), self.ontology)


def _all(sets: Mapping[str, set[str]], keys: Iterable[str]) -> set[str]:
    """The union of the sets under these keys."""
    return set().union(*(sets.get(key, ()) for key in keys))


def with_relatives(terms: set[str], ontology: Ontology) -> set[str]:
    """The terms with all above and below each."""
    return terms.union(*(ontology.above(term) | ontology.below(term) for term in terms))


def kin(term: str, ontology: Ontology) -> frozenset[str]:
    """The terms below a term's parents, where these are narrow."""
    below = (ontology.below(parent) for parent in ontology.terms[term].parents)
    return frozenset().union(*(terms for terms in below if len(terms) <= MOST_KIN))
