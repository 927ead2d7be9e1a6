/* The runs that the page shows: it asks what is new of them, hands each view its value, and says with each question what it has
   drawn. The page library takes no part in this; an answer of its own would cost it ten times as long. */
(() => {
  const { tell, presses, mounts } = window.medfact;
  const SAID = "runs-message";
  const KEPT = "medfact-shown-runs";
  const MOST = 8; // runs beside each other, as in step 3
  const RESULTS_AFTER = 10_000; // milliseconds; they are large, and far down the page
  const PATIENCE = 30_000; // milliseconds that an answer may take
  const HERE = window.gradio_config?.current_page === ""; // the other pages show no run in this way
  const RETRIES = [1000, 2000, 5000]; // milliseconds until the page asks again; the last goes on

  const kept = () => {
    try {
      const runs = JSON.parse(window.localStorage.getItem(KEPT));
      return Array.isArray(runs) ? runs.filter((run) => typeof run === "string").slice(0, MOST) : [];
    } catch {
      return []; // nothing is kept here, or nothing may be
    }
  };

  const keep = (runs) => {
    try {
      window.localStorage.setItem(KEPT, JSON.stringify(runs));
    } catch {
      /* the address still names them */
    }
  };

  const asked = (new URLSearchParams(window.location.search).get("run") ?? "").split(",").filter(Boolean).slice(0, MOST);
  const shown = { asked, kept: kept(), chosen: 0, page: 0, paper: undefined, state: "", drawn: {} };
  let runs = [], buttons = { going: false, resumable: false };
  let resultsAt = -RESULTS_AFTER, resultsOf = "";
  let question = 0, failed = 0, clock;
  let pressButtons = () => {};

  const sayNothing = () => {
    tell(SAID, { text: "", kind: "" });
    delete shown.drawn[SAID];
  };

  const what = () => JSON.stringify([shown.asked, shown.paper]);

  const look = async () => {
    clearTimeout(clock);
    const mine = ++question;
    const results = resultsOf !== what() || performance.now() - resultsAt > RESULTS_AFTER;
    let news, why = "The app does not answer.";
    try {
      const answer = await fetch("/news", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...shown, results }),
        signal: AbortSignal.timeout(PATIENCE),
      });
      if (answer.status === 503) why = await answer.text();
      if (!answer.ok) throw new Error(why);
      news = await answer.json();
    } catch {
      if (mine !== question) return;
      clock = setTimeout(look, RETRIES[Math.min(failed, RETRIES.length - 1)]);
      if (++failed === RETRIES.length) tell(SAID, { text: `${why} What is shown may be old; the page asks again by itself.`, kind: "mf-warn" });
      return;
    }
    if (mine !== question) return; // something else was asked meanwhile
    if (failed >= RETRIES.length) sayNothing();
    failed = 0;
    take(news);
    if (news.again !== null) clock = setTimeout(look, 1000 * news.again);
  };

  const take = (news) => {
    runs = news.runs;
    Object.assign(shown, { state: news.state, chosen: news.chosen, page: news.page });
    for (const [name, value] of Object.entries(news.views)) tell(name, value);
    Object.assign(shown.drawn, news.drawn);
    if ("tables" in news.views) [resultsAt, resultsOf] = [performance.now(), what()];
    if (JSON.stringify(news.buttons) !== JSON.stringify(buttons)) {
      buttons = news.buttons;
      pressButtons();
    }
  };

  const choose = (choices, answered = false) => {
    Object.assign(shown, choices);
    if (answered) tell("detail", {});
    look();
  };

  presses["heat-turn"] = (key) => choose({ page: shown.page + Number(key.replace("turn:", "")) });
  presses.which = (place) => choose({ chosen: Number(place), page: 0 }, true);
  presses.paper = (paper) => choose({ paper });
  presses.heat = async (place) => {
    const run = runs[shown.chosen];
    const answer = await fetch(`/answer/${encodeURIComponent(run)}/${encodeURIComponent(place)}`).catch(() => null);
    tell("detail", answer?.ok ? await answer.json() : { lost: "The answer did not come. Is the app still running?" });
  };

  /* Gets the runs that were begun on this page, or word that they go on; its click brings the buttons up to date. */
  mounts.shown = (element, props, trigger, watch) => {
    pressButtons = () => trigger("click", {});
    watch("value", () => {
      const begun = props.value?.runs;
      if (begun) {
        keep(begun);
        sayNothing();
        choose({ asked: begun, chosen: 0, page: 0 }, true);
      } else {
        look();
      }
    });
    if (buttons.going || buttons.resumable) pressButtons();
  };

  /* Clocks nearly stand still on a page that nobody sees, and runs are moved from elsewhere too. */
  if (HERE) document.addEventListener("visibilitychange", () => document.hidden || look());

  /* Hands a key in apart from the page library's events, which are kept; a failure shows when the ticket is used. */
  window.medfact.ticket = async (key) => {
    if (!key) return "";
    const sent = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ key }) };
    const answer = await fetch("/key", sent).catch(() => null);
    return answer?.ok ? (await answer.json()).ticket : "lost";
  };

  window.medfact.runs = () => runs;
  window.medfact.buttons = () => {
    const update = (properties) => ({ ...properties, __type__: "update" });
    return [update({ interactive: !buttons.going }), update({ interactive: buttons.going }), update({ visible: buttons.resumable })];
  };

  if (HERE) {
    tell("detail", {});
    look();
  }
})();
