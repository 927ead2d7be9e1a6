"""Very small random language models, made by the tests: real architectures, real tokenizers, real files."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForSeq2SeqLM,
    BertConfig,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    set_seed,
)

TEXT = [
    "fever is a symptom of influenza, is the statement above true or false? Please answer True or False. True",
    "Symptoms of asthma do not include wheezing, is the statement above true or false? Please answer True or False. False",
    "Yes No True False Entailed Correct Wrong Contradicted",
]
"""Sentences on which the tokenizer is trained."""

CHAT = (
    "{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant:{% endif %}"
)
"""Chat template."""


def train_small_tokenizer(*, chat: bool = False, without_merges: bool = False) -> PreTrainedTokenizerFast:
    """Trains a byte-level BPE tokenizer on three sentences.

    chat: True for a chat template. without_merges: True for one token per byte.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=259 if without_merges else 420, special_tokens=["<s>", "</s>", "<pad>"], initial_alphabet=alphabet
    )
    tokenizer.train_from_iterator(TEXT * 20, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    if chat:
        fast.chat_template = CHAT
    return fast


def save_model(folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Path:
    """Writes a model and its tokenizer to a folder, and returns the folder."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_small_llama(
    folder: Path, *, chat: bool = False, seed: int = 0, context: int = 512, answer_weight: float = 1.0
) -> Path:
    """Writes a random Llama of about 60,000 parameters with its tokenizer to a folder, and returns the folder.

    chat: True for a chat template. seed: of the weights. context: maximum number of tokens. answer_weight: factor of the
    output weights of the tokens True and False; the larger it is, the more replies begin with them.
    """
    tokenizer = train_small_tokenizer(chat=chat)
    set_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=context,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            initializer_range=0.3,
        )
    )
    for token in range(len(tokenizer)):
        if tokenizer.decode([token]).strip().lower() in {"true", "false"}:
            model.lm_head.weight.data[token] *= answer_weight
    return save_model(folder, model, tokenizer)


_COMMON = {"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
_GROUPED = {**_COMMON, "num_key_value_heads": 2}

_BART = {"layers": 2, "attention_heads": 4, "ffn_dim": 96}

ARCHITECTURES: dict[str, dict[str, object]] = {
    "llama": _GROUPED,
    "qwen2": _GROUPED,
    "qwen3": {**_GROUPED, "head_dim": 12},
    "mistral": {**_GROUPED, "sliding_window": None},
    "gemma": {**_GROUPED, "head_dim": 12},
    "gemma2": {**_GROUPED, "head_dim": 12, "sliding_window": 4096},
    "phi": _COMMON,
    "gpt2": {"n_embd": 48, "n_layer": 2, "n_head": 4, "n_positions": 512},
    "gpt_neox": _COMMON,
    "mamba": {"hidden_size": 48, "num_hidden_layers": 2, "state_size": 8},
}
"""Architecture in transformers → configuration of a very small causal model."""

ENCODER_DECODERS: dict[str, dict[str, object]] = {
    "t5": {"d_model": 48, "d_ff": 96, "num_layers": 2, "num_heads": 4, "d_kv": 12, "decoder_start_token_id": 0},
    "bart": {
        "d_model": 48,
        **{f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in _BART.items()},
        "max_position_embeddings": 512,
        "decoder_start_token_id": 0,
    },
}
"""Architecture in transformers → configuration of a very small encoder-decoder model."""


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Sets the number of PyTorch's threads while the context is active, and restores it at the end."""
    previous = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(previous)


def write_small_model(
    folder: Path,
    architecture: str,
    *,
    bos: bool = False,
    padding_side: str = "left",
    chat: bool = False,
    without_merges: bool = False,
    change_tokenizer: Callable[[PreTrainedTokenizerFast], PreTrainedTokenizerFast] | None = None,
    **settings: object,
) -> Path:
    """Writes a random model of an architecture with its tokenizer to a folder, and returns the folder.

    architecture: its name in transformers, such as "llama". bos: True if the tokenizer begins every text with <s>. chat,
    without_merges: as of `train_small_tokenizer`. change_tokenizer: trained tokenizer → the one to use. settings: of the
    configuration, in addition to those of ARCHITECTURES or ENCODER_DECODERS.
    """
    tokenizer = train_small_tokenizer(chat=chat, without_merges=without_merges)
    tokenizer = change_tokenizer(tokenizer) if change_tokenizer else tokenizer
    if bos:
        tokenizer._tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", tokenizer.bos_token_id)]
        )
    tokenizer.padding_side = padding_side
    set_seed(0)
    tokens = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    values = {
        **(ARCHITECTURES | ENCODER_DECODERS).get(architecture, {}),
        "vocab_size": len(tokenizer),
        "initializer_range": 0.3,
        **tokens,
        **settings,
    }
    config = AutoConfig.for_model(architecture, **values)
    auto = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    model = auto.from_config(config)
    return save_model(folder, model, tokenizer)


def write_image_text_model(folder: Path, *, chat: bool = False) -> Path:
    """Writes a random Qwen 2.5 VL, which also reads images, with its tokenizer to a folder, and returns the folder."""
    tokenizer = train_small_tokenizer(chat=chat)
    set_seed(0)
    tokens = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    rope = {"rope_type": "default", "mrope_section": [2, 2, 2], "rope_theta": 10_000.0}
    text = {**_GROUPED, "vocab_size": len(tokenizer), "initializer_range": 0.3, "rope_parameters": rope, **tokens}
    image = {"depth": 1, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "out_hidden_size": 48}
    config = AutoConfig.for_model("qwen2_5_vl", text_config=text, vision_config=image, **tokens)
    model = AutoModelForImageTextToText.from_config(config)
    return save_model(folder, model, tokenizer)


def write_inference_model(
    folder: Path, label: str, labels: tuple[str, ...] = ("contradiction", "neutral", "entailment")
) -> Path:
    """Writes a small model for natural-language inference to a folder, and returns the folder.

    label: its output for every pair of texts. labels: all labels, in the order of its outputs.
    """
    tokenizer = train_small_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        id2label=dict(enumerate(labels)), label2id={name: index for index, name in enumerate(labels)},
    )  # fmt: skip
    set_seed(0)
    model = BertForSequenceClassification(config)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor([5.0 if name == label else 0.0 for name in labels]))
    return save_model(folder, model, tokenizer)
