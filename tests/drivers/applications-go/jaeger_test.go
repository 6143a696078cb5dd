package drivers

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/gocql/gocql"
)

const jaegerModule = "github.com/jaegertracing/jaeger@v1.76.0"

// jaeger gives a session on a keyspace with Jaeger's schema, as its script makes it for tests.
func jaeger(t *testing.T, keyspace string) *gocql.Session {
	t.Helper()
	session := connectToNewKeyspace(t, keyspace)
	for _, statement := range schema(t, filepath.Join(module(jaegerModule), "internal", "storage", "v1", "cassandra", "schema", "v004.cql.tmpl"), map[string]string{
		"keyspace": keyspace, "replication": "{'class': 'SimpleStrategy', 'replication_factor': '1'}", "trace_ttl": "172800", "dependencies_ttl": "0",
		"compaction_window_size": "96", "compaction_window_unit": "MINUTES",
	}) {
		run(t, session, statement)
	}
	return session
}

func TestJaegerSchemaIsMade(t *testing.T) {
	session := jaeger(t, "jaeger_schema")
	metadata, err := session.KeyspaceMetadata("jaeger_schema")
	if err != nil || len(metadata.Tables) != 11 || len(metadata.UserTypes) != 5 {
		t.Fatalf("%d tables, %d types, %v", len(metadata.Tables), len(metadata.UserTypes), err)
	}
	var left int
	if err := session.Query("SELECT default_time_to_live FROM system_schema.tables WHERE keyspace_name = 'jaeger_schema' AND table_name = 'traces'").Scan(&left); err != nil || left != 172800 {
		t.Fatal(left, err)
	}
}

func TestJaegerStatementsArePrepared(t *testing.T) {
	session := jaeger(t, "jaeger_statements")
	for directory, least := range map[string]int{"spanstore": 8, "dependencystore": 1, "samplingstore": 3} {
		all := statements(t, filepath.Join(module(jaegerModule), "internal", "storage", "v1", "cassandra", directory))
		if len(all) < least {
			t.Errorf("only %d statements are found in %s", len(all), directory)
		}
		// For the tables of an older schema.
		delete(all, "depsInsertStmtV1")
		delete(all, "depsSelectStmtV1")
		prepareAll(t, session, all)
	}
}

func TestJaegerSpansComeBackWhole(t *testing.T) {
	session := jaeger(t, "jaeger_spans")
	trace := []byte("0123456789abcdef")
	for span := 1; span <= 3; span++ {
		run(t, session, fmt.Sprintf("INSERT INTO traces (trace_id, span_id, span_hash, parent_id, operation_name, flags, start_time, duration, tags, logs, refs, process) VALUES (?, ?, ?, ?, ?, ?, ?, ?, "+
			"[{key: 'http.status', value_type: 'int64', value_long: %d}, {key: 'b', value_type: 'binary', value_binary: 0x00ff}], "+
			"[{ts: 5, fields: [{key: 'event', value_type: 'string', value_string: 'note'}]}], [{ref_type: 'child-of', trace_id: 0x01, span_id: 1}], "+
			"{service_name: 'front', tags: [{key: 'host', value_type: 'string', value_string: 'h'}]})", 200+span),
			trace, span, span*100, span-1, "get", 1, int64(1_700_000_000_000_000+span), int64(1000*span))
	}
	rows := session.Query("SELECT span_id, duration, tags, logs, refs, process FROM traces WHERE trace_id = ?", trace).PageSize(2).Iter()
	var id, duration int64
	var tags, logs, refs []map[string]interface{}
	process := map[string]interface{}{}
	var found []int64
	for rows.Scan(&id, &duration, &tags, &logs, &refs, &process) {
		found = append(found, id)
		fields := logs[0]["fields"].([]map[string]interface{})
		if duration != 1000*id || tags[0]["value_long"] != 200+id || fields[0]["value_string"] != "note" || refs[0]["span_id"] != int64(1) || process["service_name"] != "front" {
			t.Fatal(id, duration, tags, logs, refs, process)
		}
	}
	if err := rows.Close(); err != nil || fmt.Sprint(found) != "[1 2 3]" {
		t.Fatal(found, err)
	}
}

