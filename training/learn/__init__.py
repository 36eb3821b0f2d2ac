"""How weights change: objectives, the learner of language models, PPO for nets."""
