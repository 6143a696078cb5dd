// Package drivers tests an Aerospike server through the Go client. TARNDB_TEST_AEROSPIKE is host:port of the server;
// TARNDB_TEST_RESTART is a command that ends it with `kill` or `term` and returns once it is ready again.
package drivers

import (
	"net"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"testing"
	"time"

	as "github.com/aerospike/aerospike-client-go/v8"
	"github.com/aerospike/aerospike-client-go/v8/types"
)

const namespace = "test"

// connect gives a client that is patient.
func connect(t *testing.T) *as.Client {
	t.Helper()
	host, port, err := net.SplitHostPort(os.Getenv("TARNDB_TEST_AEROSPIKE"))
	if err != nil {
		t.Fatal("TARNDB_TEST_AEROSPIKE names the server: run scripts/drivers.sh aerospike-go")
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	policy := as.NewClientPolicy()
	policy.Timeout = 20 * time.Second
	client, failure := as.NewClientWithPolicy(policy, host, number)
	if failure != nil {
		t.Fatal(failure)
	}
	t.Cleanup(client.Close)
	return client
}

// fresh gives a key of a set that is called as the test; no record has it.
func fresh(t *testing.T, client *as.Client, name any) *as.Key {
	t.Helper()
	key, err := as.NewKey(namespace, t.Name(), name)
	must(t, err)
	_, err = client.Delete(nil, key)
	must(t, err)
	return key
}

func must(t *testing.T, err as.Error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused wants a request to fail with a result code.
func refused(t *testing.T, err as.Error, code types.ResultCode) {
	t.Helper()
	if err == nil || !err.Matches(code) {
		t.Fatalf("expected %v, got %v", types.ResultCodeToString(code), err)
	}
}

func equal(t *testing.T, got, expected any) {
	t.Helper()
	if !reflect.DeepEqual(got, expected) {
		t.Fatalf("got %#v, expected %#v", got, expected)
	}
}

// read gives the bins of a record.
func read(t *testing.T, client *as.Client, key *as.Key) as.BinMap {
	t.Helper()
	record, err := client.Get(nil, key)
	must(t, err)
	return record.Bins
}

// restart ends the server with `kill` or `term` and returns once it is ready again; the test is skipped without a command.
func restart(t *testing.T, how string) {
	t.Helper()
	command := os.Getenv("TARNDB_TEST_RESTART")
	if command == "" {
		t.Skip("the server is not ours")
	}
	if output, err := exec.Command("sh", "-c", command+" "+how).CombinedOutput(); err != nil {
		t.Fatalf("the server did not come back: %v\n%s", err, output)
	}
}

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited 30 s in vain: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
