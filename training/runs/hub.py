"""Uploads trained players to the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path

from ...errors import RunError, needs
from .folder import saved_version

__all__ = ["push_player"]


def push_player(
    run: Path,
    player: str,
    repo_id: str,
    *,
    version: str = "",
    private: bool | None = None,
    token: str | None = None,
    endpoint: str | None = None,
) -> str:
    """Upload a saved adapter in peft's format, with its card and tokenizer.

    Args:
        run: the run's folder.
        player: its name.
        repo_id: ``"user/name"``; created if it doesn't exist.
        version: the update after which it was saved; empty: the newest.
        private: whether a new repository is private; None: the account's default.
        token: of the hub; None: the one that ``hf auth login`` stored.
        endpoint: the hub's address; None: huggingface.co, or the variable HF_ENDPOINT.

    Returns:
        The address of the commit.

    Raises:
        RunError: no such player or version, or the hub refused or cannot be reached.
        MissingExtra: huggingface_hub isn't installed.
    """
    folder = saved_version(run, player, version)
    with needs("push_to_hub", "train"):
        from huggingface_hub import HfApi
    api = HfApi(endpoint=endpoint, token=token)
    try:
        repo = api.create_repo(repo_id, private=private, exist_ok=True).repo_id
        done = api.upload_folder(repo_id=repo, folder_path=folder, commit_message=f"{player} of {run.name}")
    except Exception as error:  # the hub's, its checks', and those of a library for HTTP that has changed before
        told = " ".join(str(error).split())
        raise RunError(f"{folder} could not be uploaded to {repo_id}: {told.rstrip('.')}.") from error
    return str(done.commit_url)
