-- A session in which tables of Apache Hudi, of Parquet, and views are used side by side.
CREATE TABLE trips USING hudi LOCATION '${path}/trips';

CREATE TABLE cities USING parquet AS
SELECT * FROM VALUES ('lisbon', 'Portugal'), ('oslo', 'Norway'), ('quito', 'Ecuador'),
    ('rome', 'Italy') AS t (city, country);

SELECT uuid, rider, country FROM trips JOIN cities USING (city);

SELECT country, count(uuid) AS trips FROM cities LEFT JOIN trips USING (city) GROUP BY country;

CREATE TEMPORARY VIEW large AS SELECT uuid, rider, fare, city FROM trips WHERE fare > 20;

CREATE VIEW by_country AS
SELECT country, count(*) AS trips, max(fare) AS dearest
FROM trips JOIN cities USING (city) GROUP BY country;

SELECT * FROM large;

SELECT * FROM by_country;

SELECT l.uuid, b.dearest FROM large l JOIN cities USING (city) JOIN by_country b USING (country)
WHERE l.fare < b.dearest;

CREATE TABLE copied USING parquet AS SELECT uuid, rider, fare FROM trips;

INSERT INTO copied SELECT uuid, upper(rider), fare FROM large;

SELECT rider, count(*) AS number FROM copied GROUP BY rider;

SELECT uuid, fare FROM trips EXCEPT SELECT uuid, fare FROM copied WHERE fare > 20;

INSERT OVERWRITE copied SELECT uuid, rider, fare FROM trips TIMESTAMP AS OF '${first}';

SELECT now.uuid, was.fare AS was, now.fare AS is_now
FROM trips now JOIN copied was USING (uuid) WHERE now.fare <> was.fare;

SELECT n.uuid, o.fare AS was, n.fare AS is_now
FROM trips n JOIN trips TIMESTAMP AS OF '${second_as_time}' o ON n.uuid = o.uuid
WHERE n.fare <> o.fare;

SELECT uuid FROM trips WHERE city IN (SELECT city FROM cities WHERE country LIKE '%o%');

SELECT city FROM cities c WHERE NOT EXISTS (SELECT 1 FROM trips t WHERE t.city = c.city);

SELECT uuid, rank() OVER (PARTITION BY city ORDER BY fare DESC) AS place FROM trips;

WITH changed AS (SELECT uuid, city FROM hudi_table_changes('trips', 'latest_state', '${first}'))
SELECT changed.uuid, country FROM changed JOIN cities USING (city);

SELECT rider FROM trips UNION SELECT country FROM cities;

CACHE TABLE trips;

SELECT rider, round(avg(fare), 4) AS mean FROM trips GROUP BY rider;

UNCACHE TABLE trips;

DROP VIEW by_country;

DROP TABLE copied;

SHOW TABLES;
