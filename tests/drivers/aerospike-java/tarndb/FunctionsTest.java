package tarndb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.aerospike.client.AerospikeException;
import com.aerospike.client.Bin;
import com.aerospike.client.Info;
import com.aerospike.client.Key;
import com.aerospike.client.Language;
import com.aerospike.client.Operation;
import com.aerospike.client.Value;
import com.aerospike.client.exp.Exp;
import com.aerospike.client.lua.LuaConfig;
import com.aerospike.client.policy.QueryPolicy;
import com.aerospike.client.policy.WritePolicy;
import com.aerospike.client.query.ResultSet;
import com.aerospike.client.query.Statement;
import com.aerospike.client.task.ExecuteTask;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Functions and operations over all records of a set, in the background; stream functions that the client finishes. */
class FunctionsTest extends Suite {
  private static final int COUNT = 500;
  private static final String MODULE =
      """
      function add(rec, bin, by)
        if rec.i == 7 then error("not this one") end
        rec[bin] = (rec[bin] or 0) + by
        aerospike:update(rec)
      end

      local function sum(a, b) return a + b end

      function total(stream, bin)
        return stream : map(function(rec) return rec[bin] or 0 end) : reduce(sum)
      end

      function half(stream, bin)
        return stream : map(function(rec) return rec[bin] end) : reduce(sum) : map(function(all) return all / 2 end)
      end

      function counts(stream)
        local function count(all, rec)
          local name = "digit" .. rec.i % 10
          all[name] = (all[name] or 0) + 1
          return all
        end
        return stream : aggregate(map(), count) : reduce(function(a, b) return map.merge(a, b, sum) end)
      end

      function fail(stream) return stream : map(function(rec) error("no stream") end) end
      """;

  @BeforeAll
  void fill(@TempDir Path directory) throws IOException {
    client.registerUdfString(null, MODULE, "functions.lua", Language.LUA).waitTillComplete();
    Files.writeString(directory.resolve("functions.lua"), MODULE);
    LuaConfig.SourceDirectory = directory.toString();
    for (int i = 0; i < COUNT; i++) {
      client.put(null, fresh("key" + i), new Bin("i", i));
    }
  }

  private Statement statement() {
    Statement statement = new Statement();
    statement.setNamespace(Server.NAMESPACE);
    statement.setSetName(set());
    return statement;
  }

  private List<Object> aggregated(String function, Value... arguments) {
    Statement statement = statement();
    statement.setAggregateFunction("functions", function, arguments);
    List<Object> values = new ArrayList<>();
    try (ResultSet results = client.queryAggregate(null, statement)) {
      while (results.next()) {
        values.add(results.getObject());
      }
    }
    return values;
  }

  private String told(ExecuteTask task) {
    return Info.request(infos(), client.getNodes()[0], "query-show:trid=" + Long.toUnsignedString(task.getTaskId()));
  }

  @Test
  void functionsAreAppliedToEachRecord() {
    ExecuteTask task = client.execute(null, statement(), "functions", "add", Value.get("made"), Value.get(3));
    task.waitTillComplete(50);
    assertTrue(told(task).contains("recs-succeeded=" + (COUNT - 1) + ":recs-failed=1:"), told(task));
    assertEquals(3, client.get(null, new Key(Server.NAMESPACE, set(), "key8")).getInt("made"));
    assertEquals(null, client.get(null, new Key(Server.NAMESPACE, set(), "key7")).getValue("made"));
  }

  @Test
  void operationsAreDoneOnThoseThatAreChosen() {
    WritePolicy policy = writes();
    policy.filterExp = Exp.build(Exp.ge(Exp.intBin("i"), Exp.val(COUNT - 10)));
    ExecuteTask task = client.execute(policy, statement(), Operation.put(new Bin("late", "x")), Operation.add(new Bin("more", 1)));
    task.waitTillComplete(50);
    assertTrue(told(task).contains("recs-succeeded=10:recs-failed=0"), told(task));
    assertEquals("x", client.get(null, new Key(Server.NAMESPACE, set(), "key" + (COUNT - 1))).getString("late"));
    assertEquals(null, client.get(null, new Key(Server.NAMESPACE, set(), "key0")).getString("late"));
  }

  @Test
  void jobsAreEnded() {
    Statement statement = statement();
    statement.setRecordsPerSecond(5);
    ExecuteTask task = client.execute(null, statement, Operation.put(new Bin("slow", 1)));
    assertTrue(told(task).contains("status=active"), told(task));
    String number = Long.toUnsignedString(task.getTaskId());
    assertEquals("OK", Info.request(infos(), client.getNodes()[0], "query-abort:trid=" + number));
    task.waitTillComplete(50);
    assertTrue(told(task).contains("status=done(user-aborted)"), told(task));
  }

  @Test
  void streamsAreJoined() {
    assertEquals(List.of((long) COUNT * (COUNT - 1) / 2), aggregated("total", Value.get("i")));
    assertEquals(List.of((double) COUNT * (COUNT - 1) / 4), aggregated("half", Value.get("i")).stream().map(FunctionsTest::number).toList());
    Map<?, ?> counts = (Map<?, ?>) aggregated("counts").get(0);
    assertEquals(10, counts.size());
    assertTrue(counts.values().stream().allMatch(count -> count.equals((long) COUNT / 10)), counts.toString());
  }

  private static double number(Object value) {
    return ((Number) value).doubleValue();
  }

  @Test
  void streamsThatFailAreToldOf() {
    AerospikeException failure = null;
    try {
      aggregated("fail");
    } catch (AerospikeException error) {
      failure = error;
    }
    assertTrue(failure != null && failure.getMessage().contains("no stream"), String.valueOf(failure));
    QueryPolicy policy = new QueryPolicy();
    policy.totalTimeout = PATIENCE_MS;
    assertEquals(COUNT, count(policy));
  }

  private int count(QueryPolicy policy) {
    int count = 0;
    try (var records = client.query(policy, statement())) {
      while (records.next()) {
        count++;
      }
    }
    return count;
  }
}
