package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.ColumnInfo;
import com.toshiba.mwcloud.gs.ContainerInfo;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.Row;
import com.toshiba.mwcloud.gs.RowKeyPredicate;
import com.toshiba.mwcloud.gs.experimental.DatabaseInfo;
import com.toshiba.mwcloud.gs.experimental.ExperimentalTool;
import com.toshiba.mwcloud.gs.experimental.PrivilegeInfo;
import com.toshiba.mwcloud.gs.experimental.PrivilegeInfo.RoleType;
import com.toshiba.mwcloud.gs.experimental.UserInfo;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Users, databases and privileges, on a server of their own on which clients have to log in. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@EnabledIfEnvironmentVariable(named = "TARNDB_TEST_RESTART", matches = ".+")
class SecurityTest {
  private static final int AUTH_FAILED = 10_005;
  private static final int NOT_ALLOWED = 10_079;
  private static final int NO_DATABASE = 10_087;
  /** The client looks for itself. */
  private static final int NOT_EMPTY = 145_045;
  private static final ContainerInfo INFO = Suite.keyed(new ColumnInfo("id", GSType.INTEGER), new ColumnInfo("v", GSType.LONG));

  private Path directory;
  private String member;
  private GridStore boss;

  @BeforeAll
  void start() throws Exception {
    directory = Files.createTempDirectory("tarndb-griddb-security-").resolve("server");
    Server.run("start " + directory + " login");
    member = Server.run("address " + directory + " griddb").trim();
    boss = login("cassandra", "cassandra");
    put(boss.putCollection("guarded", INFO, false), 1);
  }

  @AfterAll
  void stop() throws Exception {
    boss.close();
    Server.run("stop " + directory);
    Files.delete(directory.getParent());
  }

  private GridStore login(String user, String password, String... pairs) throws GSException {
    String[] usual = {"notificationMember", member, "user", user, "password", password};
    String[] all = new String[usual.length + pairs.length];
    System.arraycopy(usual, 0, all, 0, usual.length);
    System.arraycopy(pairs, 0, all, usual.length, pairs.length);
    return Server.connect(all);
  }

  private static void put(Collection<Integer, Row> container, int id) throws GSException {
    container.put(Suite.row(container, id, 1L));
  }

  private void createUser(String name, String password, boolean modifiable) throws GSException {
    UserInfo info = new UserInfo();
    info.setPassword(password);
    ExperimentalTool.putUser(boss, name, info, modifiable);
  }

  private void grant(String database, String user, RoleType what) throws GSException {
    ExperimentalTool.putPrivilege(boss, database, user, new PrivilegeInfo(what));
  }

  private void revoke(String database, String user, RoleType what) throws GSException {
    ExperimentalTool.dropPrivilege(boss, database, user, new PrivilegeInfo(what));
  }

  @ParameterizedTest
  @CsvSource({"cassandra,wrong", "nobody,cassandra", "cassandra,CASSANDRA", "Cassandra,cassandra"})
  void aWrongPasswordIsRefused(String user, String password) throws Exception {
    try (GridStore store = login(user, password, "failoverTimeout", "1")) {
      Suite.assertRefused(AUTH_FAILED, () -> store.getContainerInfo("guarded"));
    }
  }

  @Test
  void aUserDoesWhatItsPrivilegeAllowsAndNoMoreWhenItIsTakenAway() throws Exception {
    createUser("ann", "pass", false);
    try (GridStore ann = login("ann", "pass")) {
      Suite.assertRefused(NOT_ALLOWED, () -> ann.getCollection("guarded"));
      grant("public", "ann", RoleType.READ);
      Collection<Integer, Row> guarded = ann.getCollection("guarded");
      assertEquals(1, guarded.get(1).getLong(1));
      assertEquals(1, Suite.count(guarded));
      assertEquals(List.of(1), Suite.keys(guarded, "SELECT * WHERE id = 1"));
      RowKeyPredicate<Integer> one = RowKeyPredicate.create(Integer.class);
      one.add(1);
      assertEquals(1, ann.multiGet(Map.of("guarded", one)).get("guarded").size());
      Suite.assertRefused(NOT_ALLOWED, () -> put(guarded, 2));
      Suite.assertRefused(NOT_ALLOWED, () -> ann.multiPut(Map.of("guarded", List.of(Suite.row(guarded, 2, 1L)))));
      Suite.assertRefused(NOT_ALLOWED, () -> guarded.remove(1));
      Suite.assertRefused(NOT_ALLOWED, () -> guarded.createIndex("v"));
      Suite.assertRefused(NOT_ALLOWED, () -> ann.putCollection("anns", INFO, false));
      Suite.assertRefused(NOT_ALLOWED, () -> ann.dropContainer("guarded"));
      Suite.assertRefused(NOT_ALLOWED, () -> ExperimentalTool.putPrivilege(ann, "public", "ann", new PrivilegeInfo(RoleType.ALL)));
      guarded.setAutoCommit(false);
      Suite.assertRefused(NOT_ALLOWED, () -> guarded.get(1, true));
      guarded.abort();
      assertEquals(1, guarded.get(1).getLong(1), "a transaction that only reads");
      guarded.commit();
      guarded.setAutoCommit(true);
      grant("public", "ann", RoleType.ALL);
      put(guarded, 2);
      guarded.remove(2);
      put(ann.putCollection("anns", INFO, false), 1);
      grant("public", "ann", RoleType.READ);
      Suite.assertRefused(NOT_ALLOWED, () -> put(guarded, 2));
      assertEquals(1, guarded.get(1).getLong(1), "it may still read");
      revoke("public", "ann", RoleType.READ);
      Suite.assertRefused(NOT_ALLOWED, () -> guarded.get(1));
      put(ann.getCollection("anns"), 2);
      ann.dropContainer("anns");
    }
    ExperimentalTool.dropUser(boss, "ann");
    try (GridStore ann = login("ann", "pass", "failoverTimeout", "1")) {
      Suite.assertRefused(AUTH_FAILED, () -> ann.getContainerInfo("guarded"));
    }
  }

