package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.toshiba.mwcloud.gs.Collection;
import com.toshiba.mwcloud.gs.GSException;
import com.toshiba.mwcloud.gs.GSType;
import com.toshiba.mwcloud.gs.GridStore;
import com.toshiba.mwcloud.gs.PartitionController;
import com.toshiba.mwcloud.gs.Row;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who gets in, and where the data is. */
class ConnectionTest extends Suite {
  @Test
  void anotherClusterIsRefused() throws Exception {
    try (GridStore other = Server.connect("clusterName", "another", "failoverTimeout", "1")) {
      assertRefused(10_053, () -> other.getContainerInfo("x"));
    }
  }

  @Test
  void anUnknownDatabaseIsRefused() throws Exception {
    try (GridStore other = Server.connect("database", "not_there", "failoverTimeout", "1")) {
      assertRefused(10_087, () -> other.getContainerInfo("x"));
    }
  }

  @Test
  void thePublicDatabaseHasAName() throws Exception {
    Collection<Integer, Row> mine = collection("shared", keyed(column("id", GSType.INTEGER)));
    mine.put(row(mine, 7));
    try (GridStore other = Server.connect("database", "public")) {
      assertEquals(1, count(other.getCollection(name("shared"))));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"nobody", "admin", "größe"})
  void anyNameGetsInWithoutAuthentication(String user) throws Exception {
    try (GridStore other = Server.connect("user", user, "password", "whatever")) {
      assertNull(other.getContainerInfo(name("none")));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"IMMEDIATE", "EVENTUAL"})
  void bothConsistenciesRead(String consistency) throws Exception {
    Collection<Integer, Row> mine = collection("consistency", keyed(column("id", GSType.INTEGER)));
    mine.put(row(mine, 1));
    try (GridStore other = Server.connect("consistency", consistency)) {
      assertNotNull(other.<Integer>getCollection(name("consistency")).get(1));
    }
  }

  @Test
  void nobodyListensElsewhere() throws Exception {
    try (GridStore other = Server.connect("notificationMember", "127.0.0.1:9", "failoverTimeout", "0")) {
      assertThrows(GSException.class, () -> other.getContainerInfo("x"));
    }
  }

  @Test
  void oneNodeOwnsAllPartitions() throws Exception {
    PartitionController partitions = store.getPartitionController();
    assertEquals(128, partitions.getPartitionCount());
    String host = Server.MEMBER.split(":")[0];
    for (int i = 0; i < 128; i++) {
      assertEquals(host, partitions.getOwnerHost(i).getHostAddress());
      assertTrue(partitions.getBackupHosts(i).isEmpty());
    }
  }

  @Test
  void aPartitionThatIsNotThereIsRefused() {
    assertThrows(GSException.class, () -> store.getPartitionController().getContainerCount(128));
  }

  @Test
  void connectionsSeeEachOthersRowsAtOnce() throws Exception {
    Collection<Integer, Row> mine = collection("two", keyed(column("id", GSType.INTEGER), column("v", GSType.LONG)));
    try (GridStore other = Server.connect()) {
      Collection<Integer, Row> theirs = other.getCollection(name("two"));
      for (long i = 0; i < 50; i++) {
        mine.put(row(mine, 1, i));
        assertEquals(i, theirs.get(1).getLong(1));
      }
    }
  }

  @Test
  void aClosedConnectionRefuses() throws Exception {
    GridStore other = Server.connect();
    other.getContainerInfo("x");
    other.close();
    assertThrows(GSException.class, () -> other.getContainerInfo("x"));
  }

  @Test
  void hundredConnectionsComeAndGo() throws Exception {
    for (int i = 0; i < 100; i++) {
      try (GridStore other = Server.connect("applicationName", "many")) {
        assertNull(other.getContainerInfo(name("none")));
      }
    }
  }
}
