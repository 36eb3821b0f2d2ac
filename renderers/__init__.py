"""Modules that render states, and the windows in which people play.

A drawer is a module with three functions: ``draw(game, state, i, size=480, player=None) -> uint8 [H, W, 3]``, ``boxes``
(where the cells are) and ``cells`` (which of them an action touches). A game is registered with the name of its drawer
(``draw="coterie.renderers.tictactoe:draw"``), so that rules never import renderers. ``board`` holds what boards share;
``gif`` and ``film`` write frames to files. These render off-screen and open no display. ``window`` is the window of all
games but gridworld, which has ``gridworld_window``; ``screen`` is the display that both use.
"""
