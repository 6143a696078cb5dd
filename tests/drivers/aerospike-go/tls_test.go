package drivers

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"testing"

	as "github.com/aerospike/aerospike-client-go/v8"
)

// connectByTLS gives a client that trusts these authorities to sign the certificate of `name`.
func connectByTLS(t *testing.T, authorities *x509.CertPool, name string) (*as.Client, as.Error) {
	t.Helper()
	policy := as.NewClientPolicy()
	policy.Timeout = patience
	policy.TlsConfig = &tls.Config{RootCAs: authorities}
	host := endpoint(t)
	host.TLSName = name
	client, err := as.NewClientWithPolicyAndHost(policy, host)
	if err == nil {
		t.Cleanup(client.Close)
		patient(client)
	}
	return client, err
}

// authority gives the one that has signed the server's certificate; the test is skipped where it has none.
func authority(t *testing.T) *x509.CertPool {
	t.Helper()
	file := os.Getenv("TARNDB_TEST_CA")
	if file == "" {
		t.Skip("the server under test has no certificate")
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		t.Fatalf("%s has no certificate", file)
	}
	return authorities
}

func TestRecordsPassOverTLS(t *testing.T) {
	encrypted, err := connectByTLS(t, authority(t), "localhost")
	must(t, err)
	plain, value := connect(t), strings.Repeat("x", 10_000)
	keys := make([]*as.Key, 100)
	for number := range keys {
		keys[number] = fresh(t, encrypted, number)
		must(t, encrypted.Put(nil, keys[number], as.BinMap{bin: value}))
		equal(t, read(t, plain, keys[number]), as.BinMap{bin: value})
	}
	records, err := encrypted.BatchGet(nil, keys)
	must(t, err)
	for _, record := range records {
		equal(t, record.Bins, as.BinMap{bin: value})
	}
}

func TestAnotherAuthorityOrNameIsNotTrusted(t *testing.T) {
	trusted := authority(t)
	for _, untrusted := range []struct {
		authorities *x509.CertPool
		name, why   string
	}{
		{x509.NewCertPool(), "localhost", "unknown authority"},
		{trusted, "elsewhere.example.org", "elsewhere.example.org"},
	} {
		if _, err := connectByTLS(t, untrusted.authorities, untrusted.name); err == nil || !strings.Contains(err.Error(), untrusted.why) {
			t.Fatalf("expected %s, got %v", untrusted.why, err)
		}
	}
}
