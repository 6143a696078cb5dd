package tarndb;

import org.springframework.data.annotation.Version;
import org.springframework.data.cassandra.core.mapping.PrimaryKey;
import org.springframework.data.cassandra.core.mapping.Table;

/** An entity with a version: a change of one that somebody else has changed is refused, by a condition. */
@Table
public class Stock {
  @PrimaryKey public String name;
  public int count;
  @Version public Long version;

  public Stock() {}

  Stock(String name, int count) {
    this.name = name;
    this.count = count;
  }
}
