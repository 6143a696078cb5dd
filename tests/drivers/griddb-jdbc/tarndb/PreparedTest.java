package tarndb;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.Arrays;
import java.util.Date;
import org.junit.jupiter.api.Test;

/** Statements with parameters. */
class PreparedTest extends Suite {
  @Test
  void parametersHaveTheirTypes() throws SQLException {
    assertEquals("1|2|3|4|1.5|2.5|text|1", query("SELECT ?, ?, ?, ?, ?, ?, ?, ?", (byte) 1, (short) 2, 3, 4L, 1.5f, 2.5, "text", true));
    assertEquals("größe|null", query("SELECT ?, ?", "größe", null));
    assertEquals("5", query("SELECT ?", new Date(5)));
  }

  @Test
  void everyTypeIsWrittenByAParameter() throws Exception {
    String table = table("types", "(k INTEGER PRIMARY KEY, b BOOL, y BYTE, s SHORT, l LONG, f FLOAT, d DOUBLE, t TIMESTAMP, x BLOB, c STRING)");
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
      assertEquals(10, insert.getParameterMetaData().getParameterCount());
      insert.setInt(1, 1);
      insert.setBoolean(2, true);
      insert.setByte(3, (byte) -1);
      insert.setShort(4, (short) -2);
      insert.setLong(5, -3L);
      insert.setFloat(6, 0.1f);
      insert.setDouble(7, 0.1);
      insert.setTimestamp(8, new Timestamp(1_700_000_000_123L));
      insert.setBinaryStream(9, new ByteArrayInputStream(new byte[] {1, 2, 3}), 3);
      insert.setString(10, "it's \"text\"");
      assertEquals(1, insert.executeUpdate());
      insert.setInt(1, 2);
      for (int parameter = 2; parameter <= 10; parameter++) {
        insert.setNull(parameter, Types.NULL);
      }
      assertEquals(1, insert.executeUpdate());
    }
    assertEquals("1|true|-1|-2|-3|0.1|0.1|1700000000123|010203|it's \"text\" 2|null|null|null|null|null|null|null|null|null",
        query("SELECT * FROM " + table));
    assertEquals("1", query("SELECT k FROM " + table + " WHERE t = ? AND c = ? AND b = ?", new Timestamp(1_700_000_000_123L), "it's \"text\"", true));
  }

  @Test
  void aStatementIsExecutedAgainAndAgain() throws SQLException {
    String table = table("again", "(id INTEGER PRIMARY KEY, v STRING)");
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " VALUES (?, ?)");
        PreparedStatement select = connection.prepareStatement("SELECT v FROM " + table + " WHERE id = ?")) {
      for (int id = 0; id < 50; id++) {
        insert.setInt(1, id);
        insert.setString(2, "v" + id);
        assertEquals(1, insert.executeUpdate());
        select.setInt(1, id);
        try (ResultSet rows = select.executeQuery()) {
          assertEquals("v" + id, text(rows));
        }
      }
    }
  }

  @Test
  void aBatchIsWritten() throws SQLException {
    String table = table("batch", "(id INTEGER PRIMARY KEY, v STRING)");
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " VALUES (?, ?)")) {
      for (int id = 0; id < 500; id++) {
        insert.setInt(1, id);
        insert.setString(2, "v" + id);
        insert.addBatch();
      }
      int[] counts = insert.executeBatch();
      assertEquals(500, counts.length);
      assertTrue(Arrays.stream(counts).allMatch(count -> count == 1));
      assertArrayEquals(new int[0], insert.executeBatch());
    }
    assertEquals("500|v499", query("SELECT COUNT(*), MAX(v) FILTER (WHERE id = 499) FROM " + table));
  }

  @Test
  void parametersAreOfUpdatesAndDeletes() throws SQLException {
    String table = table("changed", "(id INTEGER PRIMARY KEY, v LONG)");
    update("INSERT INTO " + table + " SELECT n, n FROM (" + QueriesTest.numbers(10) + ")");
    assertEquals(4, update("UPDATE " + table + " SET v = v + ? WHERE id BETWEEN ? AND ?", 100L, 2, 5));
    assertEquals("2|102 3|103 4|104 5|105", query("SELECT * FROM " + table + " WHERE v > ?", 100));
    assertEquals(6, update("DELETE FROM " + table + " WHERE v < ?", 100));
    assertEquals("4", query("SELECT COUNT(*) FROM " + table));
  }

  @Test
  void whatIsWrongIsRefused() throws SQLException {
    assertRefused(SYNTAX, () -> connection.prepareStatement("SELECT ? FROM nowhere"));
    assertRefused(SYNTAX, () -> connection.prepareStatement("SELEC ?"));
    try (PreparedStatement select = connection.prepareStatement("SELECT ?, ?")) {
      select.setInt(1, 1);
      assertThrows(SQLException.class, select::executeQuery, "a parameter is missing");
      assertThrows(SQLException.class, () -> select.setInt(3, 1));
      select.setInt(2, 2);
      try (ResultSet rows = select.executeQuery()) {
        assertEquals("1|2", text(rows));
      }
    }
  }

  @Test
  void aTextIsNoStatement() throws SQLException {
    String table = table("injected", "(id INTEGER PRIMARY KEY, v STRING)");
    update("INSERT INTO " + table + " VALUES (1, ?)", "'); DROP TABLE x; --");
    assertEquals("1|'); DROP TABLE x; --", query("SELECT * FROM " + table + " WHERE v = ?", "'); DROP TABLE x; --"));
  }

  @Test
  void thePlanOfAnOldSchemaIsNotKept() throws SQLException {
    String table = table("schema", "(id INTEGER PRIMARY KEY, a STRING)");
    update("INSERT INTO " + table + " VALUES (1, 'x')");
    try (PreparedStatement select = connection.prepareStatement("SELECT * FROM " + table)) {
      try (ResultSet rows = select.executeQuery()) {
        assertEquals("1|x", text(rows));
      }
      update("ALTER TABLE " + table + " ADD COLUMN b LONG");
      try (ResultSet rows = select.executeQuery()) {
        assertEquals("1|x|null", text(rows));
      }
    }
  }
}
