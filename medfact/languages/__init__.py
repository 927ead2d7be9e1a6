"""The languages beside English in which facts are asked: a folder of `assets/languages/` each, with names, sentences and the
words that ask and answer. Nothing here knows a language by name: another one is another folder (`docs/languages.md`).
"""

from medfact.languages.language import Language, language_of, load_language, name_in, names_in, pool_of_table
from medfact.languages.names import Name
from medfact.languages.pool import CAN_BE_ASKED, PoolInLanguage
from medfact.languages.replies import ReadReply, read_answer, read_reply, settles

__all__ = [
    "CAN_BE_ASKED",
    "Language",
    "Name",
    "PoolInLanguage",
    "ReadReply",
    "language_of",
    "load_language",
    "name_in",
    "names_in",
    "pool_of_table",
    "read_answer",
    "read_reply",
    "settles",
]
