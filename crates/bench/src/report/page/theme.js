// Colours. They stand in page.css alone; charts read them from there, and are drawn again when they change.
"use strict";

// A canvas is drawn at least twice as fine as CSS pixels are, so that paper and zoomed pages are sharp. uPlot reads this when it starts.
const finest = Math.max(2, window.devicePixelRatio || 1);
Object.defineProperty(window, "devicePixelRatio", { configurable: true, get: () => finest });

const SERIES_COLOURS = 7;
const themeListeners = [];

/** A colour of page.css as the page has it now. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Colour of the n-th target; the eighth has the first's, and dashes. */
function seriesColour(index) {
  return colour(`series-${index % SERIES_COLOURS}`);
}

function seriesDash(index) {
  return index < SERIES_COLOURS ? null : [6, 3];
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** "light", "dark", or null for what the system says. */
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  for (const listener of themeListeners) listener();
}

function themeSwitch() {
  const button = el("button", { type: "button", class: "switch" });
  const name = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Show this page ${isDark() ? "light" : "dark"}`);
  };
  button.addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
  themeListeners.push(name);
  name();
  return button;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  if (!document.documentElement.dataset.theme) setTheme(null);
});
