package drivers

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"gopkg.in/inf.v0"
)

func TestEveryNativeTypeComesBackEqual(t *testing.T) {
	session := connectToNewKeyspace(t, "go_types")
	timeuuid, _ := gocql.ParseUUID("4f1a6a80-2b5c-11ee-8c90-0242ac120002")
	large, _ := new(big.Int).SetString("-1606938044258990275541962092341162602522202993782792835301376", 10)
	for number, value := range []struct {
		kind  string
		value interface{}
	}{
		{"ascii", "plain"},
		{"bigint", int64(math.MinInt64)},
		{"blob", []byte{0, 255, 7}},
		{"boolean", true},
		{"date", time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)},
		{"decimal", *inf.NewDec(-150, 2)},
		{"double", -1.5e300},
		{"duration", gocql.Duration{Months: 14, Days: 3, Nanoseconds: 4000000005}},
		{"float", float32(0.5)},
		{"inet", net.ParseIP("2001:db8::1")},
		{"int", math.MaxInt32},
		{"smallint", int16(math.MinInt16)},
		{"text", "Bergsee äöü 湖 🏔"},
		{"time", 86399999999999 * time.Nanosecond},
		{"timestamp", time.Date(1969, 12, 31, 23, 59, 59, 999000000, time.UTC)},
		{"timeuuid", timeuuid},
		{"tinyint", int8(-128)},
		{"uuid", gocql.UUID{7}},
		{"varint", *large},
		{"list<int>", []int{3, 1, 3}},
		{"set<text>", []string{"a", "b"}},
		{"map<text, int>", map[string]int{"a": 1, "b": -1}},
		{"frozen<map<text, frozen<list<int>>>>", map[string][]int{"a": {1, 2}}},
		{"list<frozen<set<int>>>", [][]int{{1, 2}, {3}}},
	} {
		table := fmt.Sprintf("t%d", number)
		run(t, session, fmt.Sprintf("CREATE TABLE %s (k int PRIMARY KEY, v %s)", table, value.kind))
		run(t, session, fmt.Sprintf("INSERT INTO %s (k, v) VALUES (?, ?)", table), 1, value.value)
		read := reflect.New(reflect.TypeOf(value.value))
		if err := session.Query(fmt.Sprintf("SELECT v FROM %s WHERE k = ?", table), 1).Scan(read.Interface()); err != nil {
			t.Fatalf("%s: %v", value.kind, err)
		}
		if fmt.Sprint(read.Elem().Interface()) != fmt.Sprint(value.value) {
			t.Errorf("%s: wrote %v, read %v", value.kind, value.value, read.Elem().Interface())
		}
		run(t, session, fmt.Sprintf("INSERT INTO %s (k, v) VALUES (?, ?)", table), 1, nil)
		null := reflect.New(reflect.PtrTo(reflect.TypeOf(value.value)))
		if err := session.Query(fmt.Sprintf("SELECT v FROM %s WHERE k = ?", table), 1).Scan(null.Interface()); err != nil {
			t.Fatalf("%s: %v", value.kind, err)
		}
		if !null.Elem().IsNil() {
			t.Errorf("%s: null was not written", value.kind)
		}
	}
}

func TestUnsetLeavesTheCellAlone(t *testing.T) {
	session := connectToNewKeyspace(t, "go_unset")
	run(t, session, "CREATE TABLE t (k int PRIMARY KEY, v int, w int)")
	run(t, session, "INSERT INTO t (k, v, w) VALUES (?, ?, ?)", 1, 1, 1)
	run(t, session, "INSERT INTO t (k, v, w) VALUES (?, ?, ?)", 1, gocql.UnsetValue, 2)
	var v, w int
	if err := session.Query("SELECT v, w FROM t").Scan(&v, &w); err != nil || v != 1 || w != 2 {
		t.Fatal(v, w, err)
	}
}

func TestEveryProtocolVersionAndCompression(t *testing.T) {
	session := connectToNewKeyspace(t, "go_versions")
	run(t, session, "CREATE TABLE t (k int PRIMARY KEY, v text)")
	text := strings.Repeat("a tarn is a small mountain lake ", 5000)
	for _, version := range []int{3, 4} {
		for _, compressor := range []gocql.Compressor{nil, gocql.SnappyCompressor{}} {
			configuration := cluster(t)
			configuration.ProtoVersion = version
			configuration.Compressor = compressor
			configuration.Keyspace = "go_versions"
			session := connect(t, configuration)
			run(t, session, "INSERT INTO t (k, v) VALUES (?, ?)", version, text)
			var read string
			if err := session.Query("SELECT v FROM t WHERE k = ?", version).Scan(&read); err != nil || read != text {
				t.Fatalf("v%d %v: %d bytes came back, %v", version, compressor, len(read), err)
			}
		}
	}
}

