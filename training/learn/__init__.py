"""Changes weights: objectives, the learner of language models, PPO for nets."""
