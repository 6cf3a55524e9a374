"use strict";
// Reads the list at another threshold. Counts are whole numbers and theta an exact fraction, as in the certificates:
// floating point would decide otherwise at n = 100, theta = 7 % (in doubles, 100 * 0.07 > 7).
(() => {
  const panel = document.getElementById("explore");
  if (!panel) return;
  const find = (id) => document.getElementById(id);
  const { one, many } = panel.dataset;
  const n = BigInt(panel.dataset.n), margin = BigInt(panel.dataset.margin), candidates = BigInt(panel.dataset.candidates);
  const [slider, percent, reset, refused, reading] = ["slider", "percent", "reset", "refused", "reading"].map(find);
  const emitted = find("emitted"), chart = find("certificates");
  const rows = [...document.querySelectorAll("tr[data-units]")]
    .map((element) => ({ element, units: BigInt(element.dataset.units), isCertified: element.dataset.certified === "1" }));
  const marks = [...document.querySelectorAll("tr[data-units] .mark")];
  const dots = chart ? [...chart.querySelectorAll("circle[data-units]")] : [];
  const homes = new Map([...document.querySelectorAll(".reason")].map((place) => [place.dataset.reason, place]));
  rows.sort((a, b) => (a.units < b.units ? 1 : a.units > b.units ? -1 : 0)); // stable: page order within equal ones
  let shown = null;

  // "7.5" as the share 75/1000, exactly; null for what is no number from 0 to 100
  const share = (text) => {
    const found = /^\s*(\d{0,80})(?:[.,](\d{0,400}))?(?:[eE]([+-]?\d{1,3}))?\s*%?\s*$/.exec(text);
    const digits = found ? found[1] + (found[2] || "") : "";
    if (!digits) return null;
    const places = (found[2] || "").length + 2 - Number(found[3] || 0);
    const top = BigInt(digits) * 10n ** BigInt(Math.max(-places, 0)), bottom = 10n ** BigInt(Math.max(places, 0));
    return top <= bottom ? { top, bottom } : null;
  };
  const thresholdUnits = ({ top, bottom }) => (n * top + bottom - 1n) / bottom;
  const counted = (units) => `${units.toLocaleString("en")} ${units === 1n ? one : many}`;
  const spell = (text) => text.trim().replace("%", "").trim().replace(",", ".");

  const say = (text, threshold, list) => {
    const unsure = list.filter((row) => !row.isCertified).length;
    const said = [
      `θ = ${text}\u00a0%: ${counted(threshold)}.`,
      `${list.length.toLocaleString("en")} of ${candidates.toLocaleString("en")} candidates emitted` +
        (unsure ? `, ${unsure.toLocaleString("en")} of them without a certificate` : "") + ".",
    ];
    if (threshold === 0n) said.push("A threshold of 0 emits everything: only the certificates say something.");
    if (threshold > 0n && threshold + margin > n) {
      said.push(`Vacuous: threshold and margin (${margin.toLocaleString("en")}) together exceed the ${counted(n)}.`);
    }
    return said.join(" ");
  };

  const place = (threshold) => {
    const list = rows.filter((row) => row.units >= threshold);
    if (shown !== list.length) {
      for (const row of rows) {
        const home = homes.get(row.element.dataset.home);
        (row.units >= threshold ? emitted : home.querySelector("tbody")).append(row.element);
      }
      for (const home of homes.values()) {
        const count = home.querySelectorAll("tbody tr").length;
        home.hidden = count === 0;
        home.querySelector(".count").textContent = count.toLocaleString("en");
      }
      find("none-emitted").hidden = list.length > 0;
      find("none-abstained").hidden = list.length < rows.length;
      shown = list.length;
    }
    return list;
  };

  const draw = (text, threshold) => {
    const at = `${((100 * Number(threshold)) / Number(n)).toFixed(2)}%`;
    for (const mark of marks) mark.setAttribute("x", at);
    if (!chart) return;
    const [over, under] = chart.dataset.top.split("/");
    const height = 100 * (1 - (Number(threshold) * Number(under || 1)) / Number(over));
    const line = chart.querySelector(".threshold"), name = chart.querySelector(".name");
    for (const [element, ends] of [[line, ["y1", "y2"]], [name, ["y"]]]) {
      element.setAttribute("display", height < 0 ? "none" : "inline");
      for (const end of ends) element.setAttribute(end, `${height.toFixed(2)}%`);
    }
    name.textContent = `threshold ${text}\u00a0%`;
    for (const dot of dots) dot.setAttribute("class", BigInt(dot.dataset.units) >= threshold ? "emit" : "abstain");
  };

  const show = (text) => {
    const found = share(text);
    refused.hidden = found !== null;
    percent.setAttribute("aria-invalid", String(found === null));
    if (found === null) { // what is listed was not read at this: no reading stands beside it
      reading.value = `${text.trim() ? `“${text.trim()}” is` : "An empty field is"} not a share between 0 and 100\u00a0%. The list below is unchanged.`;
      return;
    }
    const spelled = spell(text), threshold = thresholdUnits(found), list = place(threshold);
    draw(spelled, threshold);
    reading.value = say(spelled, threshold, list);
    slider.value = String((1000n * found.top) / found.bottom);
    slider.setAttribute("aria-valuetext", `${spelled} %, ${counted(threshold)}`);
    find("moved").hidden = spelled === panel.dataset.asked;
    find("moved-theta").textContent = `θ = ${spelled}\u00a0%`;
  };

  slider.addEventListener("input", () => {
    const tenths = slider.value;
    percent.value = `${Math.floor(tenths / 10)}${tenths % 10 ? `.${tenths % 10}` : ""}`;
    show(percent.value);
  });
  percent.addEventListener("input", () => show(percent.value));
  reset.addEventListener("click", () => {
    percent.value = panel.dataset.asked;
    show(percent.value);
  });
  panel.addEventListener("submit", (event) => event.preventDefault());
  percent.value = panel.dataset.asked;
  show(percent.value);
  panel.hidden = false;
})();
