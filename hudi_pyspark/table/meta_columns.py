"""Names of the columns that Hudi itself writes into data files, or looks at."""

META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
COMMIT_TIME_COLUMN, _, RECORD_KEY_COLUMN, PARTITION_PATH_COLUMN, FILE_NAME_COLUMN = META_COLUMNS
OPERATION_COLUMN = "_hoodie_operation"
DELETED_COLUMN = "_hoodie_is_deleted"  # a data column: true for rows that delete their key