  @Test
  void passwordsAreChangedAndUsersListed() throws Exception {
    createUser("bob", "pass", false);
    Suite.assertRefused(NOT_ALLOWED, () -> createUser("bob", "other", false));
    createUser("bob", "other", true);
    ExperimentalTool.putRole(boss, "readers");
    try (GridStore bob = login("bob", "other")) {
      UserInfo own = ExperimentalTool.getCurrentUser(bob);
      assertEquals("bob", own.getName());
      assertEquals("", own.getHashPassword());
      assertFalse(own.isSuperUser());
      Suite.assertRefused(NOT_ALLOWED, () -> ExperimentalTool.getUsers(bob));
      Suite.assertRefused(NOT_ALLOWED, () -> ExperimentalTool.dropUser(bob, "cassandra"));
      UserInfo changed = new UserInfo();
      changed.setPassword("mine");
      ExperimentalTool.putUser(bob, "bob", changed, true);
    }
    try (GridStore bob = login("bob", "mine")) {
      assertNull(bob.getContainerInfo("none"));
    }
    try (GridStore bob = login("bob", "other", "failoverTimeout", "1")) {
      Suite.assertRefused(AUTH_FAILED, () -> bob.getContainerInfo("none"));
    }
    Map<String, UserInfo> users = ExperimentalTool.getUsers(boss);
    assertTrue(users.get("cassandra").isSuperUser());
    assertFalse(users.get("bob").isSuperUser());
    assertTrue(users.get("readers").isRole());
    ExperimentalTool.dropRole(boss, "readers");
    ExperimentalTool.dropUser(boss, "bob");
    Suite.assertRefused(NOT_ALLOWED, () -> ExperimentalTool.dropUser(boss, "bob"));
    Suite.assertRefused(NOT_ALLOWED, () -> grant("public", "bob", RoleType.READ));
  }

  @Test
  void aDatabaseIsMadeUsedAndDropped() throws Exception {
    ExperimentalTool.putDatabase(boss, "plant", new DatabaseInfo(), false);
    Suite.assertRefused(NOT_ALLOWED, () -> ExperimentalTool.putDatabase(boss, "plant", new DatabaseInfo(), false));
    createUser("cid", "pass", false);
    grant("plant", "cid", RoleType.ALL);
    Suite.assertRefused(NO_DATABASE, () -> grant("nowhere", "cid", RoleType.ALL));
    try (GridStore cid = login("cid", "pass", "database", "plant")) {
      put(cid.putCollection("own", INFO, false), 1);
      Suite.assertRefused(NOT_EMPTY, () -> ExperimentalTool.dropDatabase(cid, "plant"));
      DatabaseInfo current = ExperimentalTool.getCurrentDatabase(cid);
      assertEquals("plant", current.getName());
      assertEquals(RoleType.ALL, current.getPrivileges().get("cid").getRole());
      assertEquals(List.of("plant", "public"), ExperimentalTool.getDatabases(cid).keySet().stream().sorted().toList());
      Suite.assertRefused(NOT_ALLOWED, () -> ExperimentalTool.putDatabase(cid, "another", new DatabaseInfo(), false));
      cid.dropContainer("own");
      Suite.assertRefused(NOT_ALLOWED, () -> ExperimentalTool.dropDatabase(cid, "plant"));
    }
    try (GridStore inside = login("cassandra", "cassandra", "database", "plant")) {
      assertTrue(ExperimentalTool.getDatabases(inside).get("plant").getPrivileges().containsKey("cid"));
      ExperimentalTool.dropDatabase(inside, "plant");
    }
    assertFalse(ExperimentalTool.getDatabases(boss).containsKey("plant"));
    ExperimentalTool.dropUser(boss, "cid");
  }
}
