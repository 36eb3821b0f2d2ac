"""One file a terrain; ``table.py`` lists them."""
