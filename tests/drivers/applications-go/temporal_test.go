package drivers

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gocql/gocql"
)

const temporalModule = "go.temporal.io/server@v1.29.1"

// temporal gives a session on a keyspace with Temporal's schema.
func temporal(t *testing.T, keyspace string) *gocql.Session {
	t.Helper()
	session := connectToNewKeyspace(t, keyspace)
	for _, statement := range schema(t, filepath.Join(module(temporalModule), "schema", "cassandra", "temporal", "schema.cql"), nil) {
		run(t, session, statement)
	}
	return session
}

func TestTemporalSchemaIsMadeWithItsIndexes(t *testing.T) {
	session := temporal(t, "temporal_schema")
	metadata, err := session.KeyspaceMetadata("temporal_schema")
	if err != nil {
		t.Fatal(err)
	}
	if len(metadata.Tables) < 14 || metadata.Tables["executions"] == nil || len(metadata.Tables["executions"].ClusteringColumns) != 6 {
		t.Fatalf("tables: %v", metadata.Tables)
	}
	var indexes int
	if err := session.Query("SELECT count(*) FROM system_schema.indexes WHERE keyspace_name = 'temporal_schema'").Scan(&indexes); err != nil || indexes != 2 {
		t.Fatalf("%d indexes, %v", indexes, err)
	}
}

func TestTemporalStatementsArePrepared(t *testing.T) {
	session := temporal(t, "temporal_statements")
	// Temporal's tool for schemas makes this one, beside the file.
	run(t, session, "CREATE TABLE schema_version (keyspace_name text PRIMARY KEY, creation_time timestamp, curr_version text, min_compatible_version text)")
	all := statements(t, filepath.Join(module(temporalModule), "common", "persistence", "cassandra"))
	if len(all) < 80 {
		t.Fatalf("only %d statements are found in its source", len(all))
	}
	prepareAll(t, session, all)
	t.Logf("%d statements", len(all))
}

// prepareAll prepares statements, of which some leave a name of a column or table to fmt.
func prepareAll(t *testing.T, session *gocql.Session, all map[string]string) {
	t.Helper()
	for _, name := range sorted(all) {
		if strings.Contains(all[name], "%") {
			continue
		}
		// A query with too few values is prepared, and not executed.
		err := session.Query(all[name], make([]interface{}, 100)...).Exec()
		if err == nil || !strings.Contains(err.Error(), "gocql: expected") {
			t.Errorf("%s: %v\n%s", name, err, all[name])
		}
	}
}

const (
	rowShard     = 0
	rowExecution = 1
	rowTimer     = 3
)

var (
	noTime = int64(0)
	noUUID gocql.UUID
)

func lease(session *gocql.Session, had, wanted int64) (bool, map[string]interface{}) {
	previous := map[string]interface{}{}
	applied, err := session.Query(
		"UPDATE executions SET shard = ?, shard_encoding = 'Proto3', range_id = ? WHERE shard_id = 1 AND type = ? AND namespace_id = ? AND workflow_id = '' AND run_id = ? AND visibility_ts = ? AND task_id = 0 IF range_id = ?",
		[]byte{1}, wanted, rowShard, noUUID, noUUID, noTime, had).MapScanCAS(previous)
	return applied && err == nil, previous
}

func TestTemporalShardHasOneOwner(t *testing.T) {
	session := temporal(t, "temporal_lease")
	applied, err := session.Query(
		"INSERT INTO executions (shard_id, type, namespace_id, workflow_id, run_id, visibility_ts, task_id, shard, range_id) VALUES (1, ?, ?, '', ?, ?, 0, ?, 1) IF NOT EXISTS",
		rowShard, noUUID, noUUID, noTime, []byte{0}).MapScanCAS(map[string]interface{}{})
	if err != nil || !applied {
		t.Fatal(applied, err)
	}
	if taken, _ := lease(session, 1, 2); !taken {
		t.Fatal("the first owner does not get it")
	}
	if taken, previous := lease(session, 1, 2); taken || previous["range_id"] != int64(2) {
		t.Fatalf("a second owner gets it: %v", previous)
	}
}

