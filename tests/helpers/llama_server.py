"""llama.cpp's server, with a small Llama as its model. It prints its address.

python tests/helpers/llama_server.py MODEL.gguf
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np


def write_gguf(model_folder: Path, gguf_file: Path) -> None:
    """Converts a Llama with a byte-level vocabulary to a GGUF file in float32.

    model_folder: the model as transformers saves it. gguf_file: the file to write.
    """
    import gguf
    from safetensors.numpy import load_file

    config = json.loads((model_folder / "config.json").read_text())
    tokenizer = json.loads((model_folder / "tokenizer.json").read_text())
    heads = config["num_attention_heads"]
    writer = gguf.GGUFWriter(gguf_file, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)

    special = {token["content"] for token in tokenizer["added_tokens"]}
    tokens = sorted(
        tokenizer["model"]["vocab"].items() | {(t["content"], t["id"]) for t in tokenizer["added_tokens"]}, key=lambda t: t[1]
    )
    kinds = [gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token, _ in tokens]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([token for token, _ in tokens])
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_add_bos_token(True)

    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    for name, weight in load_file(model_folder / "model.safetensors").items():
        if name.endswith(("q_proj.weight", "k_proj.weight")):  # llama.cpp rotates neighbouring pairs, transformers halves
            weight = weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
        writer.add_tensor(str(names.get_name(name, try_suffixes=(".weight",))), weight.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@contextlib.contextmanager
def serve_model(gguf_file: Path) -> Iterator[str]:
    """Serves the model of a GGUF file in a process of its own while the context is active, and yields the base URL."""
    with subprocess.Popen(
        [sys.executable, __file__, str(gguf_file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield next(line.split()[1] for line in process.stdout if line.startswith("serving "))
        finally:
            process.kill()


def run_server() -> None:
    """Serves the GGUF file that the command line names on a free port, until the process is killed."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 4 * 2048
    params.n_parallel = 4
    params.n_gpu_layers = 0
    server = xllamacpp.Server(params)
    print(f"serving {server.listening_address}/v1", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    run_server()
