package drivers

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gocql/gocql"
)

func TestSchemaChangesReachASessionThatDidNotMakeThem(t *testing.T) {
	session := connectToNewKeyspace(t, "go_events")
	watcher := connect(t, cluster(t))
	// gocql keeps what it has read of a keyspace until an event says that it changed.
	if _, err := watcher.KeyspaceMetadata("go_events"); err != nil {
		t.Fatal(err)
	}
	tableIsKnown := func() bool {
		metadata, err := watcher.KeyspaceMetadata("go_events")
		if err != nil {
			t.Fatal(err)
		}
		table, known := metadata.Tables["seen"]
		return known && len(table.PartitionKey) == 2 && len(table.ClusteringColumns) == 1
	}
	run(t, session, "CREATE TABLE seen (a int, b text, c int, v text, PRIMARY KEY ((a, b), c))")
	until(t, "the new table is in the other session's metadata", tableIsKnown)
	run(t, session, "DROP TABLE seen")
	until(t, "the dropped table leaves the other session's metadata", func() bool { return !tableIsKnown() })
}

func TestRowsPassOverTLS(t *testing.T) {
	authority := os.Getenv("TARNDB_TEST_CA")
	if authority == "" {
		t.Skip("the server under test has no certificate")
	}
	configuration := cluster(t)
	configuration.SslOpts = &gocql.SslOptions{CaPath: authority, EnableHostVerification: true}
	session := connect(t, configuration)
	run(t, session, "CREATE KEYSPACE IF NOT EXISTS go_tls WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
	run(t, session, "CREATE TABLE IF NOT EXISTS go_tls.t (k int PRIMARY KEY, v text)")
	for key := 0; key < 100; key++ {
		run(t, session, "INSERT INTO go_tls.t (k, v) VALUES (?, ?)", key, strings.Repeat("x", 10000))
	}
	count, iterator := 0, session.Query("SELECT k, v FROM go_tls.t").PageSize(30).Iter()
	var key int
	var value string
	for iterator.Scan(&key, &value) {
		if len(value) == 10000 {
			count++
		}
	}
	if err := iterator.Close(); err != nil || count != 100 {
		t.Fatalf("%d rows: %v", count, err)
	}
}

func TestRestartLosesNothing(t *testing.T) {
	if os.Getenv("TARNDB_TEST_RESTART") == "" {
		t.Skip("the server under test is not ours to restart")
	}
	for _, how := range []string{"kill", "term"} {
		session := connectToNewKeyspace(t, "go_restart_"+how)
		run(t, session, "CREATE TABLE t (k int PRIMARY KEY, v text)")
		for key := 0; key < 1000; key++ {
			run(t, session, "INSERT INTO t (k, v) VALUES (?, ?)", key, fmt.Sprint("value ", key))
		}
		restart(t, how)
		until(t, "the session is connected again", func() bool {
			return session.Query("INSERT INTO t (k, v) VALUES (?, ?)", 1000, "after").Exec() == nil
		})
		seen := map[int]string{}
		iterator := session.Query("SELECT k, v FROM t").Iter()
		var key int
		var value string
		for iterator.Scan(&key, &value) {
			seen[key] = value
		}
		if err := iterator.Close(); err != nil {
			t.Fatal(err)
		}
		for key := 0; key < 1000; key++ {
			if seen[key] != fmt.Sprint("value ", key) {
				t.Fatalf("%s: key %d has %q", how, key, seen[key])
			}
		}
		if len(seen) != 1001 || seen[1000] != "after" {
			t.Fatalf("%s: %d rows", how, len(seen))
		}
	}
}