// A workflow starts by one batch of conditions: on the shard's lease, on the current run, and on the run itself.
func start(session *gocql.Session, lease int64, workflow string, run gocql.UUID) (bool, error) {
	batch := session.NewBatch(gocql.LoggedBatch)
	batch.Query("INSERT INTO executions (shard_id, type, namespace_id, workflow_id, run_id, visibility_ts, task_id, current_run_id, workflow_state) VALUES (1, ?, ?, ?, ?, ?, 0, ?, 1) IF NOT EXISTS USING TTL 0",
		rowExecution, noUUID, workflow, noUUID, noTime, run)
	batch.Query("INSERT INTO executions (shard_id, type, namespace_id, workflow_id, run_id, visibility_ts, task_id, execution, next_event_id, db_record_version, activity_map, buffered_events_list) VALUES (1, ?, ?, ?, ?, ?, 0, ?, 2, 1, ?, []) IF NOT EXISTS",
		rowExecution, noUUID, workflow, run, noTime, []byte(workflow), map[int64][]byte{5: {1}, 6: {2}})
	batch.Query("INSERT INTO executions (shard_id, type, namespace_id, workflow_id, run_id, visibility_ts, task_id, timer) VALUES (1, ?, ?, '', ?, 1000, 77, ?)", rowTimer, noUUID, noUUID, []byte(workflow))
	batch.Query("UPDATE executions SET range_id = ? WHERE shard_id = 1 AND type = ? AND namespace_id = ? AND workflow_id = '' AND run_id = ? AND visibility_ts = ? AND task_id = 0 IF range_id = ?",
		lease, rowShard, noUUID, noUUID, noTime, lease)
	applied, rows, err := session.MapExecuteBatchCAS(batch, map[string]interface{}{})
	if rows != nil {
		_ = rows.Close()
	}
	return applied, err
}

func shard(t *testing.T, session *gocql.Session) {
	t.Helper()
	run(t, session, "INSERT INTO executions (shard_id, type, namespace_id, workflow_id, run_id, visibility_ts, task_id, range_id) VALUES (1, ?, ?, '', ?, ?, 0, 7)", rowShard, noUUID, noUUID, noTime)
}

func TestTemporalWorkflowStartsOnceAndOnlyForTheOwner(t *testing.T) {
	session := temporal(t, "temporal_start")
	shard(t, session)
	first, second := gocql.TimeUUID(), gocql.TimeUUID()
	if applied, err := start(session, 6, "w", first); err != nil || applied {
		t.Fatalf("one who lost the shard starts: %v %v", applied, err)
	}
	if applied, err := start(session, 7, "w", first); err != nil || !applied {
		t.Fatalf("the owner does not start: %v %v", applied, err)
	}
	if applied, err := start(session, 7, "w", second); err != nil || applied {
		t.Fatalf("it starts twice: %v %v", applied, err)
	}
	var current gocql.UUID
	var timers int
	if err := session.Query("SELECT current_run_id FROM executions WHERE shard_id = 1 AND type = ? AND namespace_id = ? AND workflow_id = 'w' AND run_id = ? AND visibility_ts = ? AND task_id = 0", rowExecution, noUUID, noUUID, noTime).Scan(&current); err != nil || current != first {
		t.Fatal(current, err)
	}
	if err := session.Query("SELECT count(*) FROM executions WHERE shard_id = 1 AND type = ?", rowTimer).Scan(&timers); err != nil || timers != 1 {
		t.Fatal(timers, err)
	}
}

func TestTemporalStateOfAWorkflowChanges(t *testing.T) {
	session := temporal(t, "temporal_state")
	shard(t, session)
	id := gocql.TimeUUID()
	if applied, err := start(session, 7, "w", id); err != nil || !applied {
		t.Fatal(applied, err)
	}
	where := " WHERE shard_id = 1 AND type = ? AND namespace_id = ? AND workflow_id = 'w' AND run_id = ? AND visibility_ts = ? AND task_id = 0"
	key := []interface{}{rowExecution, noUUID, id, noTime}
	batch := session.NewBatch(gocql.LoggedBatch)
	batch.Query("UPDATE executions SET next_event_id = 9, db_record_version = 2"+where+" IF db_record_version = 1", key...)
	batch.Query("UPDATE executions SET activity_map[8] = 0xff"+where, key...)
	batch.Query("DELETE activity_map[5] FROM executions"+where, key...)
	batch.Query("UPDATE executions SET buffered_events_list = buffered_events_list + [{encoding_type: 'p', version: 1, data: 0x01}]"+where, key...)
	batch.Query("UPDATE executions SET signal_requested = signal_requested + {"+noUUID.String()+"}"+where, key...)
	applied, rows, err := session.MapExecuteBatchCAS(batch, map[string]interface{}{})
	if err != nil || !applied {
		t.Fatal(applied, err)
	}
	if rows != nil {
		_ = rows.Close()
	}
	var next int64
	var activities map[int64][]byte
	var buffered []map[string]interface{}
	var signals []gocql.UUID
	if err := session.Query("SELECT next_event_id, activity_map, buffered_events_list, signal_requested FROM executions"+where, key...).Scan(&next, &activities, &buffered, &signals); err != nil {
		t.Fatal(err)
	}
	if next != 9 || len(activities) != 2 || activities[8][0] != 0xff || activities[5] != nil || len(buffered) != 1 || buffered[0]["encoding_type"] != "p" || len(signals) != 1 {
		t.Fatal(next, activities, buffered, signals)
	}
}

