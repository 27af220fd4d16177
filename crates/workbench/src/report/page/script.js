// Draws the charts of the page. The figures, axes and ticks are computed already; see report/drawing.rs.
(function () {
  "use strict";
  const root = document.documentElement;

  // Tests read this attribute: errors, refused requests, and those that were made.
  function report(what) {
    root.dataset.errors = (root.dataset.errors || "") + what + "\n";
  }
  window.addEventListener("error", (event) => report(event.message));
  document.addEventListener("securitypolicyviolation", (event) => report("refused: " + event.blockedURI));
  window.addEventListener("load", () => performance.getEntriesByType("resource").forEach((entry) => report("requested: " + entry.name)));

  const [MIN, Q1, MEDIAN, Q3, MAX] = ["min", "q1", "median", "q3", "max"];
  const DASHES = [[8, 5], [2, 4], [12, 4, 2, 4], [5, 2]];
  const SHAPES = ["circle", "square", "triangle", "diamond", "cross"];

  // Over time, longer lines have no points.
  const POINTS_MAX = 40;

  // Numbers.

  function decimals(value) {
    const size = Math.abs(value);
    if (size === 0 || size >= 1000 || Number.isInteger(value)) return 0;
    return size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
  }
  function separated(value, digits) {
    return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }
  const exact = (value) => value.toLocaleString("en", { maximumFractionDigits: 4 });
  function shown(value) {
    return value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(1) : separated(value, decimals(value));
  }
  function tick(value) {
    for (const [factor, unit] of [[1e9, " G"], [1e6, " M"]]) {
      if (Math.abs(value) >= factor) return exact(value / factor) + unit;
    }
    return value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential() : exact(value);
  }

  // Colours of the current theme.

  function colours() {
    const style = getComputedStyle(root);
    const of = (name) => style.getPropertyValue("--" + name).trim();
    const cycle = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => of("c" + n));
    const full = (one) => (one.colour === null ? of("grey") : cycle[one.colour % cycle.length]);
    return { of, word: (at) => cycle[at % cycle.length], series: (one) => mixed(full(one), of("back"), Math.max(0.3, 1 - 0.45 * one.shade)) };
  }
  // A share of one colour with the rest of another: "#0072b2" and "#ffffff".
  function mixed(one, other, share) {
    const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    const [ours, theirs] = [parts(one), parts(other)];
    const both = ours.map((part, at) => Math.round(part * share + theirs[at] * (1 - share)));
    return "#" + both.map((part) => part.toString(16).padStart(2, "0")).join("");
  }

  // Shapes.

  function shape(context, name, x, y, radius) {
    context.beginPath();
    if (name === "circle") context.arc(x, y, radius, 0, 2 * Math.PI);
    if (name === "square") context.rect(x - radius * 0.9, y - radius * 0.9, radius * 1.8, radius * 1.8);
    if (name === "triangle") path(context, [[x, y - radius * 1.2], [x + radius * 1.1, y + radius * 0.8], [x - radius * 1.1, y + radius * 0.8]]);
    if (name === "diamond") path(context, [[x, y - radius * 1.3], [x + radius * 1.3, y], [x, y + radius * 1.3], [x - radius * 1.3, y]]);
    if (name === "cross") {
      context.moveTo(x - radius, y - radius); context.lineTo(x + radius, y + radius);
      context.moveTo(x + radius, y - radius); context.lineTo(x - radius, y + radius);
    }
  }
  function path(context, points) {
    points.forEach(([x, y], at) => (at === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
    context.closePath();
  }
  function segment(context, fromX, fromY, toX, toY) {
    context.beginPath(); context.moveTo(fromX, fromY); context.lineTo(toX, toY); context.stroke();
  }

  // Points of a line, with the least and the greatest of repeats.
  function drawPoints(plot, series, style) {
    const { context, pixel, y } = style;
    context.lineWidth = 1.5 * pixel;
    series.points.forEach((point, at) => {
      if (point === null) return;
      const x = plot.valToPos(plot.data[0][at], "x", true);
      if (point[MAX] > point[MIN]) {
        segment(context, x, y(point[MIN]), x, y(point[MAX]));
        [MIN, MAX].forEach((end) => segment(context, x - 4 * pixel, y(point[end]), x + 4 * pixel, y(point[end])));
      }
      shape(context, style.shape, x, y(point[MEDIAN]), style.radius * pixel);
      context.fillStyle = series.published ? style.back : style.colour;
      context.fill(); context.stroke();
    });
  }

  // Bars side by side; those of publications are hollow.
  function drawBars(plot, series, style) {
    const { context, pixel, y } = style;
    const base = y(plot.scales.y.min);
    series.points.forEach((point, at) => {
      if (point === null) return;
      const [left, width] = slot(plot, at, style);
      const top = y(point[MEDIAN]);
      if (series.published) {
        context.setLineDash(style.dash); context.strokeRect(left, top, width, base - top); context.setLineDash([]);
      } else {
        context.fillStyle = style.chart.colours_words ? style.word(at) : style.colour;
        context.fillRect(left, top, width, base - top);
        context.fillStyle = style.colour;
      }
      if (point[MAX] > point[MIN]) {
        context.strokeStyle = style.text;
        segment(context, left + width / 2, y(point[MIN]), left + width / 2, y(point[MAX]));
        context.strokeStyle = style.colour;
      }
    });
  }

  // Boxes from the first to the third quartile, a line at the median, whiskers to the least and the greatest.
  function drawBoxes(plot, series, style) {
    const { context, pixel, y } = style;
    series.points.forEach((point, at) => {
      if (point === null) return;
      const [left, width] = slot(plot, at, style);
      const middle = left + width / 2;
      if (series.published || point.count === 1) {
        context.setLineDash(series.published ? style.dash : []);
        context.lineWidth = 3 * pixel;
        segment(context, left, y(point[MEDIAN]), left + width, y(point[MEDIAN]));
        context.setLineDash([]);
        return;
      }
      context.lineWidth = 1.5 * pixel;
      segment(context, middle, y(point[MIN]), middle, y(point[Q1]));
      segment(context, middle, y(point[Q3]), middle, y(point[MAX]));
      [MIN, MAX].forEach((end) => segment(context, left + width / 4, y(point[end]), left + width * 0.75, y(point[end])));
      context.globalAlpha = 0.3;
      context.fillRect(left, y(point[Q3]), width, y(point[Q1]) - y(point[Q3]));
      context.globalAlpha = 1;
      context.strokeRect(left, y(point[Q3]), width, y(point[Q1]) - y(point[Q3]));
      context.lineWidth = 3 * pixel;
      segment(context, left, y(point[MEDIAN]), left + width, y(point[MEDIAN]));
    });
  }

  // The left side and the width of the bar of a series at a word, among those that have a figure there.
  function slot(plot, at, { chart, place, pixel }) {
    const present = (word) => chart.series.filter((series) => series.points[word] !== null);
    const most = Math.max(...chart.xs.map((_, word) => present(word).length));
    const whole = plot.valToPos(at + 1, "x", true) - plot.valToPos(at, "x", true);
    const width = Math.min((whole * 0.78) / most, 90 * pixel);
    const rank = present(at).indexOf(chart.series[place]);
    const left = plot.valToPos(at, "x", true) + width * (rank - present(at).length / 2);
    return [left + width * 0.06, width * 0.88];
  }

  function drawSeries(chart, theme) {
    return (plot, at) => {
      const series = chart.series[at - 1];
      if (!plot.series[at].show) return;
      const figures = series.points.filter((point) => point !== null).length;
      if (chart.kind === "time" && figures > POINTS_MAX) return;
      const context = plot.ctx;
      const pixel = devicePixelRatio;
      const colour = theme.series(series);
      const style = {
        context, pixel, colour, word: theme.word, back: theme.of("back"), text: theme.of("text"),
        y: (value) => plot.valToPos(Math.max(value, plot.scales.y.distr === 3 ? plot.scales.y.min : value), "y", true),
        shape: SHAPES[(at - 1) % SHAPES.length], dash: dash(chart, at - 1).map((n) => n * pixel),
        chart, place: at - 1,
        radius: chart.kind === "time" ? 2.6 : 3.6,
      };
      context.save();
      context.beginPath();
      context.rect(plot.bbox.left - 8 * pixel, plot.bbox.top - 8 * pixel, plot.bbox.width + 16 * pixel, plot.bbox.height + 8 * pixel);
      context.clip();
      context.setLineDash([]);
      context.strokeStyle = context.fillStyle = colour;
      context.lineWidth = 1.5 * pixel;
      ({ line: drawPoints, time: drawPoints, bar: drawBars, quartiles: drawBoxes })[chart.kind](plot, series, style);
      context.restore();
    };
  }

  function dash(chart, place) {
    if (!chart.series[place].published) return [];
    const before = chart.series.slice(0, place).filter((series) => series.published).length;
    return DASHES[before % DASHES.length];
  }

  // The options of uPlot for a chart.

  function scale(axis, fixed) {
    const logs = { linear: {}, log2: { distr: 3, log: 2 }, log10: { distr: 3, log: 10 } }[axis.scale];
    const range = fixed ? [axis.from, axis.to] : (_, min, max) => [min === null ? axis.from : min, max === null ? axis.to : max];
    return Object.assign({ time: false, auto: false, range }, logs, fixed ? {} : { min: axis.from, max: axis.to });
  }

  function axes(chart, theme) {
    const common = { stroke: theme.of("soft"), font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" };
    const grid = { stroke: theme.of("grid"), width: 1 };
    const words = chart.words;
    const x = Object.assign({}, common, {
      label: chart.x_name, labelSize: 20, size: 30, space: 80, grid: words.length ? { show: false } : grid, ticks: { stroke: theme.of("grid"), size: 5 },
      values: (_, ticks) => ticks.map((value) => (words.length ? words[value] : tick(value))),
    });
    if (chart.kind !== "time" || chart.x.scale !== "linear") {
      x.splits = () => chart.x.ticks;
      x.filter = (_, ticks) => ticks;
    }
    if (words.length) wrap(x, words);
    const y = Object.assign({}, common, {
      grid, ticks: { stroke: theme.of("grid"), size: 5 }, splits: () => chart.y.ticks, filter: (_, ticks) => ticks,
      values: (_, ticks) => ticks.map(tick), size: width(chart.y.ticks.map(tick)),
    });
    return [x, y];
  }
  function width(labels) {
    const context = document.createElement("canvas").getContext("2d");
    context.font = "12px system-ui, sans-serif";
    return Math.ceil(Math.max(...labels.map((label) => context.measureText(label).width), 16)) + 16;
  }
  // Words that are long for their place are slanted.
  function wrap(axis, words) {
    const longest = Math.max(...words.map((word) => word.length));
    axis.rotate = (plot) => (longest * 7 > plot.bbox.width / devicePixelRatio / words.length ? -35 : 0);
    axis.size = (plot) => (plot && longest * 7 > plot.width / words.length ? 24 + Math.min(longest, 24) * 4 : 30);
  }

  function legendValue(chart, series) {
    return (plot, value, place, at) => {
      const point = at === null || at === undefined ? null : series.points[at];
      if (!point) return "";
      const spread = point[MAX] > point[MIN] ? " (" + shown(point[MIN]) + " to " + shown(point[MAX]) + ")" : "";
      return shown(point[MEDIAN]) + (chart.unit ? " " + chart.unit : "") + spread;
    };
  }

  // The nearest place with a figure of the series: lines are measured at different times.
  function nearest(plot, place, hovered) {
    const figures = plot.data[place];
    if (place === 0 || figures[hovered] !== null) return hovered;
    let [below, above] = [hovered, hovered];
    while (below > 0 && figures[below] === null) below -= 1;
    while (above < figures.length - 1 && figures[above] === null) above += 1;
    const distance = (at) => (figures[at] === null ? Infinity : Math.abs(plot.data[0][at] - plot.data[0][hovered]));
    return distance(below) <= distance(above) ? below : above;
  }

  function options(chart, element) {
    const theme = colours();
    const bars = chart.kind === "bar" || chart.kind === "quartiles";
    const series = chart.series.map((one, place) => ({
      label: one.name, stroke: theme.series(one), width: chart.kind === "time" ? 1.5 : 2, dash: dash(chart, place),
      fill: one.published ? undefined : theme.series(one), spanGaps: true, points: { show: false },
      paths: bars ? () => null : (plot, at, from, to) => lines(plot, at, from, to), value: legendValue(chart, one),
    }));
    const x = {
      label: chart.x_name,
      value: (_, value) => (value === null || value === undefined ? "point at the chart for values" : chart.words.length ? chart.words[value] : exact(value)),
    };
    return {
      width: element.clientWidth, height: height(element), series: [x, ...series], axes: axes(chart, theme),
      padding: [12, 24, 0, 0],
      scales: { x: scale(chart.x, chart.kind !== "time"), y: scale(chart.y, true) },
      legend: { markers: { fill: (plot, at) => (chart.series[at - 1].published ? "transparent" : theme.series(chart.series[at - 1])),
        stroke: (plot, at) => theme.series(chart.series[at - 1]), dash: (plot, at) => (chart.series[at - 1].published ? "dashed" : "solid") } },
      cursor: { y: false, drag: { x: chart.kind === "time", y: false }, points: { show: !bars }, dataIdx: chart.kind === "time" ? nearest : undefined },
      hooks: { drawSeries: [drawSeries(chart, theme)], draw: [(plot) => mark(element, plot)] },
    };
  }
  // A line without the area below it: `fill` is for the legend.
  function lines(plot, at, from, to) {
    const drawn = uPlot.paths.linear()(plot, at, from, to);
    if (drawn) drawn.fill = null;
    return drawn;
  }
  function mark(element, plot) {
    element.dataset.drawn = plot.series.length - 1;
  }
  function height(element) {
    return Math.round(Math.min(380, Math.max(230, element.clientWidth * 0.5)));
  }

  // The charts.

  const charts = JSON.parse(document.getElementById("charts").textContent);
  const plots = new Map();

  function draw(chart) {
    const element = document.querySelector("#" + CSS.escape(chart.id) + " > .plot");
    if (plots.has(element)) plots.get(element).destroy();
    const figures = (series) => series.points.map((point) => (point === null ? null : point[MEDIAN]));
    plots.set(element, new uPlot(options(chart, element), [chart.xs, ...chart.series.map(figures)], element));
  }
  const drawAll = () => charts.forEach(draw);
  drawAll();

  const sizes = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      const plot = plots.get(target);
      if (target.clientWidth > 0 && target.clientWidth !== plot.width) plot.setSize({ width: target.clientWidth, height: height(target) });
    }
  });
  plots.forEach((_, element) => sizes.observe(element));

  // The theme: that of the system until a click.

  const button = document.getElementById("theme");
  const themes = ["automatic", "light", "dark"];
  function setTheme(name) {
    if (name === "automatic") delete root.dataset.theme;
    else root.dataset.theme = name;
    button.textContent = "Theme: " + name;
    drawAll();
  }
  button.hidden = false;
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(root.dataset.theme || "automatic") + 1) % themes.length];
    setTheme(next);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

  // On paper, tables are open.
  const opened = [];
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not([open])").forEach((details) => { details.open = true; opened.push(details); });
  });
  window.addEventListener("afterprint", () => opened.splice(0).forEach((details) => { details.open = false; }));
})();
