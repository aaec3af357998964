package hudi_pyspark;

import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.Identifier;
import scala.Option;

/**
 * Refuses commands that would have Spark drop an entry, or look for one that is not there, before
 * the catalog can say that it does not write tables of Apache Hudi.
 */
public class CommandCheck extends Rule {
  public TreeNode apply(TreeNode plan) {
    if (plan instanceof ReplaceTable) {
      check(((ReplaceTable) plan).name(), ((ReplaceTable) plan).tableSpec(), "REPLACE TABLE");
    } else if (plan instanceof ReplaceTableAsSelect) {
      ReplaceTableAsSelect replace = (ReplaceTableAsSelect) plan;
      check(replace.name(), replace.tableSpec(), "REPLACE TABLE … AS SELECT");
    } else if (plan instanceof CreateTable) {
      checkMounted(((CreateTable) plan).name(), "CREATE TABLE");
    } else if (plan instanceof CreateTableAsSelect) {
      CreateTableAsSelect create = (CreateTableAsSelect) plan;
      check(create.name(), create.tableSpec(), "CREATE TABLE … AS SELECT");
    }
    return plan;
  }

  private static void checkMounted(LogicalPlan name, String statement) {
    if (name instanceof ResolvedIdentifier
        && ((ResolvedIdentifier) name).catalog() instanceof MountedTables) {
      throw ReadTable.readOnly(((ResolvedIdentifier) name).identifier(), statement);
    }
  }

  private static void check(LogicalPlan name, TableSpecBase spec, String statement) {
    checkMounted(name, statement);
    if (!(name instanceof ResolvedIdentifier)
        || !(((ResolvedIdentifier) name).catalog() instanceof SessionTables)) {
      return;
    }
    Identifier table = ((ResolvedIdentifier) name).identifier();
    Option provider = spec.provider();
    boolean makesHudi = provider.isDefined() && Entries.isHudi(provider.get());
    if (makesHudi || ((SessionTables) ((ResolvedIdentifier) name).catalog()).isHudi(table)) {
      throw ReadTable.readOnly(table, statement);
    }
  }
}
