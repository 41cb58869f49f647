# What the contract tests run against; read by .ci/pi-install. Python's pins are in constraints.txt.
PI_PINNED=1.6.0
NODE_PINNED=22.23.3
