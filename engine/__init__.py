"""One child and the queue in front of it: knows pi; never Discord, settings or SQL."""
