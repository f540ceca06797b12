"""What a terminal shows of a report, one file a section, drawn with Rich."""
