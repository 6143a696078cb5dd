package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The server ends under a writer and comes back. */
@EnabledIfEnvironmentVariable(named = "TARNDB_TEST_RESTART", matches = ".+")
class RestartTest extends Suite {
  @ParameterizedTest
  @ValueSource(strings = {"kill", "term"})
  void whatWasAcknowledgedIsThere(String how) throws Exception {
    String table = table(how, "(id INTEGER PRIMARY KEY, v LONG)");
    AtomicInteger acknowledged = new AtomicInteger();
    AtomicBoolean stopping = new AtomicBoolean();
    AtomicReference<SQLException> error = new AtomicReference<>();
    Thread writer = new Thread(() -> {
      try (Connection own = Server.connect(); PreparedStatement insert = own.prepareStatement("INSERT OR REPLACE INTO " + table + " VALUES (?, ?)")) {
        for (int id = 0; !stopping.get(); id++) {
          insert.setInt(1, id);
          insert.setLong(2, id * 2L);
          insert.executeUpdate();
          acknowledged.set(id + 1);
        }
      } catch (SQLException ended) {
        error.set(ended);
      }
    });
    writer.start();
    while (acknowledged.get() < 300) {
      Thread.onSpinWait();
    }
    Server.restart(how);
    int goal = acknowledged.get() + 100;
    while (acknowledged.get() < goal && error.get() == null) {
      Thread.onSpinWait();
    }
    stopping.set(true);
    writer.join();
    assertNull(error.get(), "a driver goes on with the server that is back");
    int before = acknowledged.get();
    assertEquals(Integer.toString(before), query("SELECT COUNT(*) FROM " + table + " WHERE id < " + before), "over the old connection");
    assertEquals(before, Integer.parseInt(query("SELECT COUNT(*) FROM " + table + " WHERE id < " + before + " AND v = id * 2")));
    assertEquals(1, update("INSERT OR REPLACE INTO " + table + " VALUES (-1, 0)"));
  }
}
