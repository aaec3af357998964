package hudi_pyspark;

import java.net.URI;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.command.CreateTableLikeCommand;
import org.apache.spark.unsafe.Platform;
import scala.Option;
import scala.Product;
import scala.collection.immutable.Seq;

/**
 * Refuses commands that Spark would carry out without asking the catalog first, which does not
 * write tables of Apache Hudi, or for which Spark would drop an entry or look for a missing one.
 */
public class CommandCheck extends Rule {
  /** INSERT OVERWRITE DIRECTORY, of which the second is in a module that Spark may not have. */
  private static final List DIRECTORY_COMMANDS =
      Arrays.asList(new Object[] {"InsertIntoDataSourceDirCommand", "InsertIntoHiveDirCommand"});

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
    } else if (plan instanceof CreateTableLikeCommand) {
      checkLike((CreateTableLikeCommand) plan);
    } else if (plan.getClass().getSimpleName().equals("CreateTableLike")) {
      checkLike(plan.children());
    } else if (DIRECTORY_COMMANDS.contains(plan.getClass().getSimpleName())) {
      checkDirectory((Product) plan);
    }
    return plan;
  }

  private static void checkMounted(LogicalPlan name, String statement) {
    if (name instanceof ResolvedIdentifier
        && ((ResolvedIdentifier) name).catalog() instanceof MountedTables) {
      throw ReadTable.readOnly(((ResolvedIdentifier) name).identifier(), statement);
    }
  }

  /** Refuses an entry without a table, and columns that the metastore may no longer have right. */
  private static void checkLike(CreateTableLikeCommand create) {
    Option provider = create.provider();
    Object[] names = {create.targetTable().unquotedString(), create.sourceTable().unquotedString()};
    if (provider.isDefined() && Entries.isHudi(provider.get())) {
      throw new IllegalArgumentException(String.format(Words.LIKE_OTHER, names));
    }
    SessionCatalog catalog = Names.session().catalog();
    CatalogTable source;
    try {
      source = catalog.getTempViewOrPermanentTableMetadata(create.sourceTable());
    } catch (Exception error) {
      return; // Spark says that there is no such table
    }
    if (Entries.isHudi(source)) {
      throw new IllegalArgumentException(String.format(Words.LIKE_ENTRY, names));
    }
  }

  /** The same of Spark 4.3 if the source is no table of Spark's own. */
  private static void checkLike(Seq nameAndSource) {
    Object name = nameAndSource.apply(0);
    Object source = nameAndSource.apply(1);
    if (name instanceof ResolvedIdentifier
        && ((ResolvedIdentifier) name).catalog() instanceof SessionTables
        && source instanceof ResolvedTable
        && ((ResolvedTable) source).table() instanceof ReadTable) {
      Object[] names = {((ResolvedIdentifier) name).identifier(), ((ResolvedTable) source).name()};
      throw new IllegalArgumentException(String.format(Words.LIKE_ENTRY, names));
    }
  }

  private static void checkDirectory(Product command) {
    int place = 0;
    while (!command.productElementName(place).equals("storage")) {
      place++;
    }
    Option location = ((CatalogStorageFormat) command.productElement(place)).locationUri();
    try {
      if (location.isDefined()) {
        FileGuard.checkFolder(new Path((URI) location.get()), Names.session().newHadoopConf());
      }
    } catch (Exception error) {
      Platform.throwException(error);
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
