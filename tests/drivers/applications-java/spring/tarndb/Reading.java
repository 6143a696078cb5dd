package tarndb;

import java.io.Serializable;
import org.springframework.data.cassandra.core.cql.Ordering;
import org.springframework.data.cassandra.core.cql.PrimaryKeyType;
import org.springframework.data.cassandra.core.mapping.PrimaryKey;
import org.springframework.data.cassandra.core.mapping.PrimaryKeyClass;
import org.springframework.data.cassandra.core.mapping.PrimaryKeyColumn;
import org.springframework.data.cassandra.core.mapping.Table;

/** An entity whose partitions have many rows. */
@Table("readings")
public class Reading {
  /** Two columns of the partition key, one of order. */
  @PrimaryKeyClass
  public static class Key implements Serializable {
    @PrimaryKeyColumn(type = PrimaryKeyType.PARTITIONED, ordinal = 0)
    public String sensor;

    @PrimaryKeyColumn(type = PrimaryKeyType.PARTITIONED, ordinal = 1)
    public int day;

    @PrimaryKeyColumn(type = PrimaryKeyType.CLUSTERED, ordinal = 2, ordering = Ordering.DESCENDING)
    public int at;
  }

  @PrimaryKey public Key key = new Key();
  public long value;

  public Reading() {}

  Reading(String sensor, int day, int at, long value) {
    key.sensor = sensor;
    key.day = day;
    key.at = at;
    this.value = value;
  }
}
