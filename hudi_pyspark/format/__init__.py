"""Parse and decode Hudi's file names and file formats, without any I/O."""