func TestPagesGiveEveryRowOnceAndResumeInAnotherSession(t *testing.T) {
	session := connectToNewKeyspace(t, "go_paging")
	run(t, session, "CREATE TABLE t (k int, c int, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC)")
	const rows = 3000
	for start := 0; start < rows; start += 100 {
		batch := session.NewBatch(gocql.UnloggedBatch)
		for c := start; c < start+100; c++ {
			batch.Query("INSERT INTO t (k, c) VALUES (?, ?)", 1, c)
		}
		if err := session.ExecuteBatch(batch); err != nil {
			t.Fatal(err)
		}
	}
	for _, size := range []int{7, 1000, 5000} {
		iterator := session.Query("SELECT c FROM t").PageSize(size).Iter()
		next, c := rows-1, 0
		for iterator.Scan(&c) {
			if c != next {
				t.Fatalf("page size %d: %d instead of %d", size, c, next)
			}
			next--
		}
		if err := iterator.Close(); err != nil || next != -1 {
			t.Fatalf("page size %d: ended before %d, %v", size, next, err)
		}
	}
	var state []byte
	next := rows - 1
	for {
		other := connect(t, cluster(t))
		iterator := other.Query("SELECT c FROM go_paging.t WHERE k = 1").PageSize(1000).PageState(state).Iter()
		state = iterator.PageState()
		for c := 0; iterator.WillSwitchPage() || iterator.Scan(&c); next-- {
			if iterator.WillSwitchPage() {
				break
			}
			if c != next {
				t.Fatalf("%d instead of %d", c, next)
			}
		}
		if len(state) == 0 {
			break
		}
		other.Close()
	}
	if next != -1 {
		t.Fatalf("ended before %d", next)
	}
}

func TestBatchesWriteAllTheirStatements(t *testing.T) {
	session := connectToNewKeyspace(t, "go_batches")
	run(t, session, "CREATE TABLE t (k int, c int, v text, PRIMARY KEY (k, c))")
	run(t, session, "CREATE TABLE n (k int PRIMARY KEY, c counter)")
	for key, kind := range []gocql.BatchType{gocql.LoggedBatch, gocql.UnloggedBatch} {
		batch := session.NewBatch(kind)
		batch.Query("INSERT INTO t (k, c, v) VALUES (?, ?, ?)", key, 1, "one")
		batch.Query("INSERT INTO t (k, c, v) VALUES (?, ?, ?)", key, 2, "two")
		batch.Query(fmt.Sprintf("DELETE FROM t WHERE k = %d AND c = 3", key))
		if err := session.ExecuteBatch(batch.WithTimestamp(1234)); err != nil {
			t.Fatal(err)
		}
		var rows, written int64
		if err := session.Query("SELECT count(*) FROM t WHERE k = ?", key).Scan(&rows); err != nil || rows != 2 {
			t.Fatal(rows, err)
		}
		err := session.Query("SELECT writetime(v) FROM t WHERE k = ? LIMIT 1", key).Scan(&written)
		if err != nil || written != 1234 {
			t.Fatal(written, err)
		}
	}
	batch := session.NewBatch(gocql.CounterBatch)
	batch.Query("UPDATE n SET c = c + ? WHERE k = ?", int64(2), 1)
	batch.Query("UPDATE n SET c = c + ? WHERE k = ?", int64(3), 1)
	if err := session.ExecuteBatch(batch); err != nil {
		t.Fatal(err)
	}
	var count int64
	if err := session.Query("SELECT c FROM n WHERE k = 1").Scan(&count); err != nil || count != 5 {
		t.Fatal(count, err)
	}
}

