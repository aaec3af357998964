-- A project of ten models over tables of a metastore, as dbt makes them: views, and tables of their
-- rows. Each model reads sources, or models above it.
CREATE TABLE orders USING hudi LOCATION '${path}/v9_mor_compaction_inline';

CREATE TABLE changes USING hudi LOCATION '${path}/v9_cow_cdc_data_before';

CREATE VIEW stg_orders AS SELECT id, name, region, qty, amount FROM orders;

CREATE VIEW stg_changes AS SELECT id, name AS label, region, amount AS total FROM changes;

CREATE TABLE regions USING parquet AS SELECT DISTINCT region FROM stg_orders;

CREATE TABLE orders_by_region USING parquet AS
SELECT region, count(*) AS orders, sum(qty) AS qty FROM stg_orders GROUP BY region;

CREATE VIEW large_orders AS SELECT * FROM stg_orders WHERE qty > 3;

CREATE VIEW ranked AS
SELECT id, region, rank() OVER (PARTITION BY region ORDER BY qty, id) AS place FROM stg_orders;

CREATE TABLE first_of_region USING parquet AS
SELECT r.* FROM ranked r JOIN regions USING (region) WHERE r.place = 1;

CREATE TABLE ids USING parquet AS SELECT id FROM stg_orders UNION SELECT id FROM stg_changes;

CREATE VIEW without_order AS
SELECT c.id, c.total FROM stg_changes c LEFT ANTI JOIN large_orders l USING (id);

CREATE TABLE summary USING parquet AS
SELECT
    region, orders, (SELECT count(*) FROM ids) AS ids,
    (SELECT count(*) FROM without_order) AS without_order
FROM orders_by_region
WHERE region IN (SELECT region FROM first_of_region);

SELECT * FROM stg_orders;

SELECT * FROM stg_changes;

SELECT * FROM regions;

SELECT * FROM orders_by_region;

SELECT * FROM large_orders;

SELECT * FROM ranked;

SELECT * FROM first_of_region;

SELECT * FROM ids;

SELECT * FROM without_order;

SELECT * FROM summary;
