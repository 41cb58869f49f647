"""The child, Discord and the provider, each able to do the wrong thing on cue."""
