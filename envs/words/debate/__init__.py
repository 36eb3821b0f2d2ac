"""Debates: topics with two sides, the game (``game``) and the judge that needs no model (``rubric``)."""
