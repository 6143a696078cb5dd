// Package drivers tests a CQL server through gocql: suites `go`, and `applications-go` and `scylla-cdc`, which compile this file, too. TARNDB_TEST_CQL is host:port of the server; TARNDB_TEST_RESTART is a
// command that ends it with `kill` or `term` and returns once it is ready again.
package drivers

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/gocql/gocql"
)

// cluster gives the configuration of a connection to the server under test.
func cluster(t *testing.T) *gocql.ClusterConfig {
	t.Helper()
	host, port, err := net.SplitHostPort(os.Getenv("TARNDB_TEST_CQL"))
	if err != nil {
		t.Fatal("TARNDB_TEST_CQL names the server: run it by scripts/drivers.sh")
	}
	configuration := gocql.NewCluster(host)
	if configuration.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	configuration.Timeout = 120 * time.Second
	configuration.ConnectTimeout = 120 * time.Second
	configuration.Consistency = gocql.One
	configuration.NumConns = 2
	configuration.ReconnectionPolicy = &gocql.ConstantReconnectionPolicy{MaxRetries: 1200, Interval: 100 * time.Millisecond}
	configuration.ReconnectInterval = 200 * time.Millisecond
	return configuration
}

func connect(t *testing.T, configuration *gocql.ClusterConfig) *gocql.Session {
	t.Helper()
	session, err := configuration.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

// connectToNewKeyspace gives a session that uses a keyspace of this name, which is empty.
func connectToNewKeyspace(t *testing.T, name string) *gocql.Session {
	t.Helper()
	setup := connect(t, cluster(t))
	run(t, setup, "DROP KEYSPACE IF EXISTS "+name)
	run(t, setup, fmt.Sprintf(
		"CREATE KEYSPACE %s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}", name))
	configuration := cluster(t)
	configuration.Keyspace = name
	return connect(t, configuration)
}

// run executes a statement of which only the success counts.
func run(t *testing.T, session *gocql.Session, statement string, values ...interface{}) {
	t.Helper()
	if err := session.Query(statement, values...).Exec(); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// restart ends the server with `kill` or `term` and returns once it is ready again; the test is skipped without a command.
func restart(t *testing.T, how string) {
	t.Helper()
	command := os.Getenv("TARNDB_TEST_RESTART")
	if command == "" {
		t.Skip("the server under test is not ours to restart")
	}
	if output, err := exec.Command("sh", "-c", command+" "+how).CombinedOutput(); err != nil {
		t.Fatalf("the server did not come back: %v\n%s", err, output)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(120 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited 120 s in vain: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