func TestTemporalHistoryIsReadInOrderInPages(t *testing.T) {
	session := temporal(t, "temporal_history")
	tree, branch := gocql.TimeUUID(), gocql.TimeUUID()
	for node := 1; node <= 100; node++ {
		// Of a node that was written twice the later transaction comes first.
		for transaction := 0; transaction <= node%2; transaction++ {
			run(t, session, "INSERT INTO history_node (tree_id, branch_id, node_id, txn_id, prev_txn_id, data, data_encoding) VALUES (?, ?, ?, ?, ?, ?, 'p')", tree, branch, node, transaction, 0, []byte{byte(node)})
		}
	}
	rows := session.Query("SELECT node_id, txn_id, data FROM history_node WHERE tree_id = ? AND branch_id = ? AND node_id >= 11 AND node_id < 51", tree, branch).PageSize(7).Iter()
	var node, transaction, last, lastTransaction int64
	var data []byte
	var found int
	for rows.Scan(&node, &transaction, &data) {
		if node < last || (node == last && transaction > lastTransaction) || int64(data[0]) != node {
			t.Fatalf("%d %d after %d %d", node, transaction, last, lastTransaction)
		}
		last, lastTransaction = node, transaction
		found++
	}
	if err := rows.Close(); err != nil || found != 60 {
		t.Fatal(found, err)
	}
	run(t, session, "DELETE FROM history_node WHERE tree_id = ? AND branch_id = ? AND node_id >= 30", tree, branch)
	if err := session.Query("SELECT max(node_id) FROM history_node WHERE tree_id = ? AND branch_id = ?", tree, branch).Scan(&last); err != nil || last != 29 {
		t.Fatal(last, err)
	}
}

func TestTemporalTasksAreTakenAndDeletedByRange(t *testing.T) {
	session := temporal(t, "temporal_tasks")
	for task := 1; task <= 50; task++ {
		batch := session.NewBatch(gocql.LoggedBatch)
		batch.Query("INSERT INTO tasks (namespace_id, task_queue_name, task_queue_type, type, task_id, task) VALUES (?, 'q', 0, 0, ?, ?) USING TTL 600", noUUID, task, []byte{byte(task)})
		batch.Query("UPDATE tasks SET range_id = 1 WHERE namespace_id = ? AND task_queue_name = 'q' AND task_queue_type = 0 AND type = 1 AND task_id = -12345 IF range_id = ?", noUUID, nil)
		if task > 1 {
			batch.Entries[1].Args = []interface{}{noUUID, 1}
		}
		applied, rows, err := session.MapExecuteBatchCAS(batch, map[string]interface{}{})
		if err != nil || !applied {
			t.Fatal(task, applied, err)
		}
		if rows != nil {
			_ = rows.Close()
		}
	}
	var count int
	run(t, session, "DELETE FROM tasks WHERE namespace_id = ? AND task_queue_name = 'q' AND task_queue_type = 0 AND type = 0 AND task_id < 31", noUUID)
	if err := session.Query("SELECT count(*) FROM tasks WHERE namespace_id = ? AND task_queue_name = 'q' AND task_queue_type = 0 AND type = 0 AND task_id > 0 AND task_id < 1000", noUUID).Scan(&count); err != nil || count != 20 {
		t.Fatal(count, err)
	}
}

func TestTemporalMembersAreFoundByTheirIndexes(t *testing.T) {
	session := temporal(t, "temporal_members")
	for member := 0; member < 10; member++ {
		run(t, session, "INSERT INTO cluster_membership (membership_partition, host_id, rpc_address, rpc_port, role, session_start, last_heartbeat) VALUES (0, ?, ?, ?, ?, ?, ?) USING TTL 600",
			gocql.TimeUUID(), fmt.Sprintf("10.0.0.%d", member), 7000+member, member%2, int64(1000*member), int64(1000*member))
	}
	for query, wanted := range map[string]int{
		"last_heartbeat > 4000":                              5,
		"role = 1 AND last_heartbeat > 4000":                 3,
		"session_start > 7000":                               2,
		"last_heartbeat > 2000 AND rpc_address = '10.0.0.8'": 1,
	} {
		var count int
		if err := session.Query("SELECT count(*) FROM cluster_membership WHERE membership_partition = 0 AND " + query + " ALLOW FILTERING").Scan(&count); err != nil || count != wanted {
			t.Errorf("%s: %d, %v", query, count, err)
		}
	}
}

func TestTemporalSurvivesAKill(t *testing.T) {
	session := temporal(t, "temporal_kill")
	shard(t, session)
	id := gocql.TimeUUID()
	if applied, err := start(session, 7, "kept", id); err != nil || !applied {
		t.Fatal(applied, err)
	}
	restart(t, "kill")
	var current gocql.UUID
	until(t, "the session finds the server", func() bool {
		return session.Query("SELECT current_run_id FROM executions WHERE shard_id = 1 AND type = ? AND namespace_id = ? AND workflow_id = 'kept' AND run_id = ? AND visibility_ts = ? AND task_id = 0", rowExecution, noUUID, noUUID, noTime).Scan(&current) == nil
	})
	if current != id {
		t.Fatal(current)
	}
	if applied, err := start(session, 7, "kept", gocql.TimeUUID()); err != nil || applied {
		t.Fatal(applied, err)
	}
}
