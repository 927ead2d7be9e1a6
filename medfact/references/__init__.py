"""What outside databases know of a term: how often PubMed names it, what the UMLS links it to."""
