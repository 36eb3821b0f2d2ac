"""Who runs a model: the protocol, and the engines that speak it."""
