"""TPC-H over merged tables: eight tables that Apache Hudi wrote and corrected, and 22 queries."""
