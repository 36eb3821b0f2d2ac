"""Who draws a state, and the window in which people play.

A drawer is a module with three functions: ``draw(game, state, i, size=480, player=None) -> uint8 [H, W, 3]``, ``boxes``
(where the cells are) and ``cells`` (which of them an action touches). A game is registered with the name of its own
(``draw="coterie.renderers.tictactoe:draw"``), so that rules never import pictures. ``board`` holds what boards share,
``gif`` writes frames to a file: off-screen, no display is opened. ``window`` is the one window for all games,
``screen`` the display below it.
"""
