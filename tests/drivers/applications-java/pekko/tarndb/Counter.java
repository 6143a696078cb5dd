package tarndb;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.Props;
import org.apache.pekko.actor.Status;
import org.apache.pekko.persistence.AbstractPersistentActor;
import org.apache.pekko.persistence.DeleteMessagesFailure;
import org.apache.pekko.persistence.DeleteMessagesSuccess;
import org.apache.pekko.persistence.RecoveryCompleted;
import org.apache.pekko.persistence.SaveSnapshotFailure;
import org.apache.pekko.persistence.SaveSnapshotSuccess;
import org.apache.pekko.persistence.SnapshotOffer;
import org.apache.pekko.persistence.journal.Tagged;

/** A persistent actor: numbers are added as events, its state is their sum, and it comes back from events and snapshots. */
final class Counter extends AbstractPersistentActor {
  /** Adds an event of this number; with a tag where it has one. */
  record Add(int number, String tag) implements Serializable {}

  record Added(int number) implements Serializable {}

  /** Answers with the State. */
  record Tell() implements Serializable {}

  record Save() implements Serializable {}

  record DeleteTo(long sequence) implements Serializable {}

  /** Of one batch of the journal. */
  record AddAll(List<Integer> numbers) implements Serializable {}

  record State(long sum, long lastSequence, List<Integer> replayed, boolean fromSnapshot) implements Serializable {}

  private final String id;
  private final List<Integer> replayed = new ArrayList<>();
  private long sum;
  private boolean fromSnapshot;
  private ActorRef asked;

  private Counter(String id) {
    this.id = id;
  }

  static Props props(String id) {
    return Props.create(Counter.class, () -> new Counter(id));
  }

  @Override
  public String persistenceId() {
    return id;
  }

  @Override
  public Receive createReceiveRecover() {
    return receiveBuilder()
        .match(Added.class, event -> {
          sum += event.number();
          replayed.add(event.number());
        })
        .match(SnapshotOffer.class, offer -> {
          sum = (Long) offer.snapshot();
          fromSnapshot = true;
        })
        .match(RecoveryCompleted.class, completed -> {})
        .build();
  }

  @Override
  public Receive createReceive() {
    return receiveBuilder()
        .match(Add.class, add -> {
          Added event = new Added(add.number());
          ActorRef sender = getSender();
          persist(add.tag() == null ? event : new Tagged(event, Set.of(add.tag())), stored -> {
            sum += add.number();
            sender.tell(sum, getSelf());
          });
        })
        .match(AddAll.class, add -> {
          ActorRef sender = getSender();
          int[] left = {add.numbers().size()};
          persistAll(add.numbers().stream().map(Added::new).toList(), stored -> {
            sum += stored.number();
            if (--left[0] == 0) {
              sender.tell(sum, getSelf());
            }
          });
        })
        .match(Tell.class, tell -> getSender().tell(new State(sum, lastSequenceNr(), List.copyOf(replayed), fromSnapshot), getSelf()))
        .match(Save.class, save -> {
          asked = getSender();
          saveSnapshot(sum);
        })
        .match(DeleteTo.class, delete -> {
          asked = getSender();
          deleteMessages(delete.sequence());
        })
        .match(SaveSnapshotSuccess.class, saved -> asked.tell(saved.metadata().sequenceNr(), getSelf()))
        .match(DeleteMessagesFailure.class, failed -> asked.tell(new Status.Failure(failed.cause()), getSelf()))
        .match(SaveSnapshotFailure.class, failed -> asked.tell(new Status.Failure(failed.cause()), getSelf()))
        .match(DeleteMessagesSuccess.class, deleted -> asked.tell(deleted.toSequenceNr(), getSelf()))
        .build();
  }
}
