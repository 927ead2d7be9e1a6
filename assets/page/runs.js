/* The views of the page Runs. The table is brought up to date cell by cell, so that a refresh takes no focus, no open
   details and no ticked box away. */
(() => {
  const { mounts, parts, views } = window.medfact;
  const { make, note, interval } = parts;

  const FEWEST = 2;
  const MOST = 8;

  const chosen = new Map(); // run → title, of the runs that were ticked, on any page of the table
  const opened = new Set(); // runs whose "What happened" is open
  const told = new Map(); // run → what happened to it, as it was told last
  const lines = new Map(); // run → its line in the table
  let edited = ""; // the run whose name was edited last
  let showChoice = () => {};

  const when = (moment) => {
    const date = new Date(moment);
    const text = Number.isNaN(date.valueOf()) ? moment : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
    return make("time", { datetime: moment, title: moment }, text);
  };

  const named = (text) => make("bdi", { class: "mf-name" }, text);

  const openLink = (run, title) => make("a", { href: `/?run=${encodeURIComponent(run)}`, "data-key": `open:${run}`, "aria-label": `Open “${title}”` }, "Open");

  /* ------------------------------------------------------------------------------------------- above and below the table */

  views["runs-notice"] = (value) =>
    value.text
      ? make(
          "div",
          { class: "mf-note mf-warn mf-waiting-runs" },
          make("p", {}, value.text),
          make("ul", {}, value.runs.map((one) => make("li", {}, openLink(one.run, one.title), " ", named(one.title), ` on ${one.of}, `, when(one.at)))),
          value.more ? make("p", {}, value.more) : null,
        )
      : [];

  const said = (value, trigger) => {
    if (!value.text) return null;
    const line = make("p", { class: `mf-note ${value.kind}` }, value.text, value.name ? [named(value.name), value.after] : null);
    if (value.undo) {
      const undo = make("button", { type: "button", class: "mf-copy", "data-key": `undo:${value.undo}` }, "Undo");
      undo.addEventListener("click", () => trigger("undo", { run: value.undo }));
      line.append(" ", undo);
    }
    return line;
  };

  const choice = () => {
    const count = chosen.size;
    const few = count < FEWEST;
    const ready = !few && count <= MOST;
    if (!count) return lines.size >= FEWEST ? note("To compare runs, tick two to eight of them.") : null;
    const clear = make("button", { type: "button", class: "mf-copy", "data-key": "clear" }, "Clear");
    clear.addEventListener("click", () => {
      chosen.clear();
      for (const line of lines.values()) line.box.checked = false;
      showChoice();
    });
    const compare = ready
      ? make("a", { href: `/compare?runs=${[...chosen.keys()].join(",")}`, "data-key": "compare" }, "Compare")
      : make("a", { role: "link", "aria-disabled": "true", class: "mf-off", "aria-describedby": "mf-choice-reason" }, "Compare");
    return make(
      "p",
      { class: "mf-choice" },
      make("b", {}, `${count} ${count === 1 ? "run" : "runs"} chosen:`),
      " ",
      compare,
      ready ? null : make("span", { id: "mf-choice-reason" }, ` (choose two to eight: ${few ? "one more at least" : `${count - MOST} fewer`})`),
      " ",
      clear,
    );
  };

  mounts["runs-said"] = (element, props, trigger, watch) => {
    const message = make("div", { role: "status" });
    const choosing = make("div", { "aria-live": "polite" });
    element.append(make("div", { class: "mf-view mf-strip" }, message, choosing));
    const draw = () => {
      const value = props.value ?? { text: "" };
      if (value.undo) chosen.delete(value.undo);
      message.replaceChildren(...[said(value, trigger)].filter(Boolean));
      if (value.undo) message.querySelector("button").focus({ preventScroll: true }); // the row that had the focus is gone
      showChoice();
    };
    showChoice = () => {
      const focused = choosing.contains(document.activeElement);
      choosing.replaceChildren(...[choice()].filter(Boolean));
      if (focused) choosing.querySelector("[data-key=compare]")?.focus({ preventScroll: true });
    };
    watch("value", draw);
    draw();
  };

  /* ------------------------------------------------------------------------------------------------------------ the table */

  const HEADINGS = [
    { text: "Compare", title: "tick two to eight runs" },
    "Run",
    "Asked about",
    { text: "Right answers", title: "average accuracy: the share of right answers over all statements" },
    { text: "All eight right", title: "joint accuracy: the share of facts, true and false ones, with all eight statements right" },
    "State",
    { text: "Cost and time", title: "time: from when the model began to be asked to when that ended, its loading included" },
  ];

  /* What a cell shows is built anew only where it has changed. */
  const fill = (cell, value, build) => {
    const text = JSON.stringify(value);
    if (cell.mfShown === text) return;
    cell.mfShown = text;
    cell.replaceChildren(...make("div", {}, build(value)).childNodes);
  };

  const small = (text, title) => (text ? make("small", { class: "mf-rest", title }, text) : null);

  const CELLS = {
    who: (who) => [
      named(who.title),
      small(who.model),
      make("small", { class: "mf-rest" }, when(who.at), who.here ? ` · ${who.here}` : null),
      who.note ? make("small", { class: "mf-rest mf-noted", dir: "auto" }, who.note) : null,
    ],
    asked: (asked) => [make("span", { class: "mf-name" }, asked.data), small(asked.facts), small(asked.method), small(asked.pool)],
    right: (figure) => [...interval(figure).childNodes],
    all: (figure) => [...interval(figure).childNodes, small(figure.ways)],
    state: (state) => [
      make("span", { class: state.warn ? "mf-word mf-warned" : "mf-word" }, state.word),
      state.going ? make("span", { class: "mf-progress" }, make("progress", { max: state.total || 1, value: state.done, "aria-label": "progress" })) : null,
      state.rest.map((text) => small(text)),
    ],
    paid: (paid) => [make("span", { title: paid.cost.title }, paid.cost.text), small(paid.took)],
  };

  const happened = (value) => [
    make(
      "ul",
      { class: "mf-events" },
      value.events.map((event) => make("li", {}, when(event.at), ": ", event.what, event.said ? [" — ", event.said] : null)),
    ),
    value.changes.length ? value.changes.map((text) => note(text, "mf-warn")) : note(value.same),
    value.note ? [make("b", {}, "Note"), make("p", { class: "mf-noted", dir: "auto" }, value.note)] : null,
    make("b", {}, "What it was made from"),
    make("dl", { class: "mf-made" }, value.made.map((one) => [make("dt", { title: one.title }, one.what), make("dd", {}, one.text)])),
    value.notes.length ? [make("b", {}, "What was noted when it was made"), make("ul", { class: "mf-events" }, value.notes.map((text) => make("li", {}, text)))] : null,
  ];

  const newLine = (run, trigger) => {
    const box = make("input", { type: "checkbox", "data-key": `choose:${run}` });
    const cells = Object.fromEntries(
      Object.keys(CELLS).map((name, place) => {
        const label = HEADINGS[place + 1].text ?? HEADINGS[place + 1];
        return [name, name === "who" ? make("th", { scope: "row", role: "rowheader" }) : make("td", { role: "cell", "data-label": label, "data-figure": name })];
      }),
    );
    const actions = make("div", {});
    const story = make("td", { role: "cell", colspan: HEADINGS.length - 1, id: `mf-told-${run}` });
    const body = make(
      "tbody",
      { class: "mf-line", role: "rowgroup", "data-run": run },
      make("tr", { role: "row" }, make("td", { class: "mf-choose", role: "cell" }, make("label", {}, box)), Object.values(cells)),
      make("tr", { class: "mf-actions", role: "row" }, make("td", { role: "cell" }), make("td", { role: "cell", colspan: HEADINGS.length - 1 }, actions)),
      make("tr", { class: "mf-told", role: "row", hidden: true }, make("td", { role: "cell" }), story),
    );
    const line = { run, body, box, cells, actions, story, trigger, state: "" };
    box.addEventListener("change", () => {
      if (box.checked) chosen.set(run, line.title);
      else chosen.delete(run);
      showChoice();
    });
    return line;
  };

  const button = (line, key, text, does, more = {}) => {
    const made = make("button", { type: "button", class: "mf-copy", "data-key": `${key}:${line.run}`, "aria-label": `${text}: ${line.title}`, ...more }, text);
    made.addEventListener("click", does);
    return made;
  };

  const actionsOf = (line) => [
    openLink(line.run, line.title),
    button(line, "edit", "Name and note", () => {
      edited = line.run;
      line.trigger("edit", { run: line.run });
    }),
    make("a", { href: `/export/${encodeURIComponent(line.run)}`, "data-key": `export:${line.run}`, "aria-label": `Export “${line.title}”` }, "Export"),
    button(line, "told", "What happened", () => toggle(line), { "aria-expanded": String(opened.has(line.run)), "aria-controls": `mf-told-${line.run}` }),
    button(line, "delete", "Delete", () => line.trigger("delete", { run: line.run })),
  ];

  const toggle = (line) => {
    if (opened.has(line.run)) opened.delete(line.run);
    else opened.add(line.run);
    showStory(line);
    if (opened.has(line.run)) line.trigger("expand", { run: line.run });
  };

  const showStory = (line) => {
    const open = opened.has(line.run);
    line.story.parentElement.hidden = !open;
    line.body.querySelector("[aria-expanded]")?.setAttribute("aria-expanded", String(open));
    if (open) fill(line.story, told.get(line.run) ?? null, (value) => (value ? happened(value) : note("Looking at its data …")));
  };

  const update = (line, row) => {
    line.title = row.title;
    line.box.checked = chosen.has(line.run);
    line.box.setAttribute("aria-label", `Choose “${row.title}” to compare`);
    if (chosen.has(line.run)) chosen.set(line.run, row.title);
    fill(line.actions, row.title, () => actionsOf(line));
    const values = { ...row, paid: { cost: row.cost, took: row.took } };
    for (const [name, build] of Object.entries(CELLS)) fill(line.cells[name], values[name], build);
    if (opened.has(line.run) && line.state && line.state !== row.state.word) line.trigger("expand", { run: line.run });
    line.state = row.state.word;
    showStory(line);
  };

  const place = (table, rows, trigger) => {
    const kept = new Set(rows.map((row) => row.run));
    for (const [run, line] of lines) {
      if (kept.has(run)) continue;
      line.body.remove();
      lines.delete(run);
    }
    rows.forEach((row, index) => {
      const line = lines.get(row.run) ?? newLine(row.run, trigger);
      lines.set(row.run, line);
      update(line, row);
      const there = table.tBodies[index];
      if (there !== line.body) table.insertBefore(line.body, there ?? null);
    });
  };

  const pager = (value, trigger) => {
    const turn = (text, key, page, possible) => {
      const made = make("button", { type: "button", class: "mf-copy", "data-key": key, disabled: !possible }, text);
      made.addEventListener("click", () => trigger("select", { page }));
      return made;
    };
    if (value.pages < 2) return make("span", {}, value.where);
    return [
      make("span", {}, value.where),
      turn("← Newer", "newer", value.page - 1, value.page > 0),
      turn("Older →", "older", value.page + 1, value.page + 1 < value.pages),
    ];
  };

  const none = (text) =>
    text ? note(text) : make("p", { class: "mf-none" }, "No runs yet: start one on the page ", make("a", { href: "/" }, "Evaluate"), ".");

  const bin = (runs, trigger) => {
    if (!runs.length) return [];
    const back = (one) => {
      const made = make("button", { type: "button", class: "mf-copy", "aria-label": `Bring back: ${one.title}`, "data-key": `back:${one.run}` }, "Bring back");
      made.addEventListener("click", () => trigger("undo", { run: one.run }));
      return make("li", {}, made, " ", named(one.title), ` on ${one.of}`);
    };
    return runs.map(back);
  };

  mounts.runs = (element, props, trigger, watch) => {
    const table = make(
      "table",
      { class: "mf-table mf-runs", role: "table", "aria-label": "runs, newest first" },
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, HEADINGS.map((h) => make("th", { scope: "col", role: "columnheader", title: h.title }, h.text ?? h)))),
    );
    const nothing = make("div", {});
    const scroll = make("div", { class: "mf-scroll", tabindex: 0, role: "region", "aria-label": "runs" }, table);
    const pages = make("nav", { class: "mf-pager", "aria-label": "pages of the table" });
    const list = make("ul", {});
    const deleted = make("details", { class: "mf-deleted", hidden: true }, make("summary", {}), list);
    element.append(make("div", { class: "mf-view mf-view-runs" }, nothing, scroll, pages, deleted));
    const draw = () => {
      const value = props.value;
      scroll.hidden = pages.hidden = !value?.rows?.length;
      if (!value?.rows) return;
      place(table, value.rows, trigger);
      fill(nothing, value.rows.length ? null : value.none, (text) => (text === null ? null : none(text)));
      const focused = pages.contains(document.activeElement) ? document.activeElement.dataset.key : "";
      fill(pages, [value.where, value.page, value.pages], () => pager(value, trigger));
      if (focused) (pages.querySelector(`[data-key=${focused}]:not(:disabled)`) ?? pages.querySelector("button:not(:disabled)"))?.focus({ preventScroll: true });
      deleted.hidden = !value.deleted.length;
      deleted.firstElementChild.textContent = `Deleted runs (${value.deleted.length})`;
      fill(list, value.deleted, (runs) => bin(runs, trigger));
      showChoice();
    };
    watch("value", draw);
    draw();
  };

  mounts["runs-told"] = (element, props, trigger, watch) => {
    const take = () => {
      if (!props.value?.run) return;
      told.set(props.value.run, props.value);
      const line = lines.get(props.value.run);
      if (line) showStory(line);
    };
    watch("value", take);
    take();
  };

  /* After the editor opens, its first field; after it closes, the button that opened it. */
  window.medfact.focusRuns = (where) =>
    window.setTimeout(() => {
      const closed = !document.querySelector("#run-name");
      if (where === "name") document.querySelector("#run-name :is(input, textarea)")?.focus();
      else if (closed) document.querySelector(`[data-key="${CSS.escape(`edit:${edited}`)}"]`)?.focus();
    }, 100);
})();
