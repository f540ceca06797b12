"""One file a kind of thing that is replayed: `replay/system.py` is the contract."""
