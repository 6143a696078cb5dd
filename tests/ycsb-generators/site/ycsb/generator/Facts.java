package site.ycsb.generator;

import java.io.File;
import java.io.FileNotFoundException;
import java.util.Locale;
import java.util.function.LongSupplier;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogReader;
import site.ycsb.Utils;

/**
 * Prints what YCSB's generators and HdrHistogram's reader say, a fact a line, for crates/load/examples/generators.rs to compare with. It is
 * in their package because ζ is not public. YCSB's generators take no seed: distributions are compared by their counts.
 */
public final class Facts {
  private static final int ROWS = 1_000;
  private static final int DRAWS = 1_000_000;

  private Facts() {
  }

  public static void main(String[] args) throws FileNotFoundException {
    for (long number : new long[] {0, 1, 2, 999, 123_456_789, 400_000_000, Long.MAX_VALUE}) {
      System.out.printf("fnv %d %d%n", number, Utils.hash(number));
    }
    for (long items : new long[] {1, 2, 1_000, 1_000_000}) {
      for (double theta : new double[] {0.5, 0.99}) {
        System.out.printf(Locale.ROOT, "zeta %d %s %.17g%n", items, theta, ZipfianGenerator.zetastatic(items, theta));
      }
    }
    System.out.printf("scrambled %d %s%n", ScrambledZipfianGenerator.ITEM_COUNT, ScrambledZipfianGenerator.ZETAN);

    long last = ROWS - 1;
    NumberGenerator sequential = new SequentialGenerator(0, last);
    StringBuilder line = new StringBuilder("sequence");
    for (int draw = 0; draw < 2 * ROWS; draw++) {
      line.append(' ').append(sequential.nextValue().longValue());
    }
    System.out.println(line);

    counts("uniform", of(new UniformLongGenerator(0, last)));
    counts("zipfian 0.99", of(new ZipfianGenerator(ROWS)));
    counts("zipfian 0.7", of(new ZipfianGenerator(ROWS, 0.7)));
    // As the core workload makes it when nothing is inserted, and draws again what is not there.
    LongSupplier scrambled = of(new ScrambledZipfianGenerator(0, ROWS));
    counts("scrambled-zipfian", () -> {
      long row;
      do {
        row = scrambled.getAsLong();
      } while (row > last);
      return row;
    });
    counts("latest", of(new SkewedLatestGenerator(new AcknowledgedCounterGenerator(ROWS))));
    counts("hotspot", of(new HotspotIntegerGenerator(0, last, 0.2, 0.8)));
    ExponentialGenerator exponential = new ExponentialGenerator(95, ROWS * 0.8571428571);
    counts("exponential", () -> {
      long row;
      do {
        row = last - exponential.nextValue().intValue();
      } while (row < 0);
      return row;
    });

    HistogramLogReader reader = new HistogramLogReader(new File(args[0]));
    while (reader.hasNext()) {
      EncodableHistogram interval = reader.nextIntervalHistogram();
      if (interval instanceof Histogram histogram) {
        System.out.printf("log %s %d %d %d %d %d%n", histogram.getTag(), histogram.getStartTimeStamp(), histogram.getEndTimeStamp(),
            histogram.getTotalCount(), histogram.getMaxValue(), histogram.getValueAtPercentile(50));
      }
    }
    reader.close();
  }

  private static LongSupplier of(NumberGenerator generator) {
    return () -> generator.nextValue().longValue();
  }

  private static void counts(String name, LongSupplier generator) {
    long[] counts = new long[ROWS];
    for (int draw = 0; draw < DRAWS; draw++) {
      counts[(int) generator.getAsLong()]++;
    }
    StringBuilder line = new StringBuilder("counts ").append(name).append(" :");
    for (long count : counts) {
      line.append(' ').append(count);
    }
    System.out.println(line);
  }
}
