"""Pages for a browser: games as plain data (``shows``), pictures as shapes (``recording``), one HTML file (``page``).

A *show* is what a page displays: plain JSON data, described in ``shows``. The page's scripts are in ``static``. There
``shell.js`` has the timeline, the keyboard and the themes, and a view for each kind of show draws its frames. No module
here knows agents: what a model thinks is added to the frames by whoever asks the model.
"""
