#!/bin/sh
# Writes the HFiles of the folder above. Needs Java 17, pyspark 3.5 (for Hadoop), and both bundles:
#   mvn dependency:get -Dartifact=org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0 -Dtransitive=false
#   mvn dependency:get -Dartifact=org.apache.hudi:hudi-spark3.5-bundle_2.12:1.0.2 -Dtransitive=false
set -eu
cd "$(dirname "$0")"
out=$(cd .. && pwd)
jars=$(python3 -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent / "jars")')
bundles=${BUNDLES:-$HOME/.m2/repository/org/apache/hudi/hudi-spark3.5-bundle_2.12}
classes=$(mktemp -d)
native="$bundles/1.2.0/hudi-spark3.5-bundle_2.12-1.2.0.jar:$jars/*"
hbase="$bundles/1.0.2/hudi-spark3.5-bundle_2.12-1.0.2.jar:$jars/*"
javac -d "$classes" -cp "$native" WriteHFile.java
javac -d "$classes" -cp "$hbase" WriteHBaseHFile.java
python3 entries.py "$out"

by_hudi() { java -cp "$native:$classes" WriteHFile "$out/$1.hfile" "$2" NULL 1024 < "$out/$3.tsv"; }
by_hbase() {
  java -cp "$hbase:$classes" WriteHBaseHFile "$out/$1.hfile" "$2" "$3" 512 "$4" "$5" < "$out/entries.tsv"
}

by_hudi hudi_gz GZIP entries
by_hudi hudi_none NONE entries
by_hudi hudi_java_order GZIP java_order
by_hbase hbase_gz_crc32c GZ CRC32C 65536 NONE
by_hbase hbase_gz_three_levels GZ CRC32C 128 NONE
by_hbase hbase_none_crc32_three_levels NONE CRC32 128 NONE
by_hbase hbase_snappy SNAPPY CRC32C 65536 NONE
by_hbase hbase_fast_diff NONE CRC32C 65536 FAST_DIFF
rm -f "$out"/.*.crc
rm -r "$classes"
