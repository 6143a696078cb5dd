package tarndb;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.springframework.data.cassandra.core.mapping.Indexed;
import org.springframework.data.cassandra.core.mapping.PrimaryKey;
import org.springframework.data.cassandra.core.mapping.Table;
import org.springframework.data.cassandra.core.mapping.UserDefinedType;

/** An entity with indexes, collections, an enumeration and a user-defined type. */
@Table
public class Book {
  enum Kind {
    NOVEL,
    MANUAL
  }

  @UserDefinedType
  record Publisher(String name, int founded) {}

  @PrimaryKey public UUID id;
  @Indexed public String title;
  @Indexed public String author;
  public int pages;
  @Indexed public Set<String> tags;
  public List<String> notes;
  public Map<String, BigDecimal> prices;
  public LocalDate printed;
  public Instant added;
  public Kind kind;
  public Publisher publisher;
}
