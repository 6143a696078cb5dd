// A private headless Chromium, and pages in it that remember what they logged and asked for.
"use strict";

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const puppeteer = require("puppeteer-core");

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Starts the browser with an empty profile; `close` ends it and removes the profile. */
async function launch() {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "tarndb-report-"));
  const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, timeout: 180_000, protocolTimeout: 600_000, args: FLAGS, userDataDir: profile });
  return {
    /** Opens a file, or an address; `page.said` are its errors and messages, `page.asked` every request but that for itself. */
    async open(where, { width = 1200, height = 900, dark = false } = {}) {
      const page = await browser.newPage();
      page.said = [];
      page.asked = [];
      const url = where.includes("://") ? where : `file://${where}`;
      page.on("console", (message) => page.said.push(message.text()));
      page.on("pageerror", (error) => page.said.push(String(error)));
      page.on("dialog", (dialog) => { page.said.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
      page.on("request", (request) => { if (request.url() !== url && !request.url().startsWith("data:")) page.asked.push(request.url()); });
      await page.setViewport({ width, height, deviceScaleFactor: 1 });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
      await page.goto(url, { waitUntil: "load", timeout: 120_000 });
      await this.settled(page);
      return page;
    },
    /** Charts are drawn in microtasks after what changed them; frames do not come to a page behind another. */
    settled: (page) => page.evaluate(() => new Promise((done) => setTimeout(done, 0))),
    async close() {
      await browser.close();
      fs.rmSync(profile, { recursive: true, force: true });
    },
  };
}

module.exports = { launch };
