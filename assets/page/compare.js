/* The views of the page Compare: pairs of runs, facts with one row of ticks a run, and one fact with all that was said of it. */
(() => {
  const { views, parts } = window.medfact;
  const { make, badge, note, GLYPHS } = parts;

  const FATES = Object.fromEntries(Object.entries(GLYPHS).map(([fate, glyph]) => [glyph, fate]));

  const scroll = (label, ...children) => make("div", { class: "mf-scroll", tabindex: 0, role: "region", "aria-label": label }, ...children);

  const differs = (value) =>
    value.differs.length
      ? make(
          "div",
          { class: "mf-differs" },
          make("b", {}, "They differ, apart from the model, in:"),
          make(
            "ul",
            {},
            value.differs.map((one) =>
              make("li", {}, make("b", {}, one.what), ": ", one.values.map((text, place) => [place ? "; " : "", make("i", {}, value.runs[place].name), ` ${text}`])),
            ),
          ),
          note("So a difference below may come from these, and not from the models.", "mf-warn"),
        )
      : null;

  const same = (value) =>
    value.same.length
      ? make("details", {}, make("summary", {}, "What is the same in all of them"), make("ul", {}, value.same.map((text) => make("li", {}, text))))
      : null;

  const scale = (pair) =>
    pair.low === null
      ? null
      : make(
          "span",
          { class: "mf-interval mf-around", "aria-hidden": "true" },
          make("u", {}),
          make("i", { style: `left:${pair.low}%;width:${Math.max(pair.high - pair.low, 0.5)}%` }),
          make("b", { style: `left:${pair.point}%` }),
        );

  const metric = (shown, runs) => [
    make("h3", {}, shown.title),
    make(
      "ul",
      { class: "mf-values" },
      shown.values.map((text, place) => make("li", {}, make("b", {}, runs[place].name), ` ${text}`)),
    ),
    scroll(
      shown.title,
      make(
        "table",
        { class: "mf-table mf-pairs" },
        make("thead", {}, make("tr", {}, ["first, less second", "difference", "right by the first alone, by the second alone", "what it shows"].map((text) => make("th", { scope: "col" }, text)))),
        make(
          "tbody",
          {},
          shown.pairs.map((pair) =>
            make(
              "tr",
              {},
              make("th", { scope: "row" }, pair.a, make("small", { class: "mf-rest" }, `less ${pair.b}`)),
              make("td", {}, make("span", { class: "mf-figure" }, pair.difference), make("span", { class: "mf-of" }, pair.p), scale(pair)),
              make("td", {}, pair.alone),
              make("td", {}, pair.verdict),
            ),
          ),
        ),
      ),
    ),
  ];

  views.pairs = (value) =>
    value.metrics.length ? [differs(value), same(value), value.metrics.map((shown) => metric(shown, value.runs)), value.notes.map((text) => note(text))] : [];

  const tick = (glyph, variant) => {
    const fate = FATES[glyph];
    return make("i", { class: `mf-cell mf-small ${fate ? `mf-${fate}` : "mf-absent"}`, title: `${variant.plain}: ${fate ?? "not asked"}` }, glyph === " " ? "–" : glyph);
  };

  const ticks = (text, variants, run) => {
    const right = [...text].filter((glyph) => glyph === "✓").length;
    return make(
      "td",
      { class: "mf-ticks", "aria-label": `${run}: ${right} of ${variants.length} right` },
      make("span", { class: "mf-row-of-ticks", "aria-hidden": "true" }, [...text].map((glyph, place) => tick(glyph, variants[place]))),
    );
  };

  views["facts-of-runs"] = (value) =>
    value.rows.length
      ? [
          make("p", { class: "mf-legend" }, Object.entries(value.legend).map(([fate, text]) => make("span", {}, make("i", { class: `mf-cell mf-${fate}` }, GLYPHS[fate]), " ", text))),
          note(`The ticks of a fact, from left to right: ${value.variants.map((one) => one.plain).join("; ")}.`),
          scroll(
            "facts by run",
            make(
              "table",
              { class: "mf-table mf-facts" },
              make("thead", {}, make("tr", {}, ["fact", ...value.runs].map((text) => make("th", { scope: "col" }, text)))),
              make(
                "tbody",
                {},
                value.rows.map((row) =>
                  make(
                    "tr",
                    {},
                    make(
                      "th",
                      { scope: "row" },
                      row.positive ? null : [badge(false), " "],
                      make("button", { type: "button", class: "mf-link", "data-key": row.key }, row.text),
                    ),
                    row.ticks.map((text, place) => ticks(text, value.variants, value.runs[place])),
                  ),
                ),
              ),
            ),
          ),
        ]
      : value.none
        ? note(value.none)
        : [];

  const answer = (cell, text) =>
    cell
      ? [
          text === null ? make("p", { class: "mf-sentence" }, cell.text) : null,
          make("p", {}, make("i", { class: `mf-cell mf-${cell.fate}` }, GLYPHS[cell.fate]), " ", cell.said || cell.fate),
          make("details", {}, make("summary", {}, "raw reply"), make("pre", { tabindex: 0 }, cell.raw)),
        ]
      : "not asked";

  views["fact-of-runs"] = (value) =>
    value.text
      ? make(
          "section",
          { class: "mf-card", "aria-live": "polite", tabindex: -1 },
          make("h3", {}, value.positive ? null : [badge(false), " "], value.text),
          value.true_fact ? make("p", {}, "The true fact: ", make("b", {}, value.true_fact)) : null,
          scroll(
            "what each run says",
            make(
              "table",
              { class: "mf-table" },
              make("thead", {}, make("tr", {}, ["statement", ...value.runs].map((text) => make("th", { scope: "col" }, text)))),
              make(
                "tbody",
                {},
                value.rows.map((row) =>
                  make(
                    "tr",
                    {},
                    make(
                      "th",
                      { scope: "row", title: `the papers' key: ${row.key}` },
                      make("small", { class: "mf-rest" }, row.plain),
                      row.text === null ? null : make("p", { class: "mf-sentence" }, row.text),
                      badge(row.label),
                    ),
                    row.cells.map((cell) => make("td", {}, answer(cell, row.text))),
                  ),
                ),
              ),
            ),
          ),
        )
      : [];
})();
