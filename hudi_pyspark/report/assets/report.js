"use strict";
(() => {
  const content = JSON.parse(document.getElementById("content").textContent);
  const one = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // Numbers and times in the reader's locale. Instants are wall-clock times, so no zone is applied.
  const numbers = new Intl.NumberFormat();
  const short = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
  const tenths = new Intl.NumberFormat(undefined, {
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  });
  const hundredths = new Intl.NumberFormat(undefined, {
    minimumFractionDigits: 2,
    maximumFractionDigits: 2,
  });
  const percents = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });
  const moments = new Intl.DateTimeFormat(undefined, {
    dateStyle: "medium",
    timeStyle: "medium",
    timeZone: "UTC",
  });
  const bytes = (count) => {
    const units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let place = 0,
      value = count;
    while (value >= 999.95 && place < units.length - 1) {
      value /= 1000;
      place += 1;
    }
    return `${place ? tenths.format(value) : numbers.format(value)} ${units[place]}`;
  };
  const span = (seconds) => {
    for (const [unit, length] of [
      ["d", 86400],
      ["h", 3600],
      ["min", 60],
    ]) {
      if (Math.abs(seconds) >= length) return `${tenths.format(seconds / length)} ${unit}`;
    }
    return `${numbers.format(Math.round(seconds * 1000) / 1000)} s`;
  };
  const moment = (instant) => {
    const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/.exec(instant);
    return parts ? moments.format(Date.UTC(parts[1], parts[2] - 1, ...parts.slice(3))) : instant;
  };
  const formats = {
    num: numbers.format,
    size: bytes,
    percent: percents.format,
    factor: (f) => `${hundredths.format(f)}×`,
  };
  for (const data of all("data")) data.textContent = formats[data.className](Number(data.value));
  for (const time of all("time.instant")) {
    time.title = time.dataset.instant;
    time.textContent = moment(time.dataset.instant);
  }

  const make = (kind, attributes, ...children) => {
    const node = kind instanceof Node ? kind : document.createElement(kind);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children);
    return node;
  };
  const html = (tag, attributes, ...children) => make(tag, attributes, ...children);
  const svg = (tag, attributes, ...children) =>
    make(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, ...children);

  // The hint beside the pointer or the focus.
  const tip = one("#tip");
  const hint = (node, text) => {
    const show = (x, y) => {
      tip.textContent = text;
      tip.hidden = false;
      const box = tip.getBoundingClientRect();
      tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - box.width - 8))}px`;
      tip.style.top = `${y + box.height + 24 > innerHeight ? y - box.height - 12 : y + 14}px`;
    };
    const hide = () => {
      tip.hidden = true;
    };
    node.addEventListener("pointermove", (event) => show(event.clientX, event.clientY));
    node.addEventListener("pointerleave", hide);
    node.addEventListener("focus", () => {
      if (!node.matches(":focus-visible")) return;
      const box = node.getBoundingClientRect();
      show(box.right, box.bottom);
    });
    node.addEventListener("blur", hide);
    return node;
  };

  // Charts are drawn for the width that they have, and again when it changes.
  const chart = (id, draw) => {
    const host = document.getElementById(id);
    let width = 0;
    const redraw = () => {
      width = host.clientWidth;
      if (width) host.replaceChildren(draw(width));
    };
    new ResizeObserver(() => {
      if (host.clientWidth !== width) redraw();
    }).observe(host);
    redraw();
    return redraw;
  };
  const canvas = (width, height, attributes, ...children) =>
    svg("svg", { viewBox: `0 0 ${width} ${height}`, height, ...attributes }, ...children);
  const label = (x, y, text, attributes = {}) => svg("text", { x, y, ...attributes }, text);
  const line = (x1, y1, x2, y2, attributes = {}) => svg("line", { x1, y1, x2, y2, ...attributes });
  const cut = (text, width) => {
    const most = Math.max(1, Math.floor(width / 6.2));
    return [...text].length <= most ? text : `${[...text].slice(0, most - 1).join("")}…`;
  };
  // What paths have in common at their beginning, up to a slash or an equals sign.
  const commonStart = (paths) => {
    const [first = "", ...rest] = paths;
    let end = rest.length ? first.length : 0;
    for (const path of rest) while (!path.startsWith(first.slice(0, end))) end -= 1;
    return first.slice(
      0,
      Math.max(first.lastIndexOf("/", end - 1), first.lastIndexOf("=", end - 1)) + 1,
    );
  };
  const niceTicks = (most, count = 4) => {
    const rough = most / count || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
    return Array.from({ length: Math.ceil(most / step) + 1 }, (_, place) => place * step);
  };
  const nothing = (width, text) =>
    canvas(
      width,
      60,
      { role: "img", "aria-label": text },
      label(width / 2, 34, text, { "text-anchor": "middle" }),
    );

  // Sorting, and rows beyond the first ones on request.
  for (const table of all("table.sortable")) {
    const body = table.tBodies[0];
    const shown = Number(table.dataset.shown);
    let isWhole = body.rows.length <= shown;
    const trim = () =>
      [...body.rows].forEach((row, place) => {
        row.hidden = !isWhole && place >= shown;
      });
    trim();
    if (!isWhole) {
      const more = html(
        "button",
        { type: "button", class: "more" },
        `Show all ${numbers.format(body.rows.length)}`,
      );
      more.addEventListener("click", () => {
        isWhole = true;
        more.remove();
        trim();
      });
      table.parentElement.append(more);
    }
    all("thead th", table).forEach((head, column) => {
      one("button", head).addEventListener("click", () => {
        const isUp =
          head.getAttribute("aria-sort") === "ascending" ||
          (!head.hasAttribute("aria-sort") && !head.classList.contains("text"));
        const sign = isUp ? -1 : 1;
        for (const other of all("thead th", table)) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", isUp ? "descending" : "ascending");
        const key = (row) => row.cells[column]?.dataset.sort ?? "";
        body.append(
          ...[...body.rows].sort((left, right) => {
            const [a, b] = [key(left), key(right)];
            if (a === "" || b === "") return (a === "") - (b === ""); // unknown values come last
            const difference = Number(a) - Number(b);
            return sign * (Number.isNaN(difference) ? a.localeCompare(b) : difference);
          }),
        );
        trim();
      });
    });
  }
  for (const code of all(".code")) {
    if (!navigator.clipboard) break;
    const copy = html("button", { type: "button", class: "copy" }, "Copy");
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(one("code", code).textContent);
      copy.textContent = "Copied";
    });
    code.append(copy);
  }
  one("#theme").addEventListener("click", () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });
  addEventListener("beforeprint", () =>
    all("details").forEach((details) => {
      details.open = true;
    }),
  );
  if (!content.timeline) return; // the page over several tables

  // The timeline: a lane per action, durations below, zoomed by buttons, keys, wheel and dragging.
  const marks = content.timeline.marks;
  const commits = new Map(
    content.timeline.commits.map((commit) => [commit.requested_time, commit]),
  );
  const lanes = [...new Set(marks.map((mark) => mark.lane))];
  const first = Math.min(...marks.map((mark) => mark.start));
  const last = Math.max(...marks.map((mark) => mark.end));
  const margin = Math.max(1000, (last - first) * 0.02);
  const whole = [first - margin, last + margin];
  let range = whole,
    chosen = null,
    current = marks.length - 1;
  const clock = (milliseconds, width) => {
    const [seconds, days] = [width < 36e5, width > 3 * 864e5];
    const form = days
      ? { month: "short", day: "numeric", ...(width > 300 * 864e5 ? { year: "numeric" } : {}) }
      : { hour: "2-digit", minute: "2-digit", ...(seconds ? { second: "2-digit" } : {}) };
    return new Intl.DateTimeFormat(undefined, { ...form, timeZone: "UTC" }).format(milliseconds);
  };
  const described = (mark) =>
    [
      `${mark.operation || mark.action} ${mark.state}`,
      moment(mark.instant),
      mark.seconds === null ? "" : `took ${span(mark.seconds)}`,
      mark.written_bytes ? `${bytes(mark.written_bytes)} written` : "",
    ]
      .filter(Boolean)
      .join("\n");

  const drawTimeline = (width) => {
    if (!marks.length) return nothing(width, "No instant yet");
    const isNarrow = width < 560;
    const left = isNarrow ? 4 : 118,
      laneHeight = isNarrow ? 40 : 30,
      top = 8;
    const lanesEnd = top + lanes.length * laneHeight;
    const timed = marks.filter((mark) => mark.seconds !== null);
    const height = lanesEnd + (timed.length ? 132 : 34);
    const x = (time) => left + ((time - range[0]) / (range[1] - range[0])) * (width - left - 8);
    const picture = canvas(width, height, {
      role: "group",
      "aria-label": `Timeline with ${lanes.length} lanes`,
    });
    const axis = svg("g", { class: "axis", "aria-hidden": "true" });
    picture.append(axis);
    const count = Math.max(2, Math.floor((width - left) / 110));
    for (let place = 0; place <= count; place += 1) {
      const time = range[0] + ((place + 0.5) / (count + 1)) * (range[1] - range[0]);
      axis.append(
        line(x(time), top, x(time), height - 18),
        label(x(time), height - 4, clock(time, range[1] - range[0]), { "text-anchor": "middle" }),
      );
    }
    lanes.forEach((lane, place) => {
      const y = top + place * laneHeight;
      axis.append(line(left, y + laneHeight, width, y + laneHeight));
      axis.append(
        isNarrow
          ? label(left, y + 12, lane)
          : label(left - 10, y + 19, lane, { "text-anchor": "end" }),
      );
    });
    const seconds = timed.map((mark) => Math.log10(mark.seconds));
    const [low, high] = [Math.floor(Math.min(...seconds)), Math.ceil(Math.max(...seconds) + 1e-9)];
    const durationY = (mark) =>
      height - 26 - ((Math.log10(mark.seconds) - low) / Math.max(1, high - low)) * 76;
    if (timed.length) {
      for (let power = low; power <= high; power += 1) {
        const y = height - 26 - ((power - low) / Math.max(1, high - low)) * 76;
        axis.append(
          line(left, y, width, y),
          label(isNarrow ? left : left - 10, y + (isNarrow ? -2 : 4), span(10 ** power), {
            "text-anchor": isNarrow ? "start" : "end",
          }),
        );
      }
    }
    const isShown = (mark) => mark.end >= range[0] && mark.start <= range[1];
    if (!isShown(marks[current])) current = Math.max(0, marks.findLastIndex(isShown));
    marks.forEach((mark, place) => {
      if (!isShown(mark)) return;
      const y = top + lanes.indexOf(mark.lane) * laneHeight + (isNarrow ? 18 : 7);
      const [from, to] = [Math.max(left, x(mark.start)), Math.min(width, x(mark.end))];
      const node = svg(
        "g",
        {
          class: `mark ${mark.state}${chosen === mark ? " chosen" : ""}`,
          role: "button",
          tabindex: place === current ? 0 : -1,
          "data-place": place,
          "aria-label": described(mark).replaceAll("\n", ", "),
        },
        svg("rect", { x: from - 2, y, width: Math.max(5, to - from), height: 16, rx: 3 }),
      );
      if (mark.seconds !== null)
        node.append(
          svg("circle", { cx: from, cy: durationY(mark), r: marks.length > 200 ? 2.5 : 4 }),
        );
      hint(node, described(mark));
      node.addEventListener("click", () => choose(place));
      picture.append(node);
    });
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const key = { "+": "in", "-": "out", 0: "all" }[event.key];
      if (step) move(step);
      else if (key) zoom(key);
      else if (event.key === "Enter" || event.key === " ") choose(current);
      else return;
      event.preventDefault();
    });
    picture.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        const at = range[0] + ((event.offsetX - left) / (width - left - 8)) * (range[1] - range[0]);
        zoom(event.deltaY < 0 ? "in" : "out", at);
      },
      { passive: false },
    );
    picture.addEventListener("pointerdown", (event) => {
      if (event.button || event.target.closest(".mark")) return;
      const box = picture.getBoundingClientRect();
      const start = event.clientX - box.left;
      const brush = svg("rect", {
        class: "brush",
        x: start,
        y: top,
        width: 0,
        height: height - 26,
      });
      picture.append(brush);
      const follow = (moved) => {
        const now = moved.clientX - box.left;
        make(brush, { x: Math.min(start, now), width: Math.abs(now - start) });
      };
      const finish = (ended) => {
        removeEventListener("pointermove", follow);
        removeEventListener("pointerup", finish);
        brush.remove();
        const times = [start, ended.clientX - box.left]
          .sort((a, b) => a - b)
          .map((place) => range[0] + ((place - left) / (width - left - 8)) * (range[1] - range[0]));
        if (Math.abs(ended.clientX - box.left - start) > 8) show(times);
      };
      addEventListener("pointermove", follow);
      addEventListener("pointerup", finish);
    });
    return picture;
  };
  const drawLanes = chart("lanes", drawTimeline);
  const show = ([from, to]) => {
    const length = Math.min(whole[1] - whole[0], Math.max(20, to - from));
    const start = Math.min(Math.max(whole[0], from), whole[1] - length);
    range = [start, start + length];
    drawLanes();
  };
  const zoom = (how, at = (range[0] + range[1]) / 2) => {
    const length = range[1] - range[0];
    const factor = { in: 0.5, out: 2 }[how];
    const shift = { left: -0.4, right: 0.4 }[how];
    if (how === "all") show(whole);
    else if (factor) show([at - (at - range[0]) * factor, at + (range[1] - at) * factor]);
    else show([range[0] + shift * length, range[1] + shift * length]);
  };
  for (const button of all("[data-zoom]"))
    button.addEventListener("click", () => zoom(button.dataset.zoom));
  const move = (step) => {
    current = Math.min(marks.length - 1, Math.max(0, current + step));
    const mark = marks[current];
    if (mark.start < range[0] || mark.start > range[1]) {
      const half = (range[1] - range[0]) / 2;
      show([mark.start - half, mark.start + half]);
    } else drawLanes();
    one(`#lanes [data-place="${current}"]`).focus();
  };
  const isolated = (text) => html("bdi", {}, text);
  const choose = (place) => {
    const hadFocus = one("#lanes").contains(document.activeElement);
    current = place;
    chosen = marks[place];
    drawLanes();
    if (hadFocus) one(`#lanes [data-place="${place}"]`).focus();
    const commit = commits.get(chosen.instant);
    const facts = html("dl", { class: "facts" });
    const fact = (name, value) => facts.append(html("dt", {}, name), html("dd", {}, value));
    fact("Requested", `${moment(chosen.instant)} (${chosen.instant})`);
    if (chosen.completed) fact("Completed", `${moment(chosen.completed)} (${chosen.completed})`);
    fact("State", chosen.state);
    if (chosen.seconds !== null) fact("Duration", span(chosen.seconds));
    const panel = one("#commit");
    panel.replaceChildren(
      html("h3", {}, isolated(`${chosen.operation || chosen.action} ${chosen.instant}`)),
      facts,
    );
    if (!commit) {
      if (chosen.operation)
        panel.append(html("p", { class: "none" }, "Only the newest commits have details here."));
      return;
    }
    fact(
      "Records changed",
      commit.changed
        ? `${numbers.format(commit.changed)}: ${numbers.format(commit.inserts)} inserted, ${numbers.format(commit.updates)} updated, ${numbers.format(commit.deletes)} deleted`
        : "none",
    );
    fact("Records written", numbers.format(commit.records));
    fact(
      "Files",
      `${numbers.format(commit.files)} (${bytes(commit.written_bytes)} written), ${numbers.format(commit.new_files)} of new file groups`,
    );
    if (commit.replaced_file_groups)
      fact("Replaced", `${numbers.format(commit.replaced_file_groups)} file groups`);
    const rows = commit.by_partition.map((row) =>
      html(
        "tr",
        {},
        html("th", { scope: "row" }, isolated(row.partition_path || "(unpartitioned)")),
        ...["files", "inserts", "updates", "deletes"].map((name) =>
          html("td", { class: "num" }, numbers.format(row[name])),
        ),
        html("td", { class: "size" }, bytes(row.written_bytes)),
      ),
    );
    const heads = ["Partition", "Files", "Inserts", "Updates", "Deletes", "Written"].map(
      (name, at) => html("th", { scope: "col", class: at ? "num" : "text" }, name),
    );
    const more = commit.partitions - commit.by_partition.length;
    panel.append(
      html(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Partitions of the commit" },
        html(
          "table",
          {},
          html(
            "caption",
            {},
            more > 0 ? `Largest of ${numbers.format(commit.partitions)} partitions` : "Partitions",
          ),
          html("thead", {}, html("tr", {}, ...heads)),
          html("tbody", {}, ...rows),
        ),
      ),
    );
  };

  // Bars over days or commits, one or several stacked series.
  const dayText = (day) =>
    new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" }).format(
      new Date(`${day}T00:00Z`),
    );
  const none = { inserts: 0, updates: 0, deletes: 0 }; // nobody changed what services wrote
  const units = {
    days: content.growth.days.map((day) => ({
      ...day,
      name: dayText(day.day),
      title: `${dayText(day.day)}, ${numbers.format(day.commits)} commits`,
    })),
    commits: content.timeline.commits.map((commit) => ({
      ...commit,
      ...(commit.changed ? {} : none),
      name: moment(commit.requested_time).replace(/^.*, /, ""),
      title: `${commit.operation} ${moment(commit.requested_time)}`,
    })),
  };
  let unit = units.days.length > 3 ? "days" : "commits";
  const bars = (series, format) => (width) => {
    const rows = units[unit];
    if (!rows.length) return nothing(width, "Nothing written yet");
    const height = 210,
      left = 58,
      bottom = 24,
      top = 8;
    const sums = rows.map((row) => series.reduce((sum, [name]) => sum + row[name], 0));
    const ticks = niceTicks(Math.max(...sums, 1));
    const most = ticks[ticks.length - 1];
    const y = (value) => height - bottom - (value / most) * (height - bottom - top);
    const step = (width - left - 4) / rows.length;
    const total = series.map(
      ([name]) =>
        `${format(rows.reduce((sum, row) => sum + row[name], 0))} ${name.replaceAll("_", " ")}`,
    );
    const picture = canvas(width, height, {
      role: "img",
      "aria-label": `Over ${numbers.format(rows.length)} ${unit}: ${total.join(", ")}`,
    });
    const axis = svg("g", { class: "axis" });
    picture.append(axis);
    for (const tick of ticks)
      axis.append(
        line(left, y(tick), width, y(tick)),
        label(left - 8, y(tick) + 4, format === bytes ? bytes(tick) : short.format(tick), {
          "text-anchor": "end",
        }),
      );
    const every = Math.ceil(rows.length / Math.max(1, Math.floor((width - left) / 84)));
    rows.forEach((row, place) => {
      const at = left + place * step;
      const barWidth = Math.max(1, Math.min(48, step * 0.78));
      const column = svg("g", { class: "bar" });
      let base = 0;
      for (const [name, color] of series) {
        if (row[name])
          column.append(
            svg("rect", {
              class: color,
              x: at + (step - barWidth) / 2,
              y: y(base + row[name]),
              width: barWidth,
              height: Math.max(1, y(base) - y(base + row[name])),
            }),
          );
        base += row[name];
      }
      column.append(
        svg("rect", { x: at, y: top, width: step, height: height - bottom - top, opacity: 0 }),
      );
      picture.append(
        hint(
          column,
          [
            row.title,
            ...series.map(([name]) => `${format(row[name])} ${name.replaceAll("_", " ")}`),
          ].join("\n"),
        ),
      );
      if (place % every === 0)
        axis.append(label(at + step / 2, height - 6, row.name, { "text-anchor": "middle" }));
    });
    return picture;
  };
  const drawn = [
    chart(
      "changed",
      bars(
        [
          ["inserts", "f-blue"],
          ["updates", "f-orange"],
          ["deletes", "f-red"],
        ],
        numbers.format,
      ),
    ),
    chart("written", bars([["written_bytes", "f-blue"]], bytes)),
  ];
  const press = () => {
    for (const button of all("[data-unit]"))
      button.setAttribute("aria-pressed", button.dataset.unit === unit);
  };
  for (const button of all("[data-unit]")) {
    button.addEventListener("click", () => {
      unit = button.dataset.unit;
      press();
      for (const draw of drawn) draw();
    });
  }
  press();

  // Partitions as a treemap, squarified.
  const squarify = (items, x, y, width, height) => {
    const placed = [];
    let rest = items.filter((item) => item.value > 0);
    let total = rest.reduce((sum, item) => sum + item.value, 0);
    while (rest.length && width > 0 && height > 0) {
      const isWide = width >= height;
      const side = isWide ? height : width;
      const scale = (width * height) / total;
      const worst = (row, sum) =>
        row.reduce((most, item) => {
          const thick = (sum * scale) / side,
            long = (item.value * scale) / thick;
          return Math.max(most, thick / long, long / thick);
        }, 0);
      let row = [rest[0]],
        sum = rest[0].value;
      while (row.length < rest.length) {
        const next = rest[row.length];
        if (worst([...row, next], sum + next.value) > worst(row, sum)) break;
        row.push(next);
        sum += next.value;
      }
      const thick = (sum * scale) / side;
      let at = 0;
      for (const item of row) {
        const long = (item.value * scale) / thick;
        placed.push(
          isWide
            ? { item, x, y: y + at, width: thick, height: long }
            : { item, x: x + at, y, width: long, height: thick },
        );
        at += long;
      }
      if (isWide) {
        x += thick;
        width -= thick;
      } else {
        y += thick;
        height -= thick;
      }
      rest = rest.slice(row.length);
      total -= sum;
    }
    return placed;
  };
  const { partitions, other_partitions: others } = content.storage;
  const common = commonStart(partitions.map((row) => row.partition_path)).length;
  const ofTile = ({ partition_path: path, name }) => path?.slice(common) || name;
  let tile = null;
  const drawTreemap = chart("treemap", (width) => {
    const height = Math.max(200, Math.min(280, width * 0.55));
    const items = partitions.map((row) => ({
      ...row,
      name: row.partition_path || "(unpartitioned)",
      value: row.bytes,
    }));
    const shownBytes = items.reduce((sum, item) => sum + item.value, 0);
    if (others.bytes && others.bytes < shownBytes)
      items.push({
        name: `${numbers.format(others.partitions)} smaller partitions`,
        value: others.bytes,
        bytes: others.bytes,
        log_bytes: others.log_bytes,
        slices: others.slices,
      });
    items.sort((a, b) => b.value - a.value);
    const placed = squarify(items, 0, 0, width, height);
    if (!placed.length) return nothing(width, "No data file yet");
    const picture = canvas(width, height, {
      role: "img",
      "aria-label": `${numbers.format(items.length)} partitions by size; the largest is ${items[0].name} with ${bytes(items[0].value)}. The table below has them all.`,
    });
    for (const { item, ...box } of placed) {
      const share = item.bytes ? item.log_bytes / item.bytes : 0;
      const node = svg("rect", {
        class: `tile${tile === item.name ? " chosen" : ""}`,
        ...box,
        rx: 3,
      });
      node.style.fill = `color-mix(in srgb, #b3570a ${Math.round(share * 100)}%, #2a5fa8)`;
      hint(
        node,
        `${item.name}\n${bytes(item.bytes)}, ${numbers.format(item.slices)} file groups\n${percents.format(share)} in log files`,
      );
      node.addEventListener("click", () => {
        tile = item.name;
        drawTreemap();
        findPartition(item.partition_path);
      });
      picture.append(node);
      if (box.width > 54 && box.height > 22)
        picture.append(
          label(box.x + 8, box.y + 17, cut(ofTile(item), box.width - 14), { class: "tile-text" }),
        );
      if (box.width > 54 && box.height > 40)
        picture.append(label(box.x + 8, box.y + 33, bytes(item.bytes), { class: "tile-text" }));
    }
    return picture;
  });
  const findPartition = (path) => {
    const table = one("#storage details table");
    const name = path === undefined ? null : path || "(unpartitioned)";
    table.closest("details").open = true;
    for (const row of table.tBodies[0].rows) {
      const isChosen = row.cells[0].dataset.sort === name;
      row.classList.toggle("chosen", isChosen);
      if (isChosen) {
        row.hidden = false;
        row.scrollIntoView({ block: "nearest" });
      }
    }
  };

  chart("histogram", (width) => {
    const { histogram, small_file_bytes: small, largest_file_bytes: largest } = content.storage;
    if (!histogram.length) return nothing(width, "No base file yet");
    const height = 240,
      left = 44,
      bottom = 24,
      top = 34;
    const firstBin = Math.log2(Math.max(512, histogram[0].from));
    const lastBin = Math.max(
      Math.ceil(Math.log2(largest)),
      Math.log2(histogram[histogram.length - 1].to),
    );
    const x = (size) =>
      left +
      ((Math.log2(Math.max(512, size)) - firstBin) / (lastBin - firstBin)) * (width - left - 8);
    const ticks = niceTicks(Math.max(...histogram.map((bin) => bin.files)), 4).filter(
      Number.isInteger,
    );
    const y = (files) =>
      height - bottom - (files / ticks[ticks.length - 1]) * (height - bottom - top);
    const smallShare = content.statistics.small_files / content.statistics.base_files;
    const picture = canvas(width, height, {
      role: "img",
      "aria-label": `Histogram of ${numbers.format(content.statistics.base_files)} base files; ${percents.format(smallShare)} are below Hudi's limit of small files`,
    });
    const axis = svg("g", { class: "axis" });
    picture.append(axis);
    for (const tick of ticks)
      axis.append(
        line(left, y(tick), width, y(tick)),
        label(left - 8, y(tick) + 4, short.format(tick), { "text-anchor": "end" }),
      );
    const room = Math.ceil(((lastBin - firstBin) * 64) / (width - left));
    for (let bin = Math.ceil(firstBin); bin < lastBin - 1; bin += room) {
      const size = 2 ** bin,
        unit = Math.min(4, Math.floor(bin / 10));
      axis.append(
        label(
          x(size),
          height - 6,
          `${size / 1024 ** unit} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`,
          { "text-anchor": "middle" },
        ),
      );
    }
    for (const bin of histogram.filter((row) => row.files)) {
      const [from, to] = [x(bin.from), x(bin.to)];
      picture.append(
        hint(
          svg("rect", {
            class: "f-blue",
            x: from + 1,
            y: y(bin.files),
            width: Math.max(2, to - from - 2),
            height: height - bottom - y(bin.files),
            rx: 2,
          }),
          `${bytes(bin.from)} to ${bytes(bin.to)}\n${numbers.format(bin.files)} files, ${bytes(bin.bytes)}`,
        ),
      );
    }
    picture.append(
      line(x(small), top - 12, x(small), height - bottom, { class: "limit" }),
      line(x(largest), top - 26, x(largest), height - bottom, { class: "limit" }),
      label(x(small) - 5, top - 4, "small below 100 MiB", {
        class: "limit-text",
        "text-anchor": "end",
      }),
      label(x(largest) - 5, top - 19, "full at 120 MiB", {
        class: "limit-text",
        "text-anchor": "end",
      }),
    );
    return picture;
  });

  chart("cost", (width) => {
    const { read_optimized_bytes: base, snapshot_bytes: snapshot } = content.storage;
    const left = width < 560 ? 0 : 118,
      room = width - left - 80;
    const row = (place, name, parts) => {
      const y = place * 44 + (left ? 4 : 16);
      let at = left;
      const nodes = [
        label(left ? left - 10 : 0, left ? y + 18 : y - 4, name, {
          "text-anchor": left ? "end" : "start",
        }),
      ];
      for (const [color, value] of parts) {
        const long = snapshot ? (value / snapshot) * room : 0;
        nodes.push(svg("rect", { class: color, x: at, y, width: long, height: 24, rx: 3 }));
        at += long;
      }
      nodes.push(label(at + 8, y + 16, bytes(parts.reduce((sum, [, value]) => sum + value, 0))));
      return nodes;
    };
    return canvas(
      width,
      92,
      {
        role: "img",
        "aria-label": `A read-optimized query reads ${bytes(base)}, a snapshot ${bytes(snapshot)}`,
      },
      ...row(0, "read-optimized", [["f-blue", base]]),
      ...row(1, "snapshot", [
        ["f-blue", base],
        ["f-orange", snapshot - base],
      ]),
    );
  });
})();
