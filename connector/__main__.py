"""`python -P -m connector`: the console script by another name."""

from connector.cli import main

main()
