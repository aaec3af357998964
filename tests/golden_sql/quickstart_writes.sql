-- What the quick start of Apache Hudi's SQL writes; only its bundle runs it, once.
CREATE TABLE trips (ts BIGINT, uuid STRING, rider STRING, driver STRING, fare DOUBLE, city STRING)
USING hudi PARTITIONED BY (city)
TBLPROPERTIES (
    type = 'mor', primaryKey = 'uuid', preCombineField = 'ts', 'hoodie.table.cdc.enabled' = 'true'
)
LOCATION '${path}/trips';

INSERT INTO trips VALUES
    (1001, 'u-01', 'Ada', 'Karl', 19.25, 'lisbon'),
    (1002, 'u-02', 'Bo', 'Lena', 27.50, 'lisbon'),
    (1003, 'u-03', 'Cem', 'Karl', 33.75, 'oslo'),
    (1004, 'u-04', 'Dora', 'Mia', 93.50, 'oslo'),
    (1005, 'u-05', 'Ada', 'Nils', 17.00, 'quito'),
    (1006, 'u-06', 'Eve', 'Lena', 41.00, 'quito'),
    (1007, 'u-07', 'Bo', 'Mia', 8.25, 'quito');

UPDATE trips SET fare = 25.0, ts = 2001 WHERE rider = 'Dora';

MERGE INTO trips AS target
USING (
    SELECT 2002L AS ts, 'u-02' AS uuid, 'Bo' AS rider, 'Lena' AS driver, 29.5D AS fare,
        'lisbon' AS city
    UNION ALL
    SELECT 2003L, 'u-08', 'Fay', 'Nils', 12.5D, 'oslo'
) AS source
ON target.uuid = source.uuid
WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *;

DELETE FROM trips WHERE uuid = 'u-05';
