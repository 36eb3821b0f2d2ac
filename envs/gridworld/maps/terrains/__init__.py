"""One file per terrain; ``table.py`` lists them."""
