"""One file a subcommand: options in, one call, one report out."""
