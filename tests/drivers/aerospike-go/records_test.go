package drivers

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	as "github.com/aerospike/aerospike-client-go/v8"
	"github.com/aerospike/aerospike-client-go/v8/types"
)

func TestClientConnects(t *testing.T) {
	client := connect(t)
	equal(t, client.IsConnected(), true)
	nodes := client.GetNodes()
	equal(t, len(nodes), 1)
	info, err := nodes[0].RequestInfo(infos(), "node", "build", "namespaces", "sets/"+namespace)
	must(t, err)
	equal(t, info["node"], nodes[0].GetName())
	if info["build"] == "" || info["namespaces"] == "" {
		t.Fatalf("%v", info)
	}
}

func TestEveryTypeComesBack(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "types")
	bins := as.BinMap{
		"int":    math.MinInt64,
		"double": -0.25,
		"string": "päckchen",
		"empty":  "",
		"blob":   []byte{0, 1, 0xff},
		"bool":   true,
		"list":   []any{1, "two", 3.5, nil, []any{true}},
		"map":    map[any]any{"a": 1, 2: "b", "nested": map[any]any{1: 2}},
		"geo":    as.GeoJSONValue(`{"type":"Point","coordinates":[1.5,2.5]}`),
	}
	must(t, client.Put(nil, key, bins))
	equal(t, read(t, client, key), bins)
	record, err := client.Get(nil, key, "int", "missing")
	must(t, err)
	equal(t, record.Bins, as.BinMap{"int": math.MinInt64})
	header, err := client.GetHeader(nil, key)
	must(t, err)
	equal(t, header.Generation, uint32(1))
}

func TestKeysOfEveryType(t *testing.T) {
	client := connect(t)
	for i, name := range []any{1, "1", []byte{0, 0, 0, 0, 0, 0, 0, 1}} {
		must(t, client.PutBins(nil, fresh(t, client, name), as.NewBin("i", i)))
	}
	for i, name := range []any{1, "1", []byte{0, 0, 0, 0, 0, 0, 0, 1}} {
		key, _ := as.NewKey(namespace, t.Name(), name)
		equal(t, read(t, client, key), as.BinMap{"i": i})
	}
}

func TestPutDeleteAndExists(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "key")
	exists := func() bool {
		found, err := client.Exists(nil, key)
		must(t, err)
		return found
	}
	equal(t, exists(), false)
	_, err := client.Get(nil, key)
	refused(t, err, types.KEY_NOT_FOUND_ERROR)
	must(t, client.Put(nil, key, as.BinMap{"a": 1, "b": 2}))
	must(t, client.Put(nil, key, as.BinMap{"b": "two", "c": 3.0}))
	equal(t, read(t, client, key), as.BinMap{"a": 1, "b": "two", "c": 3.0})
	must(t, client.Put(nil, key, as.BinMap{"b": nil}))
	equal(t, read(t, client, key), as.BinMap{"a": 1, "c": 3.0})
	equal(t, exists(), true)
	durable := writes(0, 0)
	durable.DurableDelete = true
	existed, err := client.Delete(durable, key)
	must(t, err)
	equal(t, existed, true)
	existed, err = client.Delete(nil, key)
	must(t, err)
	equal(t, existed, false)
	refused(t, client.Touch(nil, key), types.KEY_NOT_FOUND_ERROR)
}

func TestGenerationsAreExpected(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "key")
	must(t, client.Put(nil, key, as.BinMap{"a": 1}))
	must(t, client.Put(nil, key, as.BinMap{"a": 2}))
	policy := writes(2, 0)
	policy.GenerationPolicy = as.EXPECT_GEN_EQUAL
	must(t, client.Put(policy, key, as.BinMap{"a": 3}))
	refused(t, client.Put(policy, key, as.BinMap{"a": 4}), types.GENERATION_ERROR)
	_, err := client.Delete(policy, key)
	refused(t, err, types.GENERATION_ERROR)
	policy.GenerationPolicy = as.EXPECT_GEN_GT
	refused(t, client.Put(policy, key, as.BinMap{"a": 4}), types.GENERATION_ERROR)
	policy.Generation = 9
	must(t, client.Put(policy, key, as.BinMap{"a": 5}))
	equal(t, read(t, client, key), as.BinMap{"a": 5})
}

func TestRecordsAreCreatedUpdatedAndReplaced(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "key")
	with := func(action as.RecordExistsAction) *as.WritePolicy {
		policy := writes(0, 0)
		policy.RecordExistsAction = action
		return policy
	}
	refused(t, client.Put(with(as.UPDATE_ONLY), key, as.BinMap{"a": 1}), types.KEY_NOT_FOUND_ERROR)
	refused(t, client.Put(with(as.REPLACE_ONLY), key, as.BinMap{"a": 1}), types.KEY_NOT_FOUND_ERROR)
	must(t, client.Put(with(as.CREATE_ONLY), key, as.BinMap{"a": 1, "b": 1}))
	refused(t, client.Put(with(as.CREATE_ONLY), key, as.BinMap{"a": 2}), types.KEY_EXISTS_ERROR)
	must(t, client.Put(with(as.UPDATE_ONLY), key, as.BinMap{"a": 3}))
	equal(t, read(t, client, key), as.BinMap{"a": 3, "b": 1})
	must(t, client.Put(with(as.REPLACE_ONLY), key, as.BinMap{"a": 4}))
	equal(t, read(t, client, key), as.BinMap{"a": 4})
	must(t, client.Put(with(as.REPLACE), key, as.BinMap{"c": 5}))
	equal(t, read(t, client, key), as.BinMap{"c": 5})
}

