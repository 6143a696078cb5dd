package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowSet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** The server is killed while row sets are open. */
@EnabledIfEnvironmentVariable(named = "TARNDB_TEST_RESTART", matches = ".+")
class RowSetsRestartTest extends Suite {
  @Test
  void openRowSetsEndAndQueriesGoOn() throws Exception {
    collection("rows", keyed(column("id", GSType.INTEGER), column("text", GSType.STRING)));
    try (GridStore mine = Server.connect("failoverTimeout", "120")) {
      Collection<Integer, Row> container = mine.getCollection(name("rows"));
      String text = "x".repeat(400_000);
      List<Object> ids = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        container.put(row(container, i, text));
        ids.add(i);
      }
      RowSet<Row> sized = RowSetsTest.sized(container.query("SELECT *"), 10).fetch();
      RowSet<Row> large = container.query("SELECT *").fetch();
      Server.restart("kill");
      for (RowSet<Row> rows : List.of(sized, large)) {
        assertTimeoutPreemptively(Duration.ofSeconds(180), () -> assertThrows(GSException.class, () -> {
          while (rows.hasNext()) {
            rows.next();
          }
        }));
      }
      assertEquals(ids, values(RowSetsTest.sized(container.query("SELECT *"), 30), 0));
      assertEquals(ids, keys(container, "SELECT *"));
    }
  }
}
