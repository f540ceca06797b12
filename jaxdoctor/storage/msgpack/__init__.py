"""msgpack as Flax writes it, walked without decoding it all."""
