package drivers

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gocql/gocql"
	scyllacdc "github.com/scylladb/scylla-cdc-go"
)

const (
	partitions = 20
	rows       = 10
	timeout    = 180 * time.Second
)

type key struct{ pk, ck int }

// replica is what the changes that a reader has been given come to.
type replica struct {
	lock    sync.Mutex
	values  map[key]int
	changes int
	images  int
}

// consumer applies the changes of one stream and keeps its place.
type consumer struct {
	replica  *replica
	reporter *scyllacdc.ProgressReporter
}

func (r *replica) CreateChangeConsumer(_ context.Context, input scyllacdc.CreateChangeConsumerInput) (scyllacdc.ChangeConsumer, error) {
	return &consumer{r, input.ProgressReporter}, nil
}

func (c *consumer) Consume(ctx context.Context, change scyllacdc.Change) error {
	c.replica.apply(change)
	return c.reporter.MarkProgress(ctx, scyllacdc.Progress{LastProcessedRecordTime: change.Time})
}

func (c *consumer) End() error { return nil }

func (r *replica) apply(change scyllacdc.Change) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.changes++
	r.images += len(change.PreImage) + len(change.PostImage)
	for index, row := range change.Delta {
		number := func(name string) int {
			value, _ := row.GetValue(name)
			if pointer, ok := value.(*int); ok && pointer != nil {
				return *pointer
			}
			return -1
		}
		place := key{number("pk"), number("ck")}
		switch row.GetOperation() {
		case scyllacdc.Insert, scyllacdc.Update:
			r.values[place] = number("v")
		case scyllacdc.RowDelete:
			delete(r.values, place)
		case scyllacdc.RangeDeleteStartExclusive:
			// All after it: its end, the next row, is that of the partition.
			for other := range r.values {
				if other.pk == place.pk && other.ck > place.ck {
					delete(r.values, other)
				}
			}
		case scyllacdc.RangeDeleteEndInclusive:
			if index != 1 {
				panic("the end of a range comes after its beginning")
			}
		default:
			panic(fmt.Sprint("there was no such change: ", row.GetOperation()))
		}
	}
}

// read runs a reader until it has been given so many changes.
func (r *replica) read(t *testing.T, session *gocql.Session, changes int) {
	t.Helper()
	progress, err := scyllacdc.NewTableBackedProgressManager(session, "go_cdc.progress", "test")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := scyllacdc.NewReader(context.Background(), &scyllacdc.ReaderConfig{
		Session:               session,
		TableNames:            []string{"go_cdc.t"},
		ChangeConsumerFactory: r,
		ProgressManager:       progress,
		Advanced: scyllacdc.AdvancedReaderConfig{
			ConfidenceWindowSize:   time.Millisecond,
			ChangeAgeLimit:         10 * time.Minute,
			QueryTimeWindowSize:    15 * time.Minute,
			PostEmptyQueryDelay:    100 * time.Millisecond,
			PostNonEmptyQueryDelay: 100 * time.Millisecond,
			PostFailedQueryDelay:   100 * time.Millisecond,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- reader.Run(context.Background()) }()
	deadline := time.Now().Add(timeout)
	for r.count() < changes {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d changes in %v", r.count(), changes, timeout)
		}
		time.Sleep(10 * time.Millisecond)
	}
	reader.Stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func (r *replica) count() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.changes
}

func (r *replica) check(t *testing.T, session *gocql.Session) {
	t.Helper()
	iterator := session.Query("SELECT pk, ck, v FROM go_cdc.t").Iter()
	var place key
	var value, count int
	for iterator.Scan(&place.pk, &place.ck, &value) {
		count++
		if found, ok := r.values[place]; !ok || found != value {
			t.Errorf("%v is %d, and by its changes %d", place, value, found)
		}
	}
	if err := iterator.Close(); err != nil {
		t.Fatal(err)
	}
	if count != len(r.values) {
		t.Errorf("%d rows, and %d by their changes", count, len(r.values))
	}
}

func TestAReaderGivesTheTableAndGoesOnWhereItStopped(t *testing.T) {
	configuration := cluster(t)
	configuration.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	session := connect(t, configuration)
	run(t, session, "DROP KEYSPACE IF EXISTS go_cdc")
	run(t, session, "CREATE KEYSPACE go_cdc WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
	run(t, session, `CREATE TABLE go_cdc.t (pk int, ck int, v int, e set<int>, l list<text>, w tuple<int, text>, PRIMARY KEY (pk, ck))
		WITH cdc = {'enabled': true, 'preimage': 'full', 'postimage': true}`)
	if err := session.AwaitSchemaAgreement(context.Background()); err != nil {
		t.Fatal(err)
	}
	for pk := 0; pk < partitions; pk++ {
		for ck := 0; ck < rows; ck++ {
			insert := "INSERT INTO go_cdc.t (pk, ck, v, e, l, w) VALUES (?, ?, ?, {1, 2}, ['a', 'b'], (1, 'y'))"
			run(t, session, insert, pk, ck, pk*100+ck)
		}
		run(t, session, "UPDATE go_cdc.t SET v = ?, e = e - {1}, l = l + ['c'] WHERE pk = ? AND ck = 3", pk, pk)
	}
	read := &replica{values: map[key]int{}}
	read.read(t, session, partitions*(rows+1))
	read.check(t, session)
	if read.images != partitions*(rows+2) {
		t.Errorf("%d images", read.images)
	}
	for pk := 0; pk < partitions; pk++ {
		run(t, session, "DELETE FROM go_cdc.t WHERE pk = ? AND ck = 4", pk)
		run(t, session, "DELETE FROM go_cdc.t WHERE pk = ? AND ck > 7", pk)
		run(t, session, "UPDATE go_cdc.t SET v = 7 WHERE pk = ? AND ck = 1", pk)
	}
	// What was given before is not given again: it counts from here.
	read.changes = 0
	read.read(t, session, 3*partitions)
	if read.changes != 3*partitions {
		t.Errorf("%d changes, and not only the new ones", read.changes)
	}
	read.check(t, session)
}
