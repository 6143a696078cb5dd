package drivers

import (
	"strconv"
	"testing"

	as "github.com/aerospike/aerospike-client-go/v8"
	"github.com/aerospike/aerospike-client-go/v8/types"
)

const records = 2000

// fill gives the keys of a set with records.
func fill(t *testing.T, client *as.Client) []*as.Key {
	t.Helper()
	policy := writes(0, 0)
	policy.SendKey = true
	keys := make([]*as.Key, records)
	for i := range keys {
		keys[i], _ = as.NewKey(namespace, t.Name(), i)
		must(t, client.Put(policy, keys[i], as.BinMap{"i": i, "text": "record"}))
	}
	return keys
}

// each wants the records of a set, each once and in any order; gives how many came.
func each(t *testing.T, set *as.Recordset, err as.Error, seen map[int]bool) int {
	t.Helper()
	must(t, err)
	count := 0
	for result := range set.Results() {
		must(t, result.Err)
		i := result.Record.Bins["i"].(int)
		if seen[i] {
			t.Fatalf("record %d comes twice", i)
		}
		equal(t, result.Record.Key.Value().String(), strconv.Itoa(i))
		seen[i] = true
		count++
	}
	return count
}

func TestBatches(t *testing.T) {
	client := connect(t)
	keys := fill(t, client)
	missing := fresh(t, client, "missing")
	some := []*as.Key{keys[7], missing, keys[8]}
	exist, err := client.BatchExists(nil, some)
	must(t, err)
	equal(t, exist, []bool{true, false, true})
	found, err := client.BatchGet(nil, some, "i")
	must(t, err)
	equal(t, found[0].Bins, as.BinMap{"i": 7})
	equal(t, found[1] == nil, true)
	equal(t, found[2].Bins, as.BinMap{"i": 8})
	all, err := client.BatchGet(nil, keys)
	must(t, err)
	for i, record := range all {
		equal(t, record.Bins, as.BinMap{"i": i, "text": "record"})
	}
	batch := []as.BatchRecordIfc{
		as.NewBatchWrite(nil, keys[0], as.AddOp(as.NewBin("i", 100)), as.GetBinOp("i")),
		as.NewBatchRead(nil, keys[1], []string{"text"}),
		as.NewBatchDelete(nil, keys[2]),
		as.NewBatchDelete(nil, missing),
		as.NewBatchWrite(nil, missing, as.ListAppendOp("list", 5)),
	}
	must(t, client.BatchOperate(nil, batch))
	equal(t, batch[0].BatchRec().Record.Bins["i"], any(as.OpResults{nil, 100}))
	equal(t, batch[1].BatchRec().Record.Bins, as.BinMap{"text": "record"})
	equal(t, batch[2].BatchRec().ResultCode, types.OK)
	equal(t, batch[3].BatchRec().ResultCode, types.KEY_NOT_FOUND_ERROR)
	equal(t, batch[4].BatchRec().ResultCode, types.OK)
	equal(t, read(t, client, missing), as.BinMap{"list": []any{5}})
	deleted, err := client.BatchDelete(nil, nil, keys[:5])
	must(t, err)
	for i, record := range deleted {
		expected := types.OK
		if i == 2 {
			expected = types.KEY_NOT_FOUND_ERROR
		}
		equal(t, record.ResultCode, expected)
	}
}

func TestScansAndQueriesSeeEveryRecordOnce(t *testing.T) {
	client := connect(t)
	fill(t, client)
	set, err := client.ScanAll(nil, namespace, t.Name())
	equal(t, each(t, set, err, map[int]bool{}), records)
	set, err = client.Query(nil, as.NewStatement(namespace, t.Name(), "i"))
	equal(t, each(t, set, err, map[int]bool{}), records)
	seen := map[int]bool{}
	for begin := 0; begin < 4096; begin += 2048 {
		set, err = client.ScanPartitions(nil, as.NewPartitionFilterByRange(begin, 2048), namespace, t.Name())
		each(t, set, err, seen)
	}
	equal(t, len(seen), records)
	seen = map[int]bool{}
	policy := as.NewScanPolicy()
	policy.MaxRecords = 600
	filter := as.NewPartitionFilterAll()
	for rounds := 0; !filter.IsDone(); rounds++ {
		if rounds > 20 {
			t.Fatal("a scan of 2000 by 600 does not end")
		}
		set, err = client.ScanPartitions(policy, filter, namespace, t.Name())
		each(t, set, err, seen)
	}
	equal(t, len(seen), records)
	must(t, client.Truncate(nil, namespace, t.Name(), nil))
	until(t, "the set is empty", func() bool {
		set, err := client.ScanAll(nil, namespace, t.Name())
		return each(t, set, err, map[int]bool{}) == 0
	})
}