func TestTimesToLive(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "key")
	lives := func(seconds uint32) {
		t.Helper()
		header, err := client.GetHeader(nil, key)
		must(t, err)
		if header.Expiration > seconds+1 || header.Expiration+60 < seconds {
			t.Fatalf("%d of %d s left", header.Expiration, seconds)
		}
	}
	must(t, client.Put(writes(0, 1000), key, as.BinMap{"a": 1}))
	lives(1000)
	must(t, client.Put(writes(0, as.TTLDontUpdate), key, as.BinMap{"a": 2}))
	lives(1000)
	must(t, client.Touch(writes(0, 5000), key))
	lives(5000)
	must(t, client.Put(writes(0, as.TTLDontExpire), key, as.BinMap{"a": 3}))
	header, err := client.GetHeader(nil, key)
	must(t, err)
	equal(t, header.Expiration, uint32(math.MaxUint32))
	must(t, client.Put(writes(0, 1), key, as.BinMap{"a": 4}))
	until(t, "a record with a second to live is gone", func() bool {
		found, err := client.Exists(nil, key)
		must(t, err)
		return !found
	})
}

func TestAddAppendAndPrepend(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "key")
	must(t, client.Add(nil, key, as.BinMap{"n": 10, "d": 1.5}))
	must(t, client.Add(nil, key, as.BinMap{"n": 5, "d": -0.5}))
	must(t, client.Append(nil, key, as.BinMap{"s": "World"}))
	must(t, client.Append(nil, key, as.BinMap{"s": "!"}))
	must(t, client.Prepend(nil, key, as.BinMap{"s": "Hello "}))
	equal(t, read(t, client, key), as.BinMap{"n": 15, "d": 1.0, "s": "Hello World!"})
	refused(t, client.Add(nil, key, as.BinMap{"s": 1}), types.BIN_TYPE_ERROR)
	refused(t, client.Append(nil, key, as.BinMap{"n": "text"}), types.BIN_TYPE_ERROR)
}

func TestOperationsAreDoneInOrderAndAllOrNone(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "key")
	must(t, client.Put(nil, key, as.BinMap{"i": 7, "s": "text"}))
	record, err := client.Operate(nil, key,
		as.AddOp(as.NewBin("i", 4)), as.PutOp(as.NewBin("s", "new")), as.GetBinOp("i"), as.AppendOp(as.NewBin("s", "!")), as.GetBinOp("s"))
	must(t, err)
	equal(t, record.Bins, as.BinMap{"i": 11, "s": "new!"})
	_, err = client.Operate(nil, key, as.PutOp(as.NewBin("i", 0)), as.AddOp(as.NewBin("s", 1)))
	refused(t, err, types.BIN_TYPE_ERROR)
	equal(t, read(t, client, key), as.BinMap{"i": 11, "s": "new!"})
	record, err = client.Operate(nil, key, as.GetOp(), as.TouchOp())
	must(t, err)
	equal(t, record.Generation, uint32(3))
	_, err = client.Operate(nil, key, as.DeleteOp())
	must(t, err)
	found, err := client.Exists(nil, key)
	must(t, err)
	equal(t, found, false)
}

func TestWhatCannotBeIsRefused(t *testing.T) {
	client := connect(t)
	key := fresh(t, client, "key")
	elsewhere, err := as.NewKey("nowhere", "set", 1)
	must(t, err)
	refused(t, client.Put(nil, elsewhere, as.BinMap{"a": 1}), types.INVALID_NAMESPACE)
	refused(t, client.Put(nil, key, as.BinMap{"a": make([]byte, 9<<20)}), types.RECORD_TOO_BIG)
	must(t, client.Put(nil, key, as.BinMap{"fifteen_letters": 1}))
	equal(t, read(t, client, key), as.BinMap{"fifteen_letters": 1})
}

func TestRestartKeepsWhatWasAcknowledged(t *testing.T) {
	client := connect(t)
	for _, how := range []string{"kill", "term"} {
		gone := fresh(t, client, "gone")
		must(t, client.Put(nil, gone, as.BinMap{"a": 1}))
		_, err := client.Delete(nil, gone)
		must(t, err)
		acknowledged := make(chan int)
		var isBack atomic.Bool
		started := make(chan struct{})
		go func() {
			for i := 0; ; i++ {
				key, _ := as.NewKey(namespace, t.Name()+how, i)
				// The server is gone: what became of this write is unknown.
				if err := client.Put(nil, key, as.BinMap{"i": i, "list": []any{i, "x"}}); err != nil {
					acknowledged <- i
					return
				}
				// It may have been tried again until the server was back.
				if isBack.Load() || i == 200_000 {
					acknowledged <- i + 1
					return
				}
				if i == 200 {
					close(started)
				}
			}
		}()
		<-started
		restart(t, how)
		isBack.Store(true)
		var count int
		select {
		case count = <-acknowledged:
		case <-time.After(2 * patience):
			t.Fatal("the writer goes on for ever")
		}
		until(t, "the client is back", func() bool {
			_, err := client.Exists(nil, gone)
			return err == nil
		})
		for i := 0; i < count; i++ {
			key, _ := as.NewKey(namespace, t.Name()+how, i)
			equal(t, read(t, client, key), as.BinMap{"i": i, "list": []any{i, "x"}})
		}
		found, err := client.Exists(nil, gone)
		must(t, err)
		equal(t, found, false)
	}
}
