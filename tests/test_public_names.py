"""The public surface is a list; a name that comes or goes changes this file on purpose."""

from __future__ import annotations

import coterie


def test_version():
    assert coterie.__version__ == "0.1.0"
