"""What a language has and lacks: names by source, facts that can be asked, sentences and lists that are missing.

    python benchmarks/languages.py            # every language in assets/languages/, against each data set of COVERED
    python benchmarks/languages.py es --missing --dataset rare-core

Prints lines for people; `docs/languages.md` says how to mend what is missing.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.assets import ENGLISH, language_codes
from medfact.datasets import load_bundled
from medfact.facts import Fact, name_key
from medfact.languages import Language, load_language
from medfact.languages.pool import sources_of

COVERED = ("clinical-core", "core-medicine", "rare-core", "safety-core", "clinical-relations", "was-true")
"""The bundled data sets whose names languages are meant to have."""

CHECKS = ("read again", "translated back")
"""What `checked` may say of a name; a name may have been through both, or neither."""


def told(language: Language, facts: list[Fact]) -> Iterator[str]:
    """What there is of a language for these true facts."""
    asked = language.pool.statable_facts(facts)
    entities = {name for fact in facts for name in (fact.head, fact.tail or "")}
    names = [language.names[key] for key in map(name_key, entities) if key in language.names]
    shares = ", ".join(f"{source} {n:,} ({n / len(names):.0%})" for source, n in sources_of(names).most_common()) or "none"
    heads = len({fact.head for fact in asked})
    yield f"{language.asking.title} ({language.code}): {len(names):,} of {len(entities):,} entities have a name: {shares}"
    for check in CHECKS:
        yield f"  {check}, by no clinician: {sum(check in name.checked for name in names):,}"
    yield f"  {len(asked):,} of {len(facts):,} true facts can be asked, about {heads:,} conditions or drugs"
    of, can = (Counter(fact.relation for fact in some) for some in (facts, asked))
    yield from (f"    {relation}: {can[relation]:,} of {count:,}" for relation, count in of.most_common())


def missing(language: Language, facts: list[Fact]) -> Iterator[str]:
    """What would let more facts be asked, what lets most first."""
    stated = {relation for fact in facts if (relation := language.pool.canonical(fact.relation))}
    yield from (f"  no sentences: {relation}" for relation in sorted(stated - set(language.pool.relations)))
    lacking = Counter(name for fact in facts for name in (fact.head, fact.tail or "") if name_key(name) not in language.names)
    yield from (f"  no name: {name} ({count:,} facts)" for name, count in lacking.most_common())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    others = [code for code in language_codes() if code != ENGLISH]
    parser.add_argument("language", nargs="*", default=others, help="codes of languages (default: all)")
    parser.add_argument("--dataset", action="append", help=f"a bundled data set, once or more (default: {', '.join(COVERED)})")
    parser.add_argument("--missing", action="store_true", help="list what is missing, too")
    options = parser.parse_args()
    for dataset in options.dataset or COVERED:
        facts = [fact for fact in load_bundled(dataset).facts if fact.positive]
        print(f"== {dataset}")
        for language in map(load_language, options.language):
            print(*told(language, facts), *(missing(language, facts) if options.missing else ()), sep="\n")


if __name__ == "__main__":
    main()
