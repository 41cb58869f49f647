"""A page to chat in, over the fake Discord.

A page of our own, since simcord's preview renders a bot that runs in its process and waits for it to be quiet: ours
is another process, known only by its requests, and is to be seen while it works.
"""