func TestJaegerSearchesByServiceOperationTagAndDuration(t *testing.T) {
	session := jaeger(t, "jaeger_search")
	const base = int64(1_700_000_000_000_000)
	bucket := base / 3_600_000_000 * 3_600_000
	for number := int64(0); number < 40; number++ {
		trace := []byte{byte(number)}
		run(t, session, "INSERT INTO service_names (service_name) VALUES (?)", fmt.Sprintf("s%d", number%2))
		run(t, session, "INSERT INTO operation_names_v2 (service_name, span_kind, operation_name) VALUES ('s0', 'server', ?)", fmt.Sprintf("o%d", number%3))
		run(t, session, "INSERT INTO service_name_index (service_name, bucket, start_time, trace_id) VALUES (?, ?, ?, ?)", fmt.Sprintf("s%d", number%2), number%10, base+number, trace)
		run(t, session, "INSERT INTO service_operation_index (service_name, operation_name, start_time, trace_id) VALUES ('s0', ?, ?, ?)", fmt.Sprintf("o%d", number%3), base+number, trace)
		run(t, session, "INSERT INTO tag_index (service_name, tag_key, tag_value, start_time, trace_id, span_id) VALUES ('s0', 'k', ?, ?, ?, 1)", fmt.Sprint(number%4), base+number, trace)
		run(t, session, "INSERT INTO duration_index (service_name, operation_name, bucket, duration, start_time, trace_id) VALUES ('s0', '', ?, ?, ?, ?)", bucket, number*100, base+number, trace)
	}
	for query, wanted := range map[string]string{
		fmt.Sprintf("SELECT trace_id FROM service_name_index WHERE bucket IN (0,1,2,3,4,5,6,7,8,9) AND service_name = 's1' AND start_time > %d AND start_time < %d ORDER BY start_time DESC LIMIT 3", base+10, base+30): "[29 27 25]",
		fmt.Sprintf("SELECT trace_id FROM service_operation_index WHERE service_name = 's0' AND operation_name = 'o2' AND start_time > %d AND start_time < %d ORDER BY start_time DESC LIMIT 100", base, base+9):        "[8 5 2]",
		fmt.Sprintf("SELECT trace_id FROM tag_index WHERE service_name = 's0' AND tag_key = 'k' AND tag_value = '3' and start_time > %d and start_time < %d ORDER BY start_time DESC LIMIT 2", base, base+100):          "[39 35]",
		fmt.Sprintf("SELECT trace_id FROM duration_index WHERE bucket = %d AND service_name = 's0' AND operation_name = '' AND duration > 3500 AND duration < 3900 LIMIT 10", bucket):                                   "[38 37 36]",
	} {
		rows := session.Query(query).PageSize(0).Iter()
		var trace []byte
		found := []int{}
		for rows.Scan(&trace) {
			found = append(found, int(trace[0]))
		}
		if err := rows.Close(); err != nil || fmt.Sprint(found) != wanted {
			t.Errorf("%s: %v, %v", query, found, err)
		}
	}
	var operations int
	if err := session.Query("SELECT count(operation_name) FROM operation_names_v2 WHERE service_name = 's0' AND span_kind = 'server'").Scan(&operations); err != nil || operations != 3 {
		t.Fatal(operations, err)
	}
}

func TestJaegerDependenciesAndLeases(t *testing.T) {
	session := jaeger(t, "jaeger_leases")
	run(t, session, "INSERT INTO dependencies_v2 (ts, ts_bucket, dependencies) VALUES (2000, 0, [{parent: 'a', child: 'b', call_count: 7, source: 'jaeger'}])")
	run(t, session, "INSERT INTO dependencies_v2 (ts, ts_bucket, dependencies) VALUES (9000, 0, [])")
	var dependencies []map[string]interface{}
	if err := session.Query("SELECT dependencies FROM dependencies_v2 WHERE ts_bucket IN (0, 86400000) AND ts >= 1000 AND ts < 9000").Scan(&dependencies); err != nil || dependencies[0]["call_count"] != int64(7) {
		t.Fatal(dependencies, err)
	}
	take := func(owner string) bool {
		applied, err := session.Query("INSERT INTO leases (name, owner) VALUES ('sampling', ?) IF NOT EXISTS USING TTL 600", owner).MapScanCAS(map[string]interface{}{})
		if err != nil {
			t.Fatal(err)
		}
		return applied
	}
	if !take("one") || take("two") {
		t.Fatal("a lease has one owner")
	}
	if applied, err := session.Query("DELETE FROM leases WHERE name = 'sampling' IF owner = 'two'").MapScanCAS(map[string]interface{}{}); err != nil || applied {
		t.Fatal(applied, err)
	}
	if applied, err := session.Query("DELETE FROM leases WHERE name = 'sampling' IF owner = 'one'").MapScanCAS(map[string]interface{}{}); err != nil || !applied {
		t.Fatal(applied, err)
	}
	if !take("two") {
		t.Fatal("the lease is free")
	}
}
