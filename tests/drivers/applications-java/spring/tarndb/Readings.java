package tarndb;

import java.util.List;
import java.util.Optional;
import org.springframework.data.cassandra.repository.CassandraRepository;
import org.springframework.data.cassandra.repository.Query;
import org.springframework.data.domain.Pageable;
import org.springframework.data.domain.Slice;

/** Queries of readings. */
public interface Readings extends CassandraRepository<Reading, Reading.Key> {
  List<Reading> findByKeySensorAndKeyDay(String sensor, int day);

  Slice<Reading> findByKeySensorAndKeyDay(String sensor, int day, Pageable page);

  List<Reading> findByKeySensorAndKeyDayAndKeyAtBetween(String sensor, int day, int from, int to);

  Optional<Reading> findFirstByKeySensorAndKeyDay(String sensor, int day);

  @Query("SELECT value FROM readings WHERE sensor = ?0 AND day = ?1 LIMIT 2")
  List<Long> onlyValues(String sensor, int day);
}
