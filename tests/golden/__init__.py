"""Tables that Apache Hudi wrote, with the rows that Apache Hudi reads from them."""
