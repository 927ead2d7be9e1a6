"""How many of rare-core's drawn negatives other sources affirm.

    python benchmarks/affirmed_rare_core.py FOLDER [--seeds 0 1 7] [--list]

FOLDER holds what `assets/datasets/build_rare_core.py` reads. Each drawn negative is looked up in four sources: annotations of
the disease and its kinds (`identifier`), annotations of diseases of its one gene (`gene`), what its treatments treat
(`treatment`), and pages of US institutes (`page`). A source affirms a finding with the term itself or a narrower one; `broader`
counts those of which it names a broader term alone, `kin` those of which it names another term below the same parent alone.
Genes are looked up among those of the disease and its kinds. `--list` prints the pairs. The exit status is 1 if a source
affirms a drawn negative.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "assets" / "datasets"))

from rare_core_sources import Ontology, read_sources
from rare_core_truth import Truth, kin

from medfact.datasets import grouping, load_bundled
from medfact.facts import Fact
from medfact.negatives import NEAR


def drawn(seed: int) -> list[Fact]:
    """The first negative of every true fact."""
    collection = load_bundled("rare-core")
    group = grouping(collection, 1, seed, NEAR)
    return [negative for fact in collection.facts for negative in group(fact)[1:]]


class Lookup:
    """What each source says of a disease."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth

    @cache  # noqa: B019
    def terms(self, disease: str, name: str) -> dict[str, set[str]]:
        """Source → the terms that it gives a disease."""
        truth = self.truth
        return {
            "identifier": truth.annotated(truth.same_or_below(disease, name)),
            "gene": truth.annotated(truth.of_one_gene(disease, name)),
            "treatment": truth.sources.treated.get(disease, set()),
            "page": truth.told(disease, name),
        }

    def affirmed_by(self, negative: Fact) -> Iterator[str]:
        """The sources that affirm a negative, or that name a broader term."""
        disease = negative.head_id or ""
        if negative.tail_id is None:
            if (negative.tail or "").removesuffix(" gene") in self.truth.genes(disease, negative.head):
                yield "identifier"
            return
        for source, terms in self.terms(disease, negative.head).items():
            how = affirms(terms, negative.tail_id, self.truth.ontology)
            if how is not None:
                yield f"{source}{how}"


def affirms(terms: set[str], term: str, ontology: Ontology) -> str | None:
    """ "" if the terms hold this one or a narrower one, else ", broader" or ", kin" if they hold such a one, else None."""
    if terms & {term, *ontology.below(term)}:
        return ""
    if terms & ontology.above(term):
        return ", broader"
    return ", kin" if any(term in kin(said, ontology) for said in terms) else None


def main() -> None:
    """Prints a line per seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 7])
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    lookup = Lookup(Truth(read_sources(options.folder)))
    affirmed_in_all = 0
    for seed in options.seeds:
        negatives = drawn(seed)
        found = {negative: list(lookup.affirmed_by(negative)) for negative in negatives}
        counts = Counter(source for sources in found.values() for source in sources)
        affirmed = sum(any("," not in source for source in sources) for sources in found.values())
        affirmed_in_all += affirmed
        print(f"seed {seed}: {len(negatives):,} drawn, {affirmed} affirmed;", dict(sorted(counts.items())))
        for negative, sources in found.items():
            if options.list and sources:
                print(f"  {negative.head} – {negative.tail}: {'; '.join(sources)}")
    raise SystemExit(affirmed_in_all > 0)


if __name__ == "__main__":
    main()
