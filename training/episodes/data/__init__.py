"""Problems whose answers can be checked exactly: made here without limit, or read from tables."""
