package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.Blob;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Date;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.function.Executable;

/** A connection to the server under test, and tables whose names belong to the suite. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class Suite {
  static final int SYNTAX = 240_001;
  static final int EXECUTION = 241_001;
  static final int CANCELLED = 241_002;

  Connection connection;

  @BeforeAll
  void connect() throws SQLException {
    connection = Server.connect();
  }

  @AfterAll
  void close() throws SQLException {
    connection.close();
  }

  /** A name that begins with the suite's. */
  String name(String ending) {
    return getClass().getSimpleName() + "_" + ending;
  }

  /** An empty table of these columns; returns its name. */
  String table(String ending, String columns) throws SQLException {
    update("DROP TABLE IF EXISTS " + name(ending));
    update("CREATE TABLE " + name(ending) + " " + columns);
    return name(ending);
  }

  /** Runs a statement that writes: how many rows it says. */
  int update(String sql, Object... parameters) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      bind(statement, parameters);
      return statement.executeUpdate();
    }
  }

  static void bind(PreparedStatement statement, Object... parameters) throws SQLException {
    for (int i = 0; i < parameters.length; i++) {
      if (parameters[i] == null) {
        statement.setNull(i + 1, java.sql.Types.NULL);
      } else {
        statement.setObject(i + 1, parameters[i]);
      }
    }
  }

  /** The rows of a query: values separated by `|`, rows by a space. Times are milliseconds, bytes are hexadecimal. */
  String query(String sql, Object... parameters) throws SQLException {
    if (parameters.length == 0) {
      try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
        return text(rows);
      }
    }
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      bind(statement, parameters);
      try (ResultSet rows = statement.executeQuery()) {
        return text(rows);
      }
    }
  }

  static String text(ResultSet rows) throws SQLException {
    List<String> all = new ArrayList<>();
    while (rows.next()) {
      List<String> row = new ArrayList<>();
      for (int column = 1; column <= rows.getMetaData().getColumnCount(); column++) {
        row.add(text(rows.getObject(column)));
      }
      all.add(String.join("|", row));
    }
    return String.join(" ", all);
  }

  private static String text(Object value) throws SQLException {
    if (value instanceof Date time) {
      return Long.toString(time.getTime());
    }
    if (value instanceof Blob blob) {
      return HexFormat.of().formatHex(blob.getBytes(1, (int) blob.length()));
    }
    return String.valueOf(value);
  }

  static SQLException assertRefused(int code, Executable request) {
    SQLException refusal = assertThrows(SQLException.class, request);
    assertEquals(code, refusal.getErrorCode(), refusal.getMessage());
    return refusal;
  }
}
