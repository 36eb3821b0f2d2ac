"""Who draws a state.

A drawer is a function ``draw(game, state, i, size=480) -> uint8 [H, W, 3]``; a game is registered with the name of its
own (``draw="coterie.renderers.tictactoe:draw"``), so that rules never import pictures. ``board`` holds what board games
share, ``gif`` writes frames to a file. All drawing is off-screen: no window, no display is opened.
"""
