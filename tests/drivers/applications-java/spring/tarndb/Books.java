package tarndb;

import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.springframework.data.cassandra.repository.CassandraRepository;
import org.springframework.data.cassandra.repository.Query;

/** Queries of books, derived of the methods' names. */
public interface Books extends CassandraRepository<Book, UUID> {
  List<Book> findByAuthor(String author);

  Optional<Book> findByTitle(String title);

  List<Book> findByTagsContaining(String tag);

  long countByAuthor(String author);

  @Query("SELECT * FROM book WHERE author = ?0 AND pages > ?1 ALLOW FILTERING")
  List<Book> longer(String author, int pages);
}
