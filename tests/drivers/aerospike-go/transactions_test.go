package drivers

import (
	"testing"

	as "github.com/aerospike/aerospike-client-go/v8"
	"github.com/aerospike/aerospike-client-go/v8/types"
)

// begin gives a transaction that lives for longer than the server's ten seconds.
func begin() *as.Txn {
	transaction := as.NewTxn()
	transaction.SetTimeout(patience)
	return transaction
}

// within is the policy of writes of a transaction.
func within(transaction *as.Txn) *as.WritePolicy {
	policy := writes(0, 0)
	policy.Txn = transaction
	return policy
}

func seen(t *testing.T, client *as.Client, transaction *as.Txn, key *as.Key) any {
	t.Helper()
	policy := reads()
	policy.Txn = transaction
	record, err := client.Get(policy, key)
	if err != nil {
		refused(t, err, types.KEY_NOT_FOUND_ERROR)
		return nil
	}
	return record.Bins[bin]
}

func TestTransactionsAreCommittedOrAborted(t *testing.T) {
	client := connect(t)
	for _, commits := range []bool{true, false} {
		old, gone, made := fresh(t, client, "old"), fresh(t, client, "gone"), fresh(t, client, "made")
		must(t, client.Put(nil, old, as.BinMap{bin: 1}))
		must(t, client.Put(nil, gone, as.BinMap{bin: 1}))
		transaction := begin()
		must(t, client.Put(within(transaction), old, as.BinMap{bin: 2}))
		_, err := client.Delete(within(transaction), gone)
		must(t, err)
		must(t, client.Put(within(transaction), made, as.BinMap{bin: 2}))
		refused(t, client.Put(nil, old, as.BinMap{bin: 3}), types.MRT_BLOCKED)
		before, after := []any{1, 1, nil}, []any{2, nil, 2}
		equal(t, []any{seen(t, client, nil, old), seen(t, client, nil, gone), seen(t, client, nil, made)}, before)
		equal(t, []any{seen(t, client, transaction, old), seen(t, client, transaction, gone), seen(t, client, transaction, made)}, after)
		expected := before
		if commits {
			status, err := client.Commit(transaction)
			must(t, err)
			equal(t, status, as.CommitStatusOK)
			expected = after
		} else {
			status, err := client.Abort(transaction)
			must(t, err)
			equal(t, status, as.AbortStatusOK)
		}
		equal(t, []any{seen(t, client, nil, old), seen(t, client, nil, gone), seen(t, client, nil, made)}, expected)
	}
}

func TestWhatATransactionHasReadMustNotChange(t *testing.T) {
	client := connect(t)
	read, written := fresh(t, client, "read"), fresh(t, client, "written")
	must(t, client.Put(nil, read, as.BinMap{bin: 1}))
	transaction := begin()
	equal(t, seen(t, client, transaction, read), 1)
	must(t, client.Put(within(transaction), written, as.BinMap{bin: 2}))
	must(t, client.Put(nil, read, as.BinMap{bin: 3}))
	if _, err := client.Commit(transaction); err == nil {
		t.Fatal("it was committed")
	}
	equal(t, seen(t, client, nil, written), nil)
}
