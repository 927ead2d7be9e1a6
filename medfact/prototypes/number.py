"""Whether a name is in the plural: by its head noun, its ending, and lists of what English and Latin endings get wrong.

Only names that `vocabulary.csv` does not list are judged here: those of users' own tables. In doubt a name is singular.
"""

from __future__ import annotations

import re

_AFTER_HEAD = re.compile(
    r"\s(?:of|in|with|without|on|at|from|for|during|after|before|following|to|by|under|over|between|per|due|secondary|caused|"
    r"induced|triggered|involving|affecting|that|which|nos)(?:\s|$)|(?<=difficulty)\s|(?<=trouble)\s",
    re.IGNORECASE,
)
"""What ends a head noun: "shortness of breath" is singular, "changes in vision" plural."""

_IRREGULAR = frozenset(
    "bacteria children criteria diverticula drusen feet ganglia geese genitalia ilia labia lice men mice mitochondria nares ova "
    "people phenomena teeth viscera women "
    "acini alveoli bacilli bronchi calculi canaliculi cocci emboli foci fungi glomeruli gyri hili loci menisci microvilli naevi "
    "nevi nuclei nucleoli radii rhonchi stimuli sulci thrombi tophi villi "
    "acuminata enanthemata exanthemata stigmata".split()
)
"""Plurals that do not end in s or -ae, and plural adjectives that follow their noun (condylomata acuminata)."""

_GENITIVES = frozenset(
    "agalactiae barbae cholerae diphtheriae dysenteriae equinae gonorrhoeae influenzae leprae malariae medusae nuchae placentae pneumoniae "
    "vitae vulvae".split()
)
"""Words in -ae that belong to a singular name: Streptococcus pneumoniae, abruptio placentae."""

_SINGULAR = frozenset(
    "achilles ascites atlas biceps caries christmas corps craniotabes cyclops diabetes douglas epispadias erysipelas facies fas "
    "forceps fungoides gas glanders herpes hydrops hypospadias lues measles mumps pancreas pes pointes pons psoas quadriceps "
    "rabies ras rickets scabies series shingles species stapes summons tabes talipes triceps vas yaws "
    "dermatoglyphics dynamics ethics genetics genomics haemodynamics hemodynamics kinetics mathematics mechanics obstetrics "
    "orthopaedics orthopedics paediatrics pediatrics pharmacodynamics pharmacokinetics physics proteomics statistics "
    "addisons alzheimers crohns cushings downs graves hashimotos hodgkins huntingtons menieres parkinsons raynauds sjogrens "
    "tourettes wilsons".split()
)
"""Singulars in -s that the endings below do not tell."""

_SINGULAR_ENDINGS = re.compile(r"(?:ss|us|is|os|monas|myces|oides|ans|dens|lens|rens|mens|[^aeo]ys)$")
"""Sclerosis, tetanus, polyhydramnios, Pseudomonas, Actinomyces, Bacteroides, acanthosis nigricans, delirium tremens, synophrys."""

_PLURAL_ALL_THE_SAME = frozenset(
    "embryos fans glycans humans lumens orphans organs plans proteoglycans regimens scans siblings specimens spans tattoos "
    "veterans videos".split()
)
"""Plurals with such an ending."""


def is_plural(name: str) -> bool:
    """Whether a verb after this name is in the plural: "scaly plaques are", "diabetes is"."""
    bare = re.sub(r"\s*[(\[].*$", "", name)
    head = _AFTER_HEAD.split(bare, maxsplit=1)[0]
    first, *further = re.split(r"\s(?:and|&)\s|[,;/]\s?", head)
    if not further:
        return _ends_in_plural(first)
    return _ends_in_plural(further[-1]) or (_ends_in_plural(first) and " " not in further[-1].strip())


def _ends_in_plural(phrase: str) -> bool:
    """Whether the last word of a phrase is a noun in the plural."""
    words = re.findall(r"[\w'’-]+", phrase)
    return bool(words) and _is_plural_word(words[-1].rpartition("-")[2], alone_in_capitals=phrase.upper() != phrase)


def _is_plural_word(word: str, alone_in_capitals: bool) -> bool:
    if re.fullmatch(r"[A-Z0-9]{2,}s", word):
        return True  # NSAIDs
    if "'" in word or "’" in word or len(word) < 4 or (word.isupper() and (alone_in_capitals or len(word) < 6)):
        return False  # Crohn's; ear's; AIDS
    word = word.lower()
    if word in _IRREGULAR or word in _PLURAL_ALL_THE_SAME or word.endswith("omata"):
        return True
    if word.endswith("ae"):
        return word not in _GENITIVES
    return word.endswith("s") and word not in _SINGULAR and not _SINGULAR_ENDINGS.search(word)
