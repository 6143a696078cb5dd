package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.aerospike.client.AerospikeClient;
import com.aerospike.client.AerospikeException;
import com.aerospike.client.Bin;
import com.aerospike.client.Key;
import com.aerospike.client.ResultCode;
import com.aerospike.client.admin.Privilege;
import com.aerospike.client.admin.PrivilegeCode;
import com.aerospike.client.admin.Role;
import com.aerospike.client.admin.User;
import com.aerospike.client.policy.AdminPolicy;
import com.aerospike.client.policy.ClientPolicy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Users and roles, on a server of their own on which clients have to log in. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@EnabledIfEnvironmentVariable(named = "TARNDB_TEST_RESTART", matches = ".+")
class SecurityTest {
  private static final Key KEY = new Key(Server.NAMESPACE, "guarded", 1);

  private final AdminPolicy admin = new AdminPolicy();
  private Path directory;
  private String[] endpoint;
  private AerospikeClient boss;

  @BeforeAll
  void start() throws Exception {
    admin.timeout = Suite.PATIENCE_MS;
    directory = Files.createTempDirectory("tarndb-security-").resolve("server");
    Server.run("start " + directory + " login");
    endpoint = Server.run("address " + directory + " aerospike").trim().split(":");
    boss = login("cassandra", "cassandra");
    boss.put(null, KEY, new Bin("n", 1));
  }

  @AfterAll
  void stop() throws Exception {
    boss.close();
    Server.run("stop " + directory);
    Files.delete(directory.getParent());
  }

  private AerospikeClient login(String user, String password) {
    ClientPolicy policy = new ClientPolicy();
    policy.user = user;
    policy.password = password;
    policy.timeout = Suite.PATIENCE_MS;
    policy.loginTimeout = Suite.PATIENCE_MS;
    policy.readPolicyDefault.setTimeout(Suite.PATIENCE_MS);
    policy.writePolicyDefault.setTimeout(Suite.PATIENCE_MS);
    return new AerospikeClient(policy, endpoint[0], Integer.parseInt(endpoint[1]));
  }

  @Test
  void aWrongPasswordIsRefused() {
    assertThrows(AerospikeException.class, () -> login("cassandra", "wrong"));
    assertThrows(AerospikeException.class, () -> login("nobody", "cassandra"));
  }

  @Test
  void aUserDoesWhatItsRolesAllow() {
    boss.createUser(admin, "ann", "pass", List.of("read"));
    Suite.assertRefused(ResultCode.USER_ALREADY_EXISTS, () -> boss.createUser(admin, "ann", "pass", List.of("read")));
    Suite.assertRefused(ResultCode.INVALID_ROLE, () -> boss.grantRoles(admin, "ann", List.of("nothing")));
    try (AerospikeClient ann = login("ann", "pass")) {
      assertEquals(1, ann.get(null, KEY).getInt("n"));
      Suite.assertRefused(ResultCode.ROLE_VIOLATION, () -> ann.put(null, KEY, new Bin("n", 2)));
      Suite.assertRefused(ResultCode.ROLE_VIOLATION, () -> ann.createUser(admin, "eve", "pass", List.of("superuser")));
      Suite.assertRefused(ResultCode.ROLE_VIOLATION, () -> ann.queryUsers(admin));
      boss.grantRoles(admin, "ann", List.of("write"));
      ann.put(null, KEY, new Bin("n", 1));
      boss.revokeRoles(admin, "ann", List.of("read", "write"));
      Suite.assertRefused(ResultCode.ROLE_VIOLATION, () -> ann.get(null, KEY));
      Suite.assertRefused(ResultCode.ROLE_VIOLATION, () -> ann.put(null, KEY, new Bin("n", 2)));
      ann.changePassword(admin, "ann", "new");
    }
    boss.dropUser(admin, "ann");
    Suite.assertRefused(ResultCode.INVALID_USER, () -> boss.dropUser(admin, "ann"));
  }

  @Test
  void rolesAndUsersAreListed() {
    Privilege privilege = new Privilege();
    privilege.code = PrivilegeCode.READ_WRITE;
    privilege.namespace = Server.NAMESPACE;
    privilege.setName = "mine";
    boss.createRole(admin, "app", List.of(privilege), List.of("127.0.0.0/8"), 0, 0);
    Role role = boss.queryRole(admin, "app");
    assertEquals(1, role.privileges.size());
    Privilege listed = role.privileges.get(0);
    assertEquals(List.of(privilege.code, privilege.namespace, privilege.setName), List.of(listed.code, listed.namespace, listed.setName));
    assertEquals(List.of("127.0.0.0/8"), role.whitelist);
    Suite.assertRefused(ResultCode.ROLE_ALREADY_EXISTS, () -> boss.createRole(admin, "app", List.of(privilege)));
    boss.setQuotas(admin, "app", 500, 600);
    Role limited = boss.queryRole(admin, "app");
    assertEquals(List.of(500, 600), List.of(limited.readQuota, limited.writeQuota));
    boss.createUser(admin, "bob", "pass", List.of("app"));
    try (AerospikeClient bob = login("bob", "pass")) {
      bob.put(null, new Key(Server.NAMESPACE, "mine", 1), new Bin("n", 1));
      Suite.assertRefused(ResultCode.ROLE_VIOLATION, () -> bob.get(null, KEY));
      assertEquals(List.of("app"), bob.queryUser(admin, "bob").roles);
    }
    List<String> users = boss.queryUsers(admin).stream().map((User user) -> user.name).toList();
    assertTrue(users.contains("bob") && users.contains("cassandra"), users.toString());
    List<String> roles = boss.queryRoles(admin).stream().map((Role one) -> one.name).toList();
    assertTrue(roles.containsAll(List.of("app", "read", "write", "read-write", "user-admin", "sys-admin")), roles.toString());
    boss.revokePrivileges(admin, "app", List.of(privilege));
    assertEquals(List.of(), boss.queryRole(admin, "app").privileges);
    boss.dropRole(admin, "app");
    Suite.assertRefused(ResultCode.INVALID_ROLE, () -> boss.queryRole(admin, "app"));
  }
}
