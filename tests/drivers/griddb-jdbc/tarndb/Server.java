package tarndb;

import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.GridStoreFactory;
import com.toshiba.mwcloud.gs.experimental.DatabaseInfo;
import com.toshiba.mwcloud.gs.experimental.ExperimentalTool;
import com.toshiba.mwcloud.gs.experimental.PrivilegeInfo;
import com.toshiba.mwcloud.gs.experimental.PrivilegeInfo.RoleType;
import com.toshiba.mwcloud.gs.experimental.UserInfo;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Map;
import java.util.Properties;

/**
 * The server under test. TARNDB_TEST_GRIDDB_SQL is the host:port of its SQL, TARNDB_TEST_GRIDDB that of its NoSQL; TARNDB_TEST_RESTART is a command that ends
 * it with `kill` or `term` and returns once it is ready again.
 */
final class Server {
  static final String SQL = System.getenv("TARNDB_TEST_GRIDDB_SQL");
  static final String MEMBER = System.getenv("TARNDB_TEST_GRIDDB");

  private Server() {}

  /** A connection to a database of a server, by its address. */
  static Connection connect(String address, String database, String user, String password) throws SQLException {
    return DriverManager.getConnection("jdbc:gs://" + address + "/TarnDB/" + database, user, password);
  }

  static Connection connect() throws SQLException {
    return connect(SQL, "public", "admin", "admin");
  }

  /** A connection over NoSQL. */
  static GridStore store(String member, String user, String password) throws GSException {
    Properties properties = new Properties();
    properties.setProperty("notificationMember", member);
    properties.setProperty("clusterName", "TarnDB");
    properties.setProperty("user", user);
    properties.setProperty("password", password);
    return GridStoreFactory.getInstance().getGridStore(properties);
  }

  /** Makes a database of a server of the test's own, and users with the password `secret`: `reader`, `owner` and `nobody`, by what they may do there. */
  static void makeUsers(Path directory, String database) throws Exception {
    try (GridStore boss = store(run("address " + directory + " griddb").trim(), "cassandra", "cassandra")) {
      ExperimentalTool.putDatabase(boss, database, new DatabaseInfo(database, Map.of()), false);
      for (String user : new String[] {"reader", "owner", "nobody"}) {
        UserInfo info = new UserInfo();
        info.setPassword("secret");
        ExperimentalTool.putUser(boss, user, info, false);
      }
      for (Map.Entry<String, RoleType> role : Map.of("reader", RoleType.READ, "owner", RoleType.ALL).entrySet()) {
        PrivilegeInfo privilege = new PrivilegeInfo();
        privilege.setRole(role.getValue());
        ExperimentalTool.putPrivilege(boss, database, role.getKey(), privilege);
      }
    }
  }

  /** Ends the server with `kill` or `term` and returns once it is ready again. */
  static void restart(String how) throws IOException, InterruptedException {
    String command = System.getenv("TARNDB_TEST_RESTART") + " " + how;
    int status = new ProcessBuilder("sh", "-c", command).redirectErrorStream(true).start().waitFor();
    if (status != 0) {
      throw new IOException("the server did not come back: status " + status);
    }
  }

  /** Runs a command of `server.py`, about a server of the test's own; returns what it prints. */
  static String run(String command) throws IOException, InterruptedException {
    String script = System.getenv("TARNDB_TEST_RESTART").split(" restart ")[0];
    Process process = new ProcessBuilder("sh", "-c", script + " " + command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (process.waitFor() != 0) {
      throw new IOException("server.py " + command + " failed");
    }
    return printed;
  }
}
