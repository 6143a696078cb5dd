package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What tools ask about a database. */
class MetadataTest extends Suite {
  private DatabaseMetaData metaData;

  @BeforeAll
  void create() throws SQLException {
    table("one", "(id INTEGER PRIMARY KEY, name STRING NOT NULL, at TIMESTAMP, data BLOB)");
    table("two", "(a LONG, b STRING, v DOUBLE, PRIMARY KEY (a, b))");
    table("none", "(flag BOOL)");
    update("CREATE INDEX by_name ON " + name("one") + " (name)");
    metaData = connection.getMetaData();
  }

  /** Columns of the rows of a result. */
  private static List<String> values(ResultSet rows, String... columns) throws SQLException {
    List<String> all = new ArrayList<>();
    try (rows) {
      while (rows.next()) {
        List<String> row = new ArrayList<>();
        for (String column : columns) {
          row.add(rows.getString(column));
        }
        all.add(String.join("|", row));
      }
    }
    return all;
  }

  @Test
  void productAndVersions() throws SQLException {
    assertEquals("GridDB", metaData.getDatabaseProductName());
    assertEquals(5, metaData.getDatabaseMajorVersion());
    assertTrue(metaData.getDatabaseMinorVersion() >= 0);
    assertEquals("admin", metaData.getUserName());
    assertTrue(metaData.getURL().startsWith("jdbc:gs:"));
    assertFalse(metaData.isReadOnly());
  }

  @Test
  void tables() throws SQLException {
    List<String> expected = List.of("MetadataTest_none|TABLE", "MetadataTest_one|TABLE", "MetadataTest_two|TABLE");
    assertEquals(expected, values(metaData.getTables(null, null, "MetadataTest%", null), "TABLE_NAME", "TABLE_TYPE"));
    assertEquals(expected, values(metaData.getTables(null, null, "metadatatest\\_%", new String[] {"TABLE"}), "TABLE_NAME", "TABLE_TYPE"));
    assertEquals(List.of(), values(metaData.getTables(null, null, "MetadataTest%", new String[] {"VIEW"}), "TABLE_NAME"));
    assertEquals(List.of(), values(metaData.getTables(null, null, "nothing", null), "TABLE_NAME"));
    assertTrue(values(metaData.getTables(null, null, "%", null), "TABLE_NAME").containsAll(List.of(name("one"), name("two"))));
  }

