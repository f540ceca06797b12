"""Update functions seen by abstract tracing: no data, no compile, in a worker process."""
