// The last minutes, as this tab has seen them: a ring of what requests did between one look and the next.

const LOOKS_MAX = 300;

const zip = (one, other, join) => one.map((value, at) => join(value, other[at]));

export class History {
  looks = [];
  last = null;

  /** Takes in an overview. A node that has been restarted counts from nothing, and so do we. */
  add(overview) {
    const before = this.last;
    this.last = overview;
    if (!before) return;
    const seconds = (overview.time_ms - before.time_ms) / 1000;
    const series = overview.requests.map((now, at) => {
      const then = before.requests[at];
      const buckets = zip(now.buckets, then.buckets, (a, b) => a - b);
      return { protocol: now.protocol, kind: now.kind, buckets, count: buckets.reduce((a, b) => a + b, 0), sum: now.sum_us - then.sum_us };
    });
    if (seconds <= 0 || series.some(({ buckets }) => buckets.some((value) => value < 0))) {
      this.looks = [];
      return;
    }
    const failed = (of) => Object.values(of.errors).reduce((a, b) => a + b, 0);
    const flow = (figure) => Math.max(0, figure(overview) - figure(before));
    const cores = (name) => (of) => of.cores.reduce((all, core) => all + core[name], 0);
    this.looks.push({
      time: overview.time_ms,
      seconds,
      series,
      errors: flow(failed),
      cpu: flow((of) => of.process.cpu_s ?? 0),
      written: flow(cores("device_bytes_written")),
      reads: flow(cores("device_reads")),
    });
    if (this.looks.length > LOOKS_MAX) this.looks.shift();
  }

  /** The newest looks together, of about so many seconds: cores write their figures once a second, so one look alone jumps. */
  lately(seconds = 6) {
    const taken = [];
    let left = seconds;
    for (let at = this.looks.length - 1; at >= 0 && left > 0; at -= 1) {
      taken.push(this.looks[at]);
      left -= this.looks[at].seconds;
    }
    return taken;
  }

  /** How much of a figure of looks there was a second. */
  rate(figure, seconds) {
    const looks = this.lately(seconds);
    const time = looks.reduce((all, look) => all + look.seconds, 0);
    return time > 0 ? looks.reduce((all, look) => all + figure(look), 0) / time : 0;
  }

  /** The latency that a part of the requests lately did not exceed: the end of its bucket, in microseconds. */
  percentile(part, bounds, wanted = () => true) {
    const buckets = sum(this.lately(10).flatMap((look) => look.series.filter(wanted)));
    const total = buckets.reduce((a, b) => a + b, 0);
    if (total === 0) return null;
    let seen = 0;
    const at = buckets.findIndex((value) => (seen += value) >= part * total);
    return bounds[Math.min(at, bounds.length - 1)];
  }
}

/** Buckets of several series together. */
export function sum(series) {
  return series.reduce((all, { buckets }) => (all.length ? zip(all, buckets, (a, b) => a + b) : [...buckets]), []);
}

export const counted = (look, wanted) => look.series.reduce((all, one) => all + (wanted(one) ? one.count : 0), 0);