  /** The rows of a query, columns joined. */
  private List<String> rows(String sql) throws SQLException {
    List<String> all = new ArrayList<>();
    try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
      while (rows.next()) {
        List<String> row = new ArrayList<>();
        for (int column = 1; column <= rows.getMetaData().getColumnCount(); column++) {
          row.add(rows.getString(column));
        }
        all.add(String.join("|", row));
      }
    }
    return all;
  }

  @Test
  void metatables() throws SQLException {
    String of = " WHERE TABLE_NAME LIKE 'MetadataTest%' ORDER BY TABLE_NAME";
    assertEquals(List.of("public|MetadataTest_none|COLLECTION|null", "public|MetadataTest_one|COLLECTION|null", "public|MetadataTest_two|COLLECTION|null"),
        rows("SELECT DATABASE_NAME, TABLE_NAME, TABLE_OPTIONAL_TYPE, PARTITION_TYPE FROM \"#tables\"" + of));
    assertEquals(18, rows("SELECT * FROM \"#tables\"" + of).get(0).split("\\|").length);
    assertEquals(List.of("1|INTEGER|id|false", "2|STRING|name|false", "3|TIMESTAMP|at|true", "4|BLOB|data|true"),
        rows("SELECT ORDINAL_POSITION, TYPE_NAME, COLUMN_NAME, NULLABLE FROM \"#columns\" WHERE TABLE_NAME = '" + name("one") + "' ORDER BY 1"));
    assertEquals(List.of("MetadataTest_one|1|id", "MetadataTest_two|1|a", "MetadataTest_two|2|b"),
        rows("SELECT TABLE_NAME, KEY_SEQ, COLUMN_NAME FROM \"#primary_keys\"" + of + ", KEY_SEQ"));
    assertEquals(List.of("MetadataTest_one|by_name|TREE|1|name"),
        rows("SELECT TABLE_NAME, INDEX_NAME, INDEX_TYPE, ORDINAL_POSITION, COLUMN_NAME FROM \"#INDEX_INFO\" WHERE INDEX_NAME = 'by_name'"));
    assertEquals(List.of("0|0|0"),
        rows("SELECT (SELECT COUNT(*) FROM \"#table_partitions\"" + of + "), (SELECT COUNT(*) FROM \"#views\"), (SELECT COUNT(*) FROM \"#event_triggers\")"));
  }

  @Test
  void tableTypes() throws SQLException {
    assertEquals(List.of("TABLE", "VIEW"), values(metaData.getTableTypes(), "TABLE_TYPE"));
  }

  @Test
  void columns() throws SQLException {
    List<String> expected = List.of(
        "id|" + Types.INTEGER + "|INTEGER|0|1|NO", "name|" + Types.VARCHAR + "|STRING|0|2|NO", "at|" + Types.TIMESTAMP + "|TIMESTAMP|1|3|YES",
        "data|" + Types.BLOB + "|BLOB|1|4|YES");
    assertEquals(expected, values(metaData.getColumns(null, null, name("one"), "%"),
        "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "NULLABLE", "ORDINAL_POSITION", "IS_NULLABLE"));
    assertEquals(List.of("MetadataTest_two|b"), values(metaData.getColumns(null, null, name("two"), "B"), "TABLE_NAME", "COLUMN_NAME"));
  }

  @Test
  void primaryKeys() throws SQLException {
    assertEquals(List.of("id|1"), values(metaData.getPrimaryKeys(null, null, name("one")), "COLUMN_NAME", "KEY_SEQ"));
    assertEquals(List.of("a|1", "b|2"), values(metaData.getPrimaryKeys(null, null, name("two")), "COLUMN_NAME", "KEY_SEQ"));
    assertEquals(List.of(), values(metaData.getPrimaryKeys(null, null, name("none")), "COLUMN_NAME"));
  }

  @Test
  void indexes() throws SQLException {
    assertEquals(List.of("false|null|id", "true|by_name|name"),
        values(metaData.getIndexInfo(null, null, name("one"), false, false), "NON_UNIQUE", "INDEX_NAME", "COLUMN_NAME"));
    assertEquals(List.of("id"), values(metaData.getIndexInfo(null, null, name("one"), true, false), "COLUMN_NAME"));
  }

  @Test
  void types() throws SQLException {
    List<String> names = values(metaData.getTypeInfo(), "TYPE_NAME");
    assertEquals(10, names.size());
    assertTrue(names.containsAll(List.of("BOOL", "BYTE", "SHORT", "INTEGER", "LONG", "FLOAT", "DOUBLE", "TIMESTAMP", "STRING", "BLOB")));
  }

  @Test
  void whatThereIsNot() throws SQLException {
    assertEquals(List.of(), values(metaData.getSchemas(), "TABLE_SCHEM"));
    assertEquals(List.of(), values(metaData.getCatalogs(), "TABLE_CAT"));
    assertEquals(List.of(), values(metaData.getProcedures(null, null, "%"), "PROCEDURE_NAME"));
    assertEquals(List.of(), values(metaData.getFunctions(null, null, "%"), "FUNCTION_NAME"));
    assertEquals(List.of(), values(metaData.getImportedKeys(null, null, name("one")), "PKTABLE_NAME"));
    assertEquals(List.of(), values(metaData.getExportedKeys(null, null, name("one")), "PKTABLE_NAME"));
    assertEquals(List.of(), values(metaData.getUDTs(null, null, "%", null), "TYPE_NAME"));
    assertEquals(List.of(), values(metaData.getBestRowIdentifier(null, null, name("one"), 0, true), "COLUMN_NAME"));
  }
}
