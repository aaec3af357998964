//! Does one step of a history with the writer of hudi-rs. The job is JSON, the first argument:
//! path, operation, rows (a file of Arrow's IPC), create (settings of a new table, or null).

use std::error::Error;
use std::fs::File;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_ipc::reader::FileReader;
use hudi_core::config::table::TableTypeValue;
use hudi_core::index::HoodieKey;
use hudi_core::table::Table;
use serde_json::Value;

fn text<'a>(from: &'a Value, name: &str) -> &'a str {
    from[name].as_str().unwrap_or_default()
}

fn names(from: &Value, name: &str) -> Vec<String> {
    let found = text(from, name).split(',');
    found.filter(|part| !part.is_empty()).map(String::from).collect()
}

async fn create(path: &str, given: &Value) -> Result<Table, Box<dyn Error>> {
    let is_mor = text(given, "type") == "MERGE_ON_READ";
    let mut builder = Table::create(path)
        .with_table_name("t")
        .with_table_type(if is_mor { TableTypeValue::MergeOnRead } else { TableTypeValue::CopyOnWrite })
        .with_table_version(text(given, "version").parse()?)
        .with_record_key_fields(names(given, "keys"))
        .with_hive_style_partitioning(text(given, "hive_style") == "true");
    if !names(given, "partitions").is_empty() {
        builder = builder.with_partition_fields(names(given, "partitions"));
    }
    for field in names(given, "ordering") {
        builder = builder.with_ordering_fields([field]);
    }
    let has_metadata = text(given, "metadata") == "true";
    builder = builder.with_metadata_table_enabled(has_metadata);
    if has_metadata {
        builder = builder
            .with_record_index_enabled(text(given, "record_index") == "true")
            .with_column_stats_enabled(text(given, "column_stats") == "true");
    }
    Ok(builder.create().await?)
}

fn read(file: &str) -> Result<Vec<RecordBatch>, Box<dyn Error>> {
    if file.is_empty() {
        return Ok(vec![]);
    }
    Ok(FileReader::try_new(File::open(file)?, None)?.collect::<Result<_, _>>()?)
}

/// Keys of rows with two columns of text: the record key and the partition path.
fn keys(rows: &[RecordBatch]) -> Vec<HoodieKey> {
    let mut found = vec![];
    for batch in rows {
        let (keys, paths) = (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
        for row in 0..batch.num_rows() {
            found.push(HoodieKey {
                record_key: keys.value(row).into(),
                partition_path: paths.value(row).into(),
            });
        }
    }
    found
}

async fn run(job: &Value) -> Result<(), Box<dyn Error>> {
    let path = text(job, "path");
    let mut table = match &job["create"] {
        Value::Null => Table::new(path).await?,
        given => create(path, given).await?,
    };
    let rows = read(text(job, "rows"))?;
    match text(job, "operation") {
        "insert" | "bulk_insert" => drop(table.append(rows).await?),
        "upsert" => drop(table.upsert(rows).await?),
        "delete" => drop(table.delete_keys(keys(&rows)).await?),
        "insert_overwrite_table" => drop(table.overwrite(rows).await?),
        "insert_overwrite" => drop(table.dynamic_partition_overwrite(rows).await?),
        "compact" => drop(table.compact().await?),
        other => return Err(format!("no operation {other}").into()),
    }
    Ok(())
}

#[tokio::main]
async fn main() {
    let job = std::env::args().nth(1).expect("a job");
    let job = serde_json::from_str(&job).expect("a job of JSON");
    if let Err(error) = run(&job).await {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
