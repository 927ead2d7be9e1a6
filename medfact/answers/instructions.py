"""What a model is told to write: the papers' instructions word for word, and our own for further attempts and for templates."""

from __future__ import annotations

from medfact.answers.formats import QuestionFormat

REPHRASE, AGAIN, LAST = "rephrase", "rephrase-again", "rephrase-last"
LLM_EVAL, EIGHT = "llmeval", 8
"""LLMEval, and how many statements it writes about a fact."""

TERMS = "terms"
"""MKJ's medical terms of a question."""

TEMPLATE, TEMPLATES = "template", "templates"
"""MKJ's one template of a relation, and our own eight."""

_PARAPHRASE = (
    "Please paraphrase the following statement to present the same concept in a different way. DO NOT change the basic "
    "sentence structure. Directly output the paraphrased statement without other text. Statement: {statement}"
)
"""PretextTrans, Appendix B, word for word."""

_EIGHT = (
    "Based on the given knowledge triplet, generate 8 statement to express the underlying knowledge in different ways. Output "
    "one statement per line. Directly output the statements without other text. Knowledge triplet: {statement}"
)
"""PretextTrans, Appendix D, word for word."""

_TERMS = """Question: {statement}

You are interacting with a knowledge graph that contains definitions and relational information of medical terminologies. To \
provide a precise and relevant answer to this question, you are expected to:

1. Understand the Question Thoroughly: Analyze the question deeply to identify which specific medical terminologies and their \
interrelations, as extracted from the knowledge graph, are crucial for formulating an accurate response.
2. Extract Key Terminologies: Return the 3-5 most relevant medical terminologies based on their significance to the question.
3. Format the Output: Return in a structured JSON format with the key as "medical_terminologies". For example:
[
 {{
 "medical_terminologies": ["term1", "term2", ...]
 }}
]"""
"""MKJ, Figure 6, word for word."""

_TEMPLATE = """Now given a triplet consisting of subject, object and predicate, your task is to generate a statement that \
checks the object has predicate with the subject.
Here are some examples.

Example 1
The triplet is: {{"subject": "Noonan Syndrome", "predicate": "related to genetic biomarker", "object": "SOS1 Gene"}}
Your generated statement: Genetic biomarker SOS1 Gene is related to Noonan Syndrome.

Example 2
The triplet is: {{"subject": "Leukemia", "predicate": "disease has associated gene", "object": "HCK Gene"}}
Your generated statement: HCK Gene has associated disease Leukemia.

Example 3
The triplet is: {{"subject": "Muscle Cramp", "predicate": "may be prevented by", "object": "quinine salicylate"}}
Your generated statement: Quinine salicylate may prevent Muscle Cramp.

Now it is your turn.
The triplet is: {statement}
Your generated statement:"""
"""MKJ, Figure 7, word for word."""

_TEMPLATES = """Write eight sentences about a medical relation between [X] and [Y], as templates: [X] and [Y] stand for names.
Sentences 1 to 4 affirm the relation, all with the same strength:
1. plainly; 2. the other way round; 3. of patients; 4. of patients, the other way round.
Sentences 5 to 8 deny sentences 1 to 4, in this order. Each changes one verb only: "is" to "is not", "include" to "do not \
include".
Each sentence holds [X] once and [Y] once, without an article before them, and ends with a full stop.
The condition or the drug anchors the link ("as a symptom of it", "to treat it"), so that a second illness cannot make it true.
Do not write "should", "always" or "likely". Write one sentence per line, without other text.

The relation of [X] to [Y], with an example: ("asthma", "symptoms", "wheezing")
[Y] is a common symptom of [X].
Common symptoms of [X] include [Y].
In patients with [X], [Y] is a common symptom of it.
[X] is one of the diseases of which [Y] is a common symptom in patients.
[Y] is not a common symptom of [X].
Common symptoms of [X] do not include [Y].
In patients with [X], [Y] is not a common symptom of it.
[X] is not one of the diseases of which [Y] is a common symptom in patients.

The relation of [X] to [Y], with an example: {statement}"""

_KEEP = "\nKeep all medical terms exactly as they are. Write one sentence, without quotation marks."
_KEEP_ALL = _KEEP + " Change as few words as you can: add nothing, leave nothing out, and keep every “not”."

HOW_SURE = (
    "How sure are you, 0 to 100? 0 means that your answer is surely wrong, 100 that it is surely right. Answer with the number "
    "alone."
)
"""What a model is asked in a second turn, where its P(True) is the one that it states; our own."""

INSTRUCTIONS = {
    REPHRASE: QuestionFormat(question=_PARAPHRASE, full_stop=True, max_tokens=128, writes=True),
    AGAIN: QuestionFormat(question=_PARAPHRASE + _KEEP, full_stop=True, max_tokens=128, writes=True),
    LAST: QuestionFormat(question=_PARAPHRASE + _KEEP_ALL, full_stop=True, max_tokens=128, writes=True),
    LLM_EVAL: QuestionFormat(question=_EIGHT, full_stop=True, max_tokens=768, writes=True),
    TERMS: QuestionFormat(question=_TERMS, full_stop=True, max_tokens=256, writes=True),
    TEMPLATE: QuestionFormat(question=_TEMPLATE, full_stop=True, max_tokens=128, writes=True),
    TEMPLATES: QuestionFormat(question=_TEMPLATES, full_stop=True, max_tokens=512, writes=True),
}
"""Name → instruction. Decoding is greedy, as in the paper: each attempt asks in other words, or it would read the same."""
