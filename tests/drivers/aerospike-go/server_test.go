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

// patience is how long a request may take: a slow machine lets it wait for longer than the client's second.
const patience = 120 * time.Second

// endpoint gives the server under test.
func endpoint(t *testing.T) *as.Host {
	t.Helper()
	host, port, err := net.SplitHostPort(os.Getenv("TARNDB_TEST_AEROSPIKE"))
	if err != nil {
		t.Fatal("TARNDB_TEST_AEROSPIKE names the server: run scripts/drivers.sh aerospike-go")
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return as.NewHost(host, number)
}

// connect gives a client that is patient.
func connect(t *testing.T) *as.Client {
	t.Helper()
	policy := as.NewClientPolicy()
	policy.Timeout = patience
	client, failure := as.NewClientWithPolicyAndHost(policy, endpoint(t))
	if failure != nil {
		t.Fatal(failure)
	}
	t.Cleanup(client.Close)
	patient(client)
	return client
}

// patient has a client's requests wait for longer than its second.
func patient(client *as.Client) {
	client.DefaultPolicy = reads()
	client.DefaultWritePolicy = writes(0, 0)
	client.DefaultBatchPolicy.TotalTimeout, client.DefaultBatchPolicy.SocketTimeout = patience, patience
	client.DefaultScanPolicy.SocketTimeout, client.DefaultQueryPolicy.SocketTimeout = patience, patience
	client.DefaultTxnVerifyPolicy.TotalTimeout, client.DefaultTxnVerifyPolicy.SocketTimeout = patience, patience
	client.DefaultTxnRollPolicy.TotalTimeout, client.DefaultTxnRollPolicy.SocketTimeout = patience, patience
	client.DefaultInfoPolicy = infos()
}

// reads gives the client's policy of reads, but patient.
func reads() *as.BasePolicy {
	policy := as.NewPolicy()
	policy.TotalTimeout, policy.SocketTimeout = patience, patience
	return policy
}

// writes gives the client's policy of writes, but patient.
func writes(generation, expiration uint32) *as.WritePolicy {
	policy := as.NewWritePolicy(generation, expiration)
	policy.TotalTimeout, policy.SocketTimeout = patience, patience
	return policy
}

// infos gives a policy of requests for information that is patient.
func infos() *as.InfoPolicy {
	return &as.InfoPolicy{Timeout: patience}
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
	deadline := time.Now().Add(patience)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
