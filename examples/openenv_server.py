"""Tic-tac-toe as an environment of OpenEnv: its server, and its own client, which plays at random.

``pip install openenv`` first.
"""

import asyncio
import random
import re
import threading
import time

import uvicorn
from openenv import GenericEnvClient

from coterie.training.bridges.openenv import openenv_app


def serve() -> tuple[uvicorn.Server, int]:
    """A server in a thread of its own, and its port, which the system chooses."""
    app = openenv_app("tictactoe", opponent="random")
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return server, server.servers[0].sockets[0].getsockname()[1]


async def play(url: str, games: int) -> float:
    """The mean reward of random play."""
    rng, total = random.Random(0), 0.0
    async with GenericEnvClient(base_url=url) as client:
        for seed in range(games):
            result = await client.reset(seed=seed)
            while not result.done:
                legal = re.findall(r"Legal actions: (.*)\.", result.observation["text"])[-1].split()
                result = await client.step({"action": f"<think>Hm.</think> [{rng.choice(legal)}]"})
                total += result.reward or 0.0
    return total / games


def main(games: int = 10) -> float:
    server, port = serve()
    mean = asyncio.run(play(f"http://127.0.0.1:{port}", games))
    server.should_exit = True
    print(f"mean reward of random play over {games} games: {mean:+.2f}")
    return mean


if __name__ == "__main__":
    main()