func TestLightweightTransactionsApplyOnce(t *testing.T) {
	session := connectToNewKeyspace(t, "go_lwt")
	run(t, session, "CREATE TABLE t (k int, c int, v int, PRIMARY KEY (k, c))")
	seen := map[string]interface{}{}
	applied, err := session.Query("INSERT INTO t (k, c, v) VALUES (?, ?, ?) IF NOT EXISTS", 1, 1, 1).MapScanCAS(seen)
	if err != nil || !applied {
		t.Fatal(applied, err)
	}
	seen = map[string]interface{}{}
	applied, err = session.Query("INSERT INTO t (k, c, v) VALUES (?, ?, ?) IF NOT EXISTS", 1, 1, 2).MapScanCAS(seen)
	if err != nil || applied || seen["v"] != 1 {
		t.Fatal(applied, seen, err)
	}
	var current int
	applied, err = session.Query("UPDATE t SET v = ? WHERE k = ? AND c = ? IF v = ?", 5, 1, 1, 9).ScanCAS(&current)
	if err != nil || applied || current != 1 {
		t.Fatal(applied, current, err)
	}
	batch := session.NewBatch(gocql.LoggedBatch)
	batch.Query("UPDATE t SET v = 6 WHERE k = 1 AND c = 1 IF v = 1")
	batch.Query("INSERT INTO t (k, c, v) VALUES (1, 2, 2) IF NOT EXISTS")
	applied, iterator, err := session.MapExecuteBatchCAS(batch, map[string]interface{}{})
	if err != nil || !applied {
		t.Fatal(applied, err)
	}
	_ = iterator.Close()
	var rows int64
	if err := session.Query("SELECT count(*) FROM t WHERE k = 1").Scan(&rows); err != nil || rows != 2 {
		t.Fatal(rows, err)
	}
}

func TestErrorsHaveTheirCodes(t *testing.T) {
	session := connectToNewKeyspace(t, "go_errors")
	run(t, session, "CREATE TABLE t (k int PRIMARY KEY)")
	for statement, code := range map[string]int{
		"SELECT * FROM no_such_table":         gocql.ErrCodeInvalid,
		"SELECT nope FROM t":                  gocql.ErrCodeInvalid,
		"SELEC":                               gocql.ErrCodeSyntax,
		"CREATE TABLE t (k int PRIMARY KEY)":  gocql.ErrCodeAlreadyExists,
		"INSERT INTO t (k) VALUES ('x')":      gocql.ErrCodeInvalid,
		"CREATE KEYSPACE k WITH replication=": gocql.ErrCodeSyntax,
	} {
		var answer gocql.RequestError
		if err := session.Query(statement).Exec(); !errors.As(err, &answer) || answer.Code() != code {
			t.Errorf("%s: %v instead of code %#x", statement, err, code)
		}
	}
}

func TestCustomPayloadAndWarnings(t *testing.T) {
	session := connectToNewKeyspace(t, "go_payload")
	run(t, session, "CREATE TABLE t (k int PRIMARY KEY)")
	query := session.Query("SELECT count(*) FROM t").CustomPayload(map[string][]byte{"tarn": {1, 2}})
	iterator := query.Iter()
	if warnings := iterator.Warnings(); len(warnings) == 0 {
		t.Error("a count over the whole table came without a warning")
	}
	if err := iterator.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRequestsInFlightAreAnsweredToTheirAskers(t *testing.T) {
	session := connectToNewKeyspace(t, "go_concurrent")
	run(t, session, "CREATE TABLE t (k int PRIMARY KEY, v int)")
	const keys, workers = 4000, 200
	failures := make(chan error, workers)
	for worker := 0; worker < workers; worker++ {
		go func(worker int) {
			for key := worker; key < keys; key += workers {
				if err := session.Query("INSERT INTO t (k, v) VALUES (?, ?)", key, key*3).Exec(); err != nil {
					failures <- err
					return
				}
				var value int
				if err := session.Query("SELECT v FROM t WHERE k = ?", key).Scan(&value); err != nil || value != key*3 {
					failures <- fmt.Errorf("key %d: %d, %v", key, value, err)
					return
				}
			}
			failures <- nil
		}(worker)
	}
	for worker := 0; worker < workers; worker++ {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
}

func TestTokensRouteToTheirRows(t *testing.T) {
	session := connectToNewKeyspace(t, "go_tokens")
	run(t, session, "CREATE TABLE t (k text PRIMARY KEY)")
	var expected []string
	for n := 0; n < 100; n++ {
		key := fmt.Sprintf("key %d", n)
		expected = append(expected, key)
		run(t, session, "INSERT INTO t (k) VALUES (?)", key)
	}
	var read []string
	var key string
	for _, bounds := range [][2]int64{{math.MinInt64, -1 << 62}, {-1 << 62, 0}, {0, 1 << 60}, {1 << 60, math.MaxInt64}} {
		iterator := session.Query("SELECT k FROM t WHERE token(k) > ? AND token(k) <= ?", bounds[0], bounds[1]).Iter()
		for iterator.Scan(&key) {
			read = append(read, key)
		}
		if err := iterator.Close(); err != nil {
			t.Fatal(err)
		}
	}
	sort.Strings(expected)
	sort.Strings(read)
	if !reflect.DeepEqual(expected, read) {
		t.Fatalf("%d keys came back: %v", len(read), read)
	}
}
