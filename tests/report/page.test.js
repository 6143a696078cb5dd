// Pages that `report_fixtures` made, as a reader meets them: every check is on what the browser shows.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { launch } = require("./browser.js");

const pages = process.env.REPORT_PAGES;
const names = fs.readdirSync(pages).filter((name) => name.endsWith(".html")).map((name) => name.slice(0, -5));
const report = (name) => JSON.parse(fs.readFileSync(path.join(pages, `${name}.json`), "utf8"));
let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser.close(); });

const open = (name, options) => browser.open(path.join(pages, `${name}.html`), options);

/** Of each chart: its title and how many pixels of its canvas are in the colour of a series. */
const inked = (page) => page.evaluate(() => [...document.querySelectorAll("figure.chart")].map((figure) => {
  const canvas = figure.querySelector("canvas");
  const probe = document.createElement("canvas").getContext("2d");
  const colours = [...Array(7).keys()].map((at) => {
    probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--series-${at}`);
    probe.fillRect(0, 0, 1, 1);
    return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);
  });
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let drawn = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] > 200 && colours.some(([r, g, b]) => Math.abs(data[at] - r) + Math.abs(data[at + 1] - g) + Math.abs(data[at + 2] - b) < 24)) drawn += 1;
  }
  return { title: figure.querySelector("h3").textContent, drawn };
}));

/** All figures that tables hold, whatever they are shown as. */
const figures = (page) => page.evaluate(() => [...document.querySelectorAll("[data-value]")].map((cell) => Number(cell.dataset.value)));

for (const name of names) {
  test(`${name}: no error, no request, every chart is drawn`, async () => {
    const page = await open(name);
    assert.deepStrictEqual(page.said, []);
    assert.deepStrictEqual(page.asked, []);
    for (const { title, drawn } of await inked(page)) assert.ok(drawn > 100, `${title}: ${drawn} pixels`);
    for (const bar of await page.$$eval(".bar", (bars) => bars.map((bar) => bar.getBoundingClientRect().width * bar.getBoundingClientRect().height))) assert.ok(bar > 0, "a bar is empty");
    await page.close();
  });
  for (const width of [390, 1600]) {
    test(`${name}: ${width} pixels wide does not scroll sideways`, async () => {
      const page = await open(name, { width });
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), "it does");
      await page.close();
    });
  }
}

test("the headline names what was run, not what a publication did", async () => {
  const page = await open("aerospike-cassandra");
  const headline = await page.$eval("h1", (title) => title.textContent);
  assert.strictEqual(headline, "10 min at 1 % of the published size, one node, 2 CPUs (AMD EPYC 9R14), 31.0 GiB of memory");
  assert.strictEqual(await page.$eval(".title", (title) => title.textContent), "Twelve hours of reads and updates");
  await page.close();
});

test("axes of what flows are per second", async () => {
  const page = await open("aerospike-cassandra");
  const axes = await page.evaluate(() => charts.map(({ spec, chart: u }) => ({ title: spec.title, labels: u.axes[1]._values.filter((label) => label && label !== "0") })));
  const flows = axes.filter(({ title }) => /device|network|a second/.test(title));
  for (const wanted of ["Target: device reads", "Target: device writes", "Target: network received", "Target: network sent"]) {
    const { labels } = flows.find(({ title }) => title === wanted);
    for (const label of labels) assert.match(label, /^[\d.]+ [KMG]?i?B\/s$/, wanted);
  }
  for (const { title, labels } of flows) {
    assert.ok(labels.length > 0, title);
    for (const label of labels) assert.ok(label.endsWith("/s"), `${title}: ${label}`);
  }
  await page.close();
});

test("durations have digits that say something", async () => {
  for (const name of names) {
    const page = await open(name);
    const text = await page.evaluate(() => document.body.innerText);
    assert.doesNotMatch(text, /(^|[^\d.])0\.\d+ s\b/, name);
    await page.close();
  }
  const page = await open("aerospike-cassandra");
  const started = await page.$eval("#repeat .events tbody tr td:nth-of-type(2)", (cell) => [cell.textContent, cell.dataset.value]);
  assert.deepStrictEqual(started, ["0 s", "7.81e-7"]);
  await page.close();
});

test("on a phone every column of a table can be reached within its box", async () => {
  for (const name of ["aerospike-cassandra", "griddb-scaleout", "resilience", "repeats", "compare", "compare-unlike", "compare-repeats"]) {
    const page = await open(name, { width: 390 });
    await page.evaluate(() => document.querySelectorAll("details").forEach((element) => { element.open = true; }));
    const boxes = await page.$$eval(".scroll", (all) => all.map((box) => {
      box.scrollLeft = 1e6;
      const { right } = box.getBoundingClientRect();
      const cells = [...box.querySelectorAll("tr")].map((row) => row.lastElementChild).filter((cell) => cell.offsetParent);
      return {
        caption: box.getAttribute("aria-label"), right, hidden: [...box.querySelectorAll("th, td")].filter((cell) => !cell.offsetParent).length,
        beyond: Math.max(...cells.map((cell) => cell.getBoundingClientRect().right)) - right, cut: [...box.querySelectorAll("tbody th")].filter((cell) => cell.scrollWidth > cell.clientWidth + 1).length,
        // A word that is broken makes a line of a letter or two.
        narrow: Math.min(...[...box.querySelectorAll("tbody th")].map((cell) => cell.getBoundingClientRect().width)),
      };
    }));
    for (const { caption, right, hidden, beyond, cut, narrow } of boxes) {
      assert.ok(narrow >= 96, `${name}, ${caption}: names have ${narrow} pixels`);
      assert.ok(right <= 390 && beyond <= 1, `${name}, ${caption}: ends at ${right}, cells ${beyond} beyond`);
      assert.deepStrictEqual([hidden, cut], [0, 0], `${name}, ${caption}: ${hidden} cells are hidden, ${cut} names are cut off`);
    }
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 390), `${name} scrolls sideways`);
    await page.close();
  }
});

test("the tables hold the figures of report.json", async () => {
  for (const name of ["aerospike-cassandra", "griddb-scaleout", "resilience", "incomplete", "long"]) {
    const page = await open(name);
    const shown = new Set(await figures(page));
    const made = report(name);
    const wanted = [];
    for (const ratio of made.ratios) wanted.push(ratio.measured, ratio.paper, ratio.subject_value, ratio.baseline_value);
    for (const target of made.targets) {
      for (const cost of target.costs) wanted.push(cost.per_100m);
      for (const phase of target.phases) {
        wanted.push(phase.seconds, ...phase.errors.map(({ count }) => count), ...(phase.verified.compared + phase.verified.unknown ? Object.values(phase.verified) : []));
        for (const { replies, errors, throughput, latency } of phase.operations) wanted.push(replies, errors, throughput, ...Object.values(latency));
        if (phase.operations.length) wanted.push(phase.variation, phase.drift, phase.throughput, phase.resources.target_memory_peak, phase.resources.client_busiest);
      }
    }
    for (const figure of wanted) assert.ok(figure == null || shown.has(figure), `${name}: ${figure} is in no table`);
    await page.close();
  }
});

test("every chart has a table and a description", async () => {
  const page = await open("aerospike-cassandra");
  const charts = await page.$$eval("figure.chart", (all) => all.map((figure) => ({
    rows: figure.querySelectorAll("details tbody tr").length, label: figure.querySelector("[role=img]").getAttribute("aria-label"),
  })));
  assert.ok(charts.length >= 15, `${charts.length} charts`);
  for (const { rows, label } of charts) assert.ok(rows > 0 && label.length > 20, label);
  await page.close();
});

test("warnings stand before every figure", async () => {
  const page = await open("incomplete");
  const [warnings, first] = await page.evaluate(() => [document.querySelector(".warnings").getBoundingClientRect(), document.querySelector("table").getBoundingClientRect()].map(({ top, bottom }) => ({ top, bottom })));
  assert.ok(warnings.bottom < first.top && warnings.bottom < 900, "they do not");
  const text = await page.$eval(".warnings", (box) => box.textContent);
  for (const part of ["Interrupted", "OutOfMemoryError", "client was the limit", "2 of 1,000 compared reads", "nothing was known of the rows that were read in run (4,920,123 reads)"]) assert.ok(text.includes(part), part);
  await page.close();
});

test("an empty report says why it is empty", async () => {
  const page = await open("empty");
  const text = await page.$eval("main", (main) => main.textContent);
  assert.ok(text.includes("refuses connections") && text.includes("Nothing was measured"));
  await page.close();
});

test("nothing of a report becomes markup or a script", async () => {
  const page = await open("hostile");
  assert.ok((await page.title()).startsWith("</script><script>"), "the title is text");
  assert.strictEqual(await page.$$eval("img, main script", (all) => all.length), 0);
  assert.deepStrictEqual(await page.$$eval("a", (all) => all.map((a) => a.protocol).filter((protocol) => protocol !== "file:")), []);
  for (const place of ["h1", ".title"]) assert.ok((await page.$eval(place, (title) => title.textContent)).includes("onerror"), place);
  await page.close();
});

test("links of a report go to its paper and to files beside it, nowhere else", async () => {
  const page = await open("aerospike-cassandra");
  const links = await page.$$eval("a", (all) => all.map((a) => a.getAttribute("href")));
  assert.ok(links.includes(report("aerospike-cassandra").study.paper.url));
  assert.ok(links.includes("./run-1.hlog"));
  for (const href of links) assert.ok(href === report("aerospike-cassandra").study.paper.url || /^(\.\/[\w-]+\.hlog|#[\w-]+)$/.test(href), href);
  await page.close();
});

test("dark is dark, by the system and by the switch, in charts too", async () => {
  const look = (page) => page.evaluate(() => {
    const { data } = ((canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height))(document.querySelector("canvas"));
    let sum = 0;
    for (const part of data) sum = (sum * 31 + part) % 1000000007;
    return { paper: getComputedStyle(document.documentElement).backgroundColor, sum };
  });
  const light = await open("resilience");
  const dark = await open("resilience", { dark: true });
  const [byDay, byNight] = [await look(light), await look(dark)];
  assert.notStrictEqual(byDay.paper, byNight.paper);
  assert.notStrictEqual(byDay.sum, byNight.sum);
  for (const { title, drawn } of await inked(dark)) assert.ok(drawn > 100, title);
  await light.bringToFront();
  await light.click(".switch");
  await browser.settled(light);
  assert.deepStrictEqual(await look(light), byNight);
  await light.close();
  await dark.close();
});

test("arrow keys read a chart aloud, a key of the legend hides its target", async () => {
  const page = await open("aerospike-cassandra");
  await page.focus(".phase .plot");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  const readout = await page.$eval(".phase .readout", (text) => text.textContent);
  assert.match(readout, /^at [\d.]+ s: tarndb [\d,]+\/s · cassandra [\d,]+\/s$/);
  await page.click(".phase .key button");
  assert.strictEqual(await page.$eval(".phase .key button", (button) => button.getAttribute("aria-pressed")), "false");
  await page.close();
});

test("throughput can be read on a logarithmic axis", async () => {
  const page = await open("aerospike-cassandra");
  const lowest = () => page.evaluate(() => charts.find(({ spec }) => spec.choice).chart.scales.y.min);
  assert.strictEqual(await lowest(), 0);
  await page.click(".phase .scale");
  await browser.settled(page);
  assert.ok(await lowest() > 0);
  await page.close();
});

test("events are marked on every chart over time", async () => {
  const page = await open("resilience");
  const text = await page.$eval("#events", (section) => section.textContent);
  for (const said of ["kill", "noticed", "1.80 s", "restart"]) assert.ok(text.includes(said), text);
  assert.ok(await page.evaluate(() => charts.filter(({ spec }) => spec.x === "time").every(({ spec }) => spec.marks.length === 2)));
  await page.close();
});

test("long runs are drawn in intervals and say so", async () => {
  const page = await open("long");
  assert.ok(fs.statSync(path.join(pages, "long.html")).size < 5e6);
  const captions = await page.$$eval("[data-phase=run] figure .caption", (all) => all.map((caption) => caption.textContent));
  assert.ok(captions.filter((caption) => caption.includes("A point is 60 s")).length >= 4, captions.join("\n"));
  await page.close();
});

test("a comparison shows every run and its factor", async () => {
  const page = await open("compare");
  const text = await page.$eval("#compare", (section) => section.textContent);
  for (const part of ["before: tarndb", "after: tarndb", "after: cassandra", "1.30 ×"]) assert.ok(text.includes(part), part);
  const shown = new Set(await figures(page));
  for (const name of ["aerospike-cassandra", "improved"]) for (const { latency } of report(name).targets[0].phases[4].operations) assert.ok(shown.has(latency.p99));
  await page.close();
});

test("a comparison of unlike runs says first what differs, and marks every figure of theirs", async () => {
  const page = await open("compare-unlike");
  const text = await page.$eval(".differences", (section) => section.innerText);
  for (const part of ["Not the same", "scale ≠", "0.01", "duration of run ≠", "2 min 30 s", "memory ≠", "7.0 GiB", "version of the tool"]) assert.ok(text.includes(part), `${part} is not in ${text}`);
  const above = await page.evaluate(() => document.querySelector(".differences").getBoundingClientRect().bottom <= document.querySelector("#compare").getBoundingClientRect().top);
  assert.ok(above);
  const heads = await page.$$eval("#compare thead th", (all) => [...new Set(all.map((head) => head.textContent))]);
  assert.deepStrictEqual(heads, ["Measure", "before: tarndb", "before: cassandra", "after: tarndb\u00a0≠", "after: cassandra\u00a0≠"]);
  await page.close();
  const alike = await open("compare");
  assert.strictEqual(await alike.$$eval(".differences.warnings", (all) => all.length), 0);
  await alike.close();
});

test("several rounds have medians, extremes and error bars", async () => {
  const page = await open("repeats");
  const { targets, ratios } = report("repeats");
  const own = targets.filter(({ name }) => name === "tarndb").map(({ phases }) => phases[4].throughput).sort((a, b) => a - b);
  const shown = new Set(await figures(page));
  assert.ok(shown.has(own[1]), "the median is in a table");
  const text = await page.$eval("main", (main) => main.innerText);
  const rounded = (value) => Math.round(value).toLocaleString("en-US");
  assert.ok(text.includes(`${rounded(own[0])}–${rounded(own[2])}`), "so are the lowest and the highest");
  for (const part of ["medians of 3 rounds", "2 of 3 rounds", "cassandra, round 2", "tarndb: round 1; cassandra: round 1"]) assert.ok(text.includes(part), part);
  // Each ratio that was measured has one, each bar of inserts, too.
  const bullets = await page.$$eval("#ratios .bullet", (all) => all.map((bullet) => {
    const box = bullet.getBoundingClientRect();
    const [bar, whisker] = [".bar", ".whisker"].map((part) => bullet.querySelector(part)?.getBoundingClientRect());
    return { title: bullet.title, inside: whisker && whisker.left >= box.left - 1 && whisker.right <= box.right + 1, bar: bar?.right, left: whisker?.left, right: whisker?.right };
  }));
  assert.strictEqual(bullets.length, ratios.length);
  for (const [at, { measured, measured_spread: spread }] of ratios.entries()) {
    const { title, inside, bar, left, right } = bullets[at];
    if (measured == null) assert.ok(inside === undefined, "a bar for no figure");
    else {
      assert.ok(inside && left <= bar + 1 && right >= bar - 1 && right - left > 2, `${left} to ${right} around ${bar}`);
      assert.match(title, new RegExp(`^median [\\d.]+ ×, lowest [\\d.]+ ×, highest [\\d.]+ × of ${spread.rounds} rounds$`));
    }
  }
  assert.strictEqual(await page.$$eval("#inserts .whisker", (all) => all.length), 4);
  const covered = await page.$$eval("#inserts .insert", (all) => all.filter((insert) => insert.querySelector(".whisker").getBoundingClientRect().right > insert.querySelector(".label").getBoundingClientRect().left));
  assert.strictEqual(covered.length, 0, "a whisker crosses its label");
  // A line a target in the legend and the readout, the others faint.
  const lines = await page.evaluate(() => charts.find(({ spec }) => spec.title === "Replies a second").spec.series.map(({ name, faint, end }) => [name, Boolean(faint), end || null]));
  assert.deepStrictEqual(lines, [["tarndb round 2", true, null], ["tarndb round 3", true, null], ["cassandra round 3", true, null], ["tarndb", false, "tarndb"], ["cassandra", false, "cassandra"]]);
  await page.close();
  const alone = await open("aerospike-cassandra");
  assert.strictEqual(await alone.$$eval(".whisker, .range, .rounds", (all) => all.length), 0);
  assert.ok(!(await alone.$eval("main", (main) => main.innerText)).includes("medians"));
  assert.strictEqual(await alone.evaluate(() => charts.filter(({ spec }) => spec.series.some(({ faint, whiskers }) => faint || whiskers?.length)).length), 0);
  await alone.close();
});

test("a comparison has the medians of several rounds with their extremes, beside a run of one", async () => {
  const page = await open("compare-repeats");
  const rows = await page.$$eval("#compare tbody tr", (all) => all.map((row) => [...row.children].map((cell) => cell.innerText.replace(/\s+/g, " "))));
  const [, once, , several, cut] = rows.find(([measure]) => measure === "read replies/s");
  assert.match(once, /^[\d,]+$/);
  assert.match(several, /^[\d,]+ [\d.]+ × [\d,]+–[\d,]+$/);
  assert.match(cut, / 2 of 3 rounds$/);
  assert.ok((await page.$eval(".differences", (section) => section.innerText)).includes("repeats ≠"));
  await page.close();
});

test("error bars can be seen in light and dark", async () => {
  for (const dark of [false, true]) {
    const page = await open("repeats", { dark });
    const [line, paper] = await page.evaluate(() => {
      const probe = document.createElement("canvas").getContext("2d");
      const light = (colour) => {
        probe.fillStyle = colour;
        probe.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => ((part / 255 + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const end = getComputedStyle(document.querySelector("#ratios .whisker"), "::before");
      return [light(end.backgroundColor), light(getComputedStyle(document.documentElement).backgroundColor)];
    });
    const contrast = (Math.max(line, paper) + 0.05) / (Math.min(line, paper) + 0.05);
    assert.ok(contrast > 7, `${dark ? "dark" : "light"}: ${contrast}`);
    await page.close();
  }
});

test("points of a scaling chart have error bars and say what they are", async () => {
  const page = await open("repeats-scaleout");
  const whiskers = await page.evaluate(() => charts.find(({ spec }) => spec.title.startsWith("read")).spec.series[0].whiskers);
  assert.deepStrictEqual(whiskers.map(([nodes]) => nodes), [3, 5, 10, 20]);
  for (const [, lowest, highest] of whiskers) assert.ok(Math.abs(lowest / highest - 0.84) < 0.001, `${lowest} ${highest}`);
  await page.focus("#scaling .plot");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.match(await page.$eval("#scaling .readout", (text) => text.textContent), /3 nodes: .* \(median; lowest [\d,]+\/s, highest [\d,]+\/s\)/);
  assert.match(await page.$eval("#scaling .caption", (caption) => caption.textContent), /lowest to the highest of the rounds/);
  assert.match(await page.$eval("#costs tbody", (body) => body.textContent), /\$[\d.]+–\$[\d.]+/);
  await page.close();
});

test("paper has every chart, whole and light", async () => {
  const page = await open("aerospike-cassandra", { dark: true });
  const count = (await page.$$("figure.chart")).length;
  // What stands on paper is what the page is between these two events.
  await page.evaluate(() => {
    window.addEventListener("beforeprint", () => queueMicrotask(() => {
      window.printed = {
        paper: getComputedStyle(document.documentElement).getPropertyValue("--paper"),
        charts: charts.map(({ chart: u, plot }) => ({ width: u.width, room: plot.clientWidth, ink: u.ctx.getImageData(0, 0, u.ctx.canvas.width, u.ctx.canvas.height).data.some((part) => part > 0) })),
      };
    }));
  });
  const pdf = await page.pdf({ format: "A4" });
  const { paper, charts } = await page.evaluate(() => window.printed);
  assert.strictEqual(paper.trim(), "#fdfcf8");
  assert.strictEqual(charts.length, count);
  for (const { width, room } of charts) assert.ok(width <= 703 && width <= room, `${width} of ${room}`);
  // A canvas is a drawing (Form) of its own on paper, or an image.
  const drawings = Buffer.from(pdf).toString("latin1").match(/\/Subtype ?\/(Form|Image)/g) || [];
  assert.ok(drawings.length >= count, `${drawings.length} drawings for ${count} charts`);
  await page.close();
});
