-- What the quick start of Apache Hudi's SQL reads: rows, earlier states, and what commits changed.
CREATE TABLE IF NOT EXISTS trips USING hudi LOCATION '${path}/trips';

SHOW TABLES;

SELECT * FROM trips;

SELECT ts, fare, rider, driver, city FROM trips WHERE fare > 20.0;

SELECT _hoodie_commit_time, _hoodie_record_key, _hoodie_partition_path, rider, driver, fare
FROM trips;

SELECT city, count(*) AS trips, round(sum(fare), 2) AS fares FROM trips GROUP BY city;

SELECT * FROM trips TIMESTAMP AS OF '${first}' WHERE rider = 'Dora';

SELECT * FROM trips TIMESTAMP AS OF '${second}';

SELECT uuid, fare FROM trips TIMESTAMP AS OF '${second_as_time}';

SELECT count(*) FROM trips TIMESTAMP AS OF '${day}';

SELECT * FROM hudi_table_changes('trips', 'latest_state', 'earliest');

SELECT * FROM hudi_table_changes('trips', 'latest_state', '${second}');

SELECT * FROM hudi_table_changes('trips', 'latest_state', '${first}', '${third}');

SELECT * FROM hudi_table_changes('${path}/trips', 'latest_state', '${second}');

SELECT * FROM hudi_table_changes('trips', 'cdc', 'earliest');

SELECT op, count(*) AS images FROM hudi_table_changes('${path}/trips', 'cdc', '${first}')
GROUP BY op;

SELECT uuid, fare FROM hudi_query('trips', 'read_optimized');
