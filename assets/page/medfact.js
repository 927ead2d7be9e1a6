/* Views of the page. Every text goes through textContent: a name from a file is never markup, code or an address.
   (Templates of the page library are not used for data: they evaluate ${…} inside values.) */
(() => {
  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) node.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
    }
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined && child !== false) node.append(child);
    }
    return node;
  };

  const badge = (label) =>
    make("span", { class: `mf-badge ${label ? "mf-true" : "mf-false"}` }, label ? "true" : "FALSE (test statement)");

  const note = (text, kind = "") => make("p", { class: `mf-note ${kind}` }, text);

  const table = (headings, rows, caption) =>
    make(
      "div",
      { class: "mf-scroll", tabindex: 0, role: "region", "aria-label": caption },
      make(
        "table",
        { class: "mf-table" },
        make("thead", {}, make("tr", {}, headings.map((h) => make("th", { scope: "col", title: h.title }, h.text ?? h)))),
        make("tbody", {}, rows),
      ),
    );

  const views = {};

  views.facts = (value) => [
    table(
      ["relation", "type of the tails", "true facts", "different heads", "false partners", "kept aside for demonstrations"],
      value.relations.map((r) =>
        make("tr", {}, make("th", { scope: "row" }, r.name), [r.types, r.facts, r.heads, r.negatives, r.aside].map((n) => make("td", {}, n))),
      ),
      "facts by relation",
    ),
    value.notes.map((text) => note(text)),
    value.problems.length
      ? make(
          "details",
          { class: "mf-problems", open: true },
          make("summary", {}, value.problems_title),
          make("ul", {}, value.problems.map((text) => make("li", {}, text))),
        )
      : null,
  ];

  views.message = (value) => (value.text ? note(value.text, value.kind) : []);

  views.statements = (value) =>
    value.cards.length
      ? [value.cards.map(statementCard), turn(value.turn)]
      : note(value.none);

  const factLine = (fact) =>
    make(
      "span",
      {},
      make("b", {}, fact.head),
      make("span", { class: "mf-arrow" }, ` — ${fact.relation} → `),
      make("b", {}, fact.tail),
    );

  const statementCard = (card) =>
    make(
      "section",
      { class: "mf-card", "aria-label": `${card.fact.head}, ${card.fact.relation}, ${card.fact.tail}` },
      make("h4", {}, badge(true), " ", factLine(card.fact)),
      make(
        "p",
        { class: "mf-source" },
        card.fact.source,
        card.fact.links.map((link) => [
          " · ",
          make("a", { href: link.address, target: "_blank", rel: "noopener noreferrer" }, link.text),
        ]),
      ),
      card.partners.length
        ? make(
            "p",
            { class: "mf-partner" },
            card.partners.length > 1 ? "Its false partners say instead: " : "Its false partner says instead: ",
            card.partners.map((partner, index) => [index ? "; " : "", make("b", {}, partner.tail)]),
          )
        : make("p", { class: "mf-partner" }, "No safe false partner was found."),
      card.explanation.length
        ? make(
            "details",
            { class: "mf-explanation" },
            make("summary", {}, "How was the false partner drawn?"),
            make("ul", {}, card.explanation.map((text) => make("li", {}, text))),
            card.drawn.map((tail) =>
              make(
                "button",
                { type: "button", class: "mf-copy", "data-key": `reject:${card.fact.id}:${tail}` },
                card.drawn.length > 1 ? `“${tail}” is not false enough: draw another` : "Not false enough? Draw another",
              ),
            ),
          )
        : null,
      make(
        "div",
        { class: "mf-variants", role: "table", "aria-label": "statements" },
        make(
          "div",
          { class: "mf-variant mf-head", role: "row" },
          ["How it is said", "About the true fact", ["", "About its false partner", "About its false partners"][Math.min(card.partners.length, 2)]].map((text) =>
            make("div", { role: "columnheader" }, text),
          ),
        ),
        card.rows.map((row) =>
          make(
            "div",
            { class: "mf-variant", role: "row" },
            make(
              "div",
              { role: "rowheader", title: `the papers' key: ${row.key}` },
              make("span", { class: "mf-plain" }, row.plain),
              make("code", { class: "mf-predicate" }, row.predicate),
            ),
            [[row.fact], row.partners].map((said) =>
              make(
                "div",
                { role: "cell" },
                said.map((one) => [make("p", { class: "mf-sentence" }, one.text), badge(one.label)]),
              ),
            ),
          ),
        ),
      ),
    );

  views.progress = (value) =>
    value.runs.map((run) =>
      make(
        "div",
        { class: "mf-progress" },
        make("div", { class: "mf-progress-text" }, make("b", {}, run.model), make("span", {}, run.text)),
        make("progress", { max: run.total || 1, value: run.done, "aria-label": `progress of ${run.model}` }),
        run.reason ? note(run.reason, "mf-warn") : null,
      ),
    );

  views.link = (value) => {
    if (!value.runs.length) return [];
    const address = new URL(window.location.href);
    address.searchParams.set("run", value.runs.join(","));
    address.search = address.search.replaceAll("%2C", ",");
    window.history.replaceState(null, "", address);
    const button = make("button", { type: "button", class: "mf-copy" }, "Copy the link");
    button.addEventListener("click", async () => {
      await copyText(address.href);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy the link"), 1500);
    });
    const beside = value.runs.length > 1 ? [" ", make("a", { href: `/compare?runs=${value.runs.join(",")}` }, "Compare these runs")] : null;
    return make("p", { class: "mf-note" }, "Whoever has the link of this page can watch and stop this run, and read its answers. ", button, beside);
  };

  const interval = (figure) =>
    make(
      "td",
      { "data-figure": figure.name },
      make("span", { class: "mf-figure" }, figure.value),
      make("span", { class: "mf-of" }, figure.of),
      figure.low === null
        ? null
        : make(
            "span",
            { class: "mf-interval", "aria-hidden": "true" },
            make("i", { style: `left:${figure.low}%;width:${Math.max(figure.high - figure.low, 0.5)}%` }),
            make("b", { style: `left:${figure.point}%` }),
          ),
    );

  views.scores = (value) => [
    table(
      value.headings,
      [
        ...value.rows.map((row) =>
          make("tr", {}, make("th", { scope: "row" }, row.model, make("small", { class: "mf-rest" }, row.rest)), row.figures.map(interval)),
        ),
        make("tr", { class: "mf-reference" }, make("th", { scope: "row" }, "a coin, for comparison"), value.coin.map((text) => make("td", {}, text))),
      ],
      "scores",
    ),
    value.notes.map((text) => note(text)),
  ];

  const csv = (rows) => {
    const names = Object.keys(rows[0] ?? {});
    const text = (value) => (value === null || value === undefined ? "" : typeof value === "string" && /^'*[=+\-@\t\r]/.test(value) ? `'${value}` : String(value));
    const line = (cells) => cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",");
    return [names, ...rows.map((row) => names.map((name) => text(row[name])))].map(line).join("\n") + "\n";
  };

  const saveButton = (label, file, content) => {
    const button = make("button", { type: "button", class: "mf-copy" }, label);
    button.addEventListener("click", () => {
      const address = URL.createObjectURL(new Blob([content()], { type: "text/csv;charset=utf-8" }));
      const link = make("a", { href: address, download: file });
      document.body.append(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
    return button;
  };

  views.tables = (value) =>
    value.tables.map((shown) =>
      make(
        "section",
        { class: "mf-card", "aria-label": shown.title },
        make("h4", {}, make("b", {}, shown.title), ` — ${shown.what}`),
        note(shown.reading),
        shown.none ? note(shown.none, "mf-warn") : null,
        make(
          "div",
          { class: "mf-scroll mf-tall", tabindex: 0, role: "region", "aria-label": shown.title },
          make(
            "table",
            { class: "mf-table mf-results" },
            make("thead", {}, make("tr", {}, [shown.heading, ...shown.columns].map((text) => make("th", { scope: "col" }, text)))),
            make(
              "tbody",
              {},
              shown.rows.map((row) =>
                make(
                  "tr",
                  { class: row.origin === "run" ? null : "mf-reference" },
                  make("th", { scope: "row" }, row.model, make("small", { class: "mf-rest" }, row.detail)),
                  row.cells.map((cell) =>
                    make("td", {}, cell.value ? [make("span", { class: "mf-figure" }, cell.value), make("span", { class: "mf-of" }, cell.of)] : "–"),
                  ),
                ),
              ),
            ),
          ),
        ),
        saveButton("Download this table (CSV)", shown.file, () => csv(shown.csv)),
      ),
    );

  /* One of several; the name ties its parts together for the arrow keys. */
  views.choice = (value) =>
    value.options
      ? make(
          "fieldset",
          { class: "mf-radios" },
          make("legend", {}, value.label),
          value.options.map((option) =>
            make(
              "label",
              {},
              make("input", { type: "radio", name: value.label, "data-key": option.value, checked: option.value === value.chosen }),
              make("span", {}, option.text),
            ),
          ),
        )
      : [];

  /* Two buttons that turn pages, and between them which facts are shown. */
  const turn = (value, prefix = "") => {
    const button = (id, text, by, there) => make("button", { type: "button", id: prefix + id, "data-key": `turn:${by}`, disabled: !there }, text);
    return make(
      "div",
      { class: "mf-turn" },
      button("previous", `← Previous ${value.what}`.trim(), -1, value.back),
      make("p", { class: "mf-note mf-where", id: `${prefix}where`, role: "status" }, value.where),
      button("next", value.what ? `Next ${value.what} →` : "Next →", 1, value.forward),
    );
  };

  views.turn = (value) => turn(value, "heat-");

  const GLYPHS = { right: "✓", wrong: "✗", unreadable: "?", failed: "!", pending: "·" };

  views.heatmap = (value, trigger) =>
    value.rows.length
      ? [
          make("p", { class: "mf-legend" }, Object.entries(value.legend).map(([fate, text]) => make("span", {}, make("i", { class: `mf-cell mf-${fate}` }, GLYPHS[fate]), " ", text))),
          make(
            "div",
            { class: "mf-scroll", tabindex: 0, role: "region", "aria-label": "facts by way of saying" },
            make(
              "table",
              { class: "mf-table mf-heat" },
              make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "fact"), value.columns.map((c) => make("th", { scope: "col", title: `the papers' key: ${c.key}` }, c.plain)))),
              make(
                "tbody",
                {},
                value.rows.map((row) =>
                  make(
                    "tr",
                    {},
                    make("th", { scope: "row" }, row.positive ? null : [badge(false), " "], row.text),
                    row.cells.map((cell) =>
                      make(
                        "td",
                        {},
                        cell
                          ? make("button", { class: `mf-cell mf-${cell.fate}`, type: "button", "data-key": cell.place, "aria-label": `${cell.fate}: ${row.text}, ${cell.plain}` }, GLYPHS[cell.fate])
                          : null,
                      ),
                    ),
                  ),
                ),
              ),
            ),
          ),
        ]
      : note("Nothing has been asked yet.");

  views.detail = (value) =>
    value.statement
      ? make(
          "section",
          { class: "mf-card mf-detail", "aria-live": "polite" },
          make("p", { class: "mf-sentence mf-large" }, value.statement),
          make("p", {}, badge(value.label), " ", value.true_fact ? ["The true fact: ", make("b", {}, value.true_fact)] : null),
          make("p", { title: `the papers' key: ${value.key}` }, `How it is said: ${value.plain}.`),
          make("p", { class: `mf-fate mf-fate-${value.fate}` }, value.verdict),
          make("p", {}, value.p_true),
          copyable("The exact prompt", value.prompt),
          copyable("The raw reply", value.raw),
        )
      : note(value.lost ?? "Choose a cell above to see its statement, the exact prompt and the raw reply.", value.lost ? "mf-warn" : "");

  const copyable = (title, text) => {
    const button = make("button", { type: "button", class: "mf-copy" }, "Copy");
    button.addEventListener("click", async () => {
      await copyText(text);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    return make("div", { class: "mf-copyable" }, make("div", { class: "mf-copy-head" }, make("b", {}, title), button), make("pre", { tabindex: 0 }, text));
  };

  const copyText = async (text) => {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    const area = make("textarea", { class: "mf-off-screen" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  };

  const colour = (node, name, otherwise) => getComputedStyle(node).getPropertyValue(name).trim() || otherwise;

  const drawFigure = (node, figure) => {
    const text = colour(node, "--body-text-color", "#222");
    const grid = colour(node, "--border-color-primary", "#ccc");
    const layout = { ...figure.layout, font: { color: text, family: "system-ui, sans-serif", size: 13 } };
    layout.width = node.clientWidth || undefined;
    for (const name of Object.keys(layout).filter((key) => /^[xy]axis/.test(key))) {
      layout[name] = { ...layout[name], gridcolor: grid, linecolor: grid, zerolinecolor: grid, automargin: true };
    }
    Plotly.react(node, figure.data, layout, { displaylogo: false, showSendToCloud: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] });
  };

  /* What is far from the window is drawn when the page has nothing else to do. */
  const whenIdle = (work) => (window.requestIdleCallback ? window.requestIdleCallback(work) : setTimeout(work, 100));

  /* Says whether a node is so near the window; undefined as long as nobody knows. */
  const nearness = (node, change, margin = "100px") => {
    let near;
    new IntersectionObserver(
      (seen) => {
        near = seen.at(-1).isIntersecting;
        change(near);
      },
      { rootMargin: margin },
    ).observe(node);
    return () => near;
  };

  const LARGE = new Set(["heatmap", "tables"]);

  /* Draws at once what is near the window, and the rest when there is time. */
  const unlessFar = (node, draw) => {
    let waits = false;
    const isNear = nearness(node, () => {});
    return () => {
      if (isNear() !== false) return draw();
      if (waits) return;
      waits = true;
      whenIdle(() => {
        waits = false;
        draw();
      });
    };
  };

  /* Work that is asked for again and again, done for at most a tenth of the time; what was asked for last is done. */
  const atEase = (work) => {
    let next = 0, waits;
    return () => {
      clearTimeout(waits);
      waits = setTimeout(async () => {
        const begun = performance.now();
        await work();
        next = performance.now() + 9 * (performance.now() - begun);
      }, next - performance.now());
    };
  };

  /* The plotting library is large, and takes long to begin: it is fetched when the first figure is a screen away, or saved. */
  let plotting;
  const fetchPlotting = () =>
    (plotting ??= new Promise((fetched) => {
      const script = make("script", { src: "/page/plotly.min.js" });
      script.addEventListener("load", () => fetched(true));
      script.addEventListener("error", () => {
        plotting = undefined; // the next figure tries again
        fetched(false);
      });
      document.head.append(script);
    }));

  const mountFigure = (element, props, watch) => {
    const node = make("div", { class: "mf-plot" });
    const save = make("button", { type: "button", class: "mf-copy", hidden: true }, "Download this figure (SVG)");
    save.addEventListener("click", async () => {
      const { data, layout } = props.value;
      if (!(await fetchPlotting())) return;
      const onPaper = { ...layout, width: 900, paper_bgcolor: "#ffffff", font: { color: "#222222", family: "sans-serif", size: 13 } };
      Plotly.downloadImage({ data, layout: onPaper }, { format: "svg", filename: `medfact-${element.closest("#bars, #calibration, [id^=curve-]")?.id ?? "figure"}`, width: 900, height: layout.height });
    });
    element.append(node, save);
    const drawSoon = atEase(async () => {
      if (isNear() && (await fetchPlotting()) && props.value?.data) drawFigure(node, props.value);
    });
    const draw = () => {
      const figure = props.value;
      node.hidden = save.hidden = !figure?.data;
      node.style.minHeight = `${figure?.layout?.height ?? 0}px`;
      if (!node.hidden) drawSoon();
    };
    const isNear = nearness(node, (near) => near && draw());
    watch("value", draw);
    new ResizeObserver(() => isNear() && window.requestAnimationFrame(draw)).observe(element);
    new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["class"] });
    draw();
    nearness(node, (near) => near && props.value?.data && fetchPlotting(), "100%");
  };

  const mountView = (name, element, props, trigger, watch) => {
    const node = make("div", { class: `mf-view mf-view-${name}` });
    element.append(node);
    let scrolled = []; // noted as it happens: to ask while drawing would have the browser lay out the whole page anew
    const noteScroll = () => (scrolled = [...node.querySelectorAll(".mf-scroll")].map((part) => part.scrollLeft));
    node.addEventListener("scroll", noteScroll, { capture: true, passive: true });
    const draw = () => {
      const focused = node.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
      node.replaceChildren(...[props.value ? views[name](props.value, trigger) : []].flat(Infinity).filter(Boolean));
      node.querySelectorAll(".mf-scroll").forEach((part, index) => scrolled[index] && (part.scrollLeft = scrolled[index]));
      if (focused !== undefined) node.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    };
    node.addEventListener("click", (event) => {
      const key = event.target.closest("[data-key]")?.dataset.key;
      if (key !== undefined) trigger("click", { key });
    });
    const drawSoon = LARGE.has(name) ? unlessFar(node, draw) : draw;
    watch("value", () => {
      drawSoon();
      if (["detail", "fact-of-runs"].includes(name) && node.childElementCount && !node.querySelector(".mf-note:only-child")) node.scrollIntoView({ block: "nearest", behavior: "smooth" });
    });
    if (LARGE.has(name)) whenIdle(draw); // what stands first on the page is drawn first
    else draw();
  };

  /* A value comes as a text, which is read once, or by the news. What came last is the value. */
  const readable = (props) => {
    let text, value;
    return {
      get value() {
        if (props.value !== text) {
          text = props.value;
          value = typeof text === "string" && text ? JSON.parse(text) : text;
        }
        return value;
      },
      tell(told) {
        text = props.value;
        value = told;
      },
    };
  };

  /* What many views show comes by their ids, from the news: each view that the page library has to bring up to date by itself
     costs it, and the server, more than all of these together. */
  const tellers = new Map(); // id of a view → tells it its value
  const untold = new Map(); // id → what came before its view was there
  const presses = {}; // id of a view → what is done with the key of what is pressed in it

  const tell = (name, value) => (tellers.has(name) ? tellers.get(name)(value) : untold.set(name, value));

  const mountPlaces = (element, props) => {
    for (const { id, view, text, level, lead } of props.value) {
      const part = id ? make("div", { id }) : level ? make(`h${level}`, {}, text) : make("p", {}, lead ? [make("b", {}, lead), " "] : null, text);
      element.append(part);
      if (id) mount(view, id, part, { value: null }, (_, { key }) => presses[id]?.(key), () => {});
    }
  };

  const mounts = { places: mountPlaces, figure: (element, props, trigger, watch) => mountFigure(element, props, watch) };

  const mount = (view, name, element, props, trigger, watch) => {
    const data = readable(props);
    const changes = [];
    const watchBoth = (what, change) => {
      changes.push(change);
      watch(what, change);
    };
    tellers.set(name, (value) => {
      data.tell(value);
      for (const change of changes) change();
    });
    if (untold.has(name)) data.tell(untold.get(name));
    untold.delete(name);
    return mounts[view] ? mounts[view](element, data, trigger, watchBoth) : mountView(view, element, data, trigger, watchBoth);
  };

  window.medfact = {
    views,
    mounts,
    parts: { make, badge, note, table, interval, saveButton, csv, copyable, copyText, factLine, GLYPHS },
    mount,
    tell,
    presses,
  };
})();
