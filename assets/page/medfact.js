/* The pages' one script. The server renders fragments; this script asks for what changed, puts it in place without disturbing
   focus, open details, typed text or scroll, draws figures, and sends clicks. Text arrives escaped and stays text. */
(() => {
  /* The path under which a reverse proxy serves the pages; none for most. */
  const PREFIX = new URL(window.gradio_config?.root || "/", window.location.href).pathname.replace(/\/$/, "");
  const inside = window.location.pathname.startsWith(PREFIX) ? window.location.pathname.slice(PREFIX.length) : window.location.pathname;
  const PAGE = inside.split("/").filter(Boolean).at(-1) || "home";
  const KEYS_OFF = "medfact-keys-off", COLOURS = "medfact-colours";
  const TIMEOUT_MS = 30_000, TYPING_MS = 200, TELLING_MS = 50, RETRY_MS = [1000, 2000, 5000]; // the last one repeats
  let tabs = []; // those with work for this visitor, from the last answer: the navigation may come after it

  const parts = new Map(); // name → <mf-part>, once it is on the page
  const html = new Map(); // name → the fragment that came last
  let shown = "", shownIn = null, shownAt = 0; // what is judged now, in which form, and since when
  let chosenSince = new Set(); // names of what was chosen while the answer that is being placed was on its way
  let placing = false; // a field in focus that a new fragment takes away says once more what was typed, of what is gone
  const drawn = {}; // name → fingerprint of that fragment
  const show = { ...window.history.state?.medfact }; // what is looked at: told by the server and by whoever sits here, never by a link
  let setup = null; // what is chosen in the inputs; null until the server has told what was chosen last
  let settled = null; // what of that the server knows
  let opened, ready = false; // called with the first answer, and whether the inputs show what was chosen last
  const whenOpened = new Promise((done) => (opened = done));
  const early = new Map(); // name of an input → what it told before that
  let address = window.location.search; // the server takes from it what may come in a link; "" once it has answered

  /* What the browser remembers; where its storage is blocked, until this page is left. */
  const inMemory = new Map();
  const remember = (key, text) => {
    inMemory.set(key, text);
    try {
      window.localStorage.setItem(key, text);
    } catch {
      /* it holds until then */
    }
  };
  const remembered = (key) => {
    try {
      return window.localStorage.getItem(key) ?? "";
    } catch {
      return inMemory.get(key) ?? "";
    }
  };

  /* Single letters and digits act unless this browser's visitor has switched them off: speech input types letters, too. */
  const keysAreOff = () => remembered(KEYS_OFF) === "yes";
  const switchKeys = (off) => {
    remember(KEYS_OFF, off ? "yes" : "no");
    showKeys(document);
  };
  /* What only a letter reached is a stop of the Tab key where letters do nothing. */
  const showKeys = (within) => {
    const off = keysAreOff();
    document.documentElement.classList.toggle("mf-no-keys", off);
    for (const box of within.querySelectorAll("[data-keys]")) box.checked = !off;
    for (const button of within.querySelectorAll("button[data-hotkey][tabindex]")) button.tabIndex = off ? 0 : -1;
  };

  /* The colours that the page library took from the system, unless somebody has chosen others. */
  const showColours = (colours) => colours && document.body.classList.toggle("dark", colours === "dark");
  const switchColours = () => {
    remember(COLOURS, document.body.classList.contains("dark") ? "light" : "dark");
    showColours(remembered(COLOURS));
  };

  /* ------------------------------------------------------------------------------------------------ fragments in place */

  const keyOf = (node) => node.dataset?.key ?? node.id ?? "";

  const isTick = (field) => field.type === "checkbox" || field.type === "radio";
  const stateOf = (field) => (isTick(field) ? "checked" : "value");
  const servedIn = (field) => (isTick(field) ? field.hasAttribute("checked") : field.matches("textarea") ? field.defaultValue : field.getAttribute("value"));

  /* What was typed stays, and what is ticked in a form that is not saved yet, unless the server's own value has changed. */
  const syncField = (field, before) => {
    const served = servedIn(field);
    if (isTick(field)) field.checked = served === before && field.closest("[data-draft]") ? field.checked : served;
    else if (field !== document.activeElement && served !== before) field.value = served ?? "";
  };

  /* Makes a node equal to another one, and keeps the node: with it focus, scroll and what was typed. */
  const morph = (node, next) => {
    if (node.nodeType === Node.TEXT_NODE) {
      if (node.data !== next.data) node.data = next.data;
      return;
    }
    const before = servedIn(node);
    const own = node.matches("[data-plot]") ? ["open", "class"] : ["open"]; // the figure's library marks its node, and lays its parts out by that
    for (const { name } of [...node.attributes]) if (!own.includes(name) && !next.hasAttribute(name)) node.removeAttribute(name);
    for (const { name, value } of next.attributes) if (!own.includes(name) && node.getAttribute(name) !== value) node.setAttribute(name, value);
    if (node.matches("[data-plot]")) return; // what it holds is the figure's
    morphChildren(node, next);
    if (node.matches("input, textarea")) syncField(node, before);
  };

  const morphChildren = (node, next) => {
    const keyed = new Map([...node.children].filter(keyOf).map((child) => [keyOf(child), child]));
    let at = node.firstChild;
    for (const wanted of [...next.childNodes]) {
      const key = wanted.nodeType === Node.ELEMENT_NODE ? keyOf(wanted) : "";
      const same = key ? keyed.get(key) : at && at.nodeName === wanted.nodeName && !keyOf(at) ? at : undefined;
      if (same && same.nodeName === wanted.nodeName) {
        if (same === at) at = at.nextSibling;
        else node.insertBefore(same, at);
        morph(same, wanted);
      } else {
        node.insertBefore(wanted, at);
      }
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  };

  const localTimes = (content) => {
    for (const time of content.querySelectorAll("time[datetime]")) {
      const date = new Date(time.dateTime);
      if (!Number.isNaN(date.valueOf())) time.textContent = date.toLocaleString("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
    }
  };

  /* One item of a list is its tab stop. */
  const stopAt = (item) => {
    for (const one of item?.closest("[data-roving]")?.querySelectorAll("[data-item]") ?? []) one.tabIndex = one === item ? 0 : -1;
    item?.focus();
  };

  /* What was opened from a row and is closed gives the focus back to that row. */
  const returnTo = (revealed) => stopAt(document.querySelector(`[data-item][data-key="open-${CSS.escape(revealed)}"]`));

  const place = (name) => {
    const part = parts.get(name);
    if (!part?.isConnected || !html.has(name)) return;
    const template = document.createElement("template");
    template.innerHTML = html.get(name);
    localTimes(template.content);
    const within = part.contains(document.activeElement);
    const focused = within ? keyOf(document.activeElement) : "";
    const revealed = part.querySelector("[data-reveal]")?.dataset.reveal;
    const first = part.querySelector("[data-focus]")?.dataset.focus;
    const newer = [...part.querySelectorAll("input, select")].filter((field) => chosenSince.has(toldAs(field.dataset))).map((field) => [field, stateOf(field), field[stateOf(field)]]);
    placing = true;
    morphChildren(part, template.content);
    for (const [field, state, value] of newer) field[state] = value;
    placing = false;
    part.querySelectorAll("[data-plot]").forEach(figures.watch);
    for (const one of part.querySelectorAll("[data-absolute]")) one.textContent = one.textContent.replace(/src="(?=embed)/, `src="${new URL(".", window.location.href)}`);
    for (const field of part.querySelectorAll("[data-here]")) field.value = new URL(".", window.location.href);
    showKeys(part);
    const timed = part.querySelector("[data-timed]");
    if (timed && (timed.dataset.timed !== shown || timed !== shownIn)) {
      [shown, shownIn, shownAt] = [timed.dataset.timed, timed, performance.now()];
      fillDraft(timed);
      countDown(timed);
    }
    if (focused && !part.contains(document.activeElement)) (part.querySelector(`[data-key="${CSS.escape(focused)}"]`) ?? part.querySelector("[data-reveal]"))?.focus({ preventScroll: true });
    const opened = part.querySelector("[data-reveal]");
    if (opened && opened.dataset.reveal !== revealed) {
      opened.scrollIntoView({ block: opened.dataset.block ?? (opened.offsetHeight > window.innerHeight ? "start" : "nearest") });
      opened.focus({ preventScroll: true });
    }
    if (revealed && !opened && (within || document.activeElement === document.body)) returnTo(revealed);
    const wanted = part.querySelector("[data-focus]");
    if (wanted && wanted.dataset.focus !== first) wanted.focus({ preventScroll: true });
  };

  const showTabs = (named) => document.querySelectorAll("[data-work]").forEach((tab) => (tab.hidden = !named.includes(tab.dataset.work)));
  customElements.define(
    "mf-part",
    class extends HTMLElement {
      connectedCallback() {
        parts.set(this.getAttribute("name"), this);
        showColours(remembered(COLOURS));
        showKeys(this);
        showTabs(tabs);
        place(this.getAttribute("name"));
      }
    },
  );

  /* ---------------------------------------------------------------------------------------------------- asking the server */

  let question = 0, failures = 0, clock, telling;
  let stop, returning = false; // the stop that is shown, and whether the browser's back or forward button leads to another
  let searching = false; // whether words are being typed: all that is typed of a search is one stop
  let actions = Promise.resolve(); // buttons are answered one after the other: a quick second one is not lost
  let acting = 0, waiting = false; // how many of them wait for their answers, and whether there is to be a look after them

  const look = (action = null) => {
    clearTimeout(clock);
    if (!action) return acting ? void (waiting = true) : ask(null);
    clearTimeout(telling); // the action carries what the inputs told
    acting += 1;
    actions = actions.then(() => ask(action)).then(acted, acted);
    return actions;
  };

  const acted = () => {
    acting -= 1;
    if (acting || !waiting) return;
    waiting = false;
    look();
  };

  const ask = async (action) => {
    const mine = ++question;
    const asked = { show: { ...show }, setup: { ...setup } };
    const told = address;
    let answer, problem = "The app does not answer.";
    try {
      const response = await fetch("updates", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ page: PAGE, address, show, setup, settled: setup !== null && same(setup, settled), drawn, action }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if ([429, 503, 507].includes(response.status)) problem = await response.text();
      if (!response.ok) throw new Error(problem);
      answer = await response.json();
    } catch {
      if (mine !== question) return;
      clock = setTimeout(look, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
      if (++failures >= RETRY_MS.length || action) warn(`${problem} What you see may be out of date; the page keeps trying.`);
      return;
    }
    if (mine !== question) return; // a newer question is on its way
    if (failures) warn("");
    failures = 0;
    if (address === told) address = "";
    take(answer, asked);
    if (answer.again !== null) clock = setTimeout(look, 1000 * answer.again);
  };

  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

  /* What was chosen while the answer was on its way stays chosen. */
  const fill = (own, values, asked) => {
    for (const [name, value] of Object.entries(values)) if (same(own[name], asked[name])) own[name] = value;
  };

  /* Under which name a field's choice is told. */
  const toldAs = ({ choose, chooseList, set, of, agree, tick, list = "chosen" }) => choose ?? chooseList ?? set ?? (of !== undefined ? "rows" : agree !== undefined ? "agreed" : tick !== undefined ? list : undefined);
  const differing = (own, asked) => Object.keys(own ?? {}).filter((name) => !same(own[name], asked[name]));

  const take = (answer, asked) => {
    chosenSince = new Set([...differing(show, asked.show), ...differing(setup, asked.setup)]);
    fill(show, answer.show, asked.show);
    if (answer.setup) fill((setup ??= {}), answer.setup, asked.setup);
    settled = { ...asked.setup, ...answer.setup };
    opened();
    Object.assign(drawn, answer.drawn);
    for (const [name, text] of Object.entries(answer.fragments)) {
      html.set(name, text);
      place(name);
    }
    chosenSince.clear();
    if (answer.title) document.title = answer.title;
    showTabs((tabs = answer.tabs));
    const moved = stop !== undefined && !same(answer.stop, stop) && !returning && !(searching && window.history.state?.searching); // the back button leads to where one was
    const still = answer.query === window.location.search && same(answer.stop, window.history.state?.medfact);
    [stop, returning] = [answer.stop, false];
    if (!still) window.history[moved ? "pushState" : "replaceState"]({ ...(moved ? { searching } : window.history.state), medfact: stop }, "", `${window.location.pathname}${answer.query}`);
  };

  const warn = (text, leads = false) => {
    html.set("offline", "");
    const part = parts.get("offline");
    if (part) part.textContent = text;
    if (leads) part?.scrollIntoView({ block: "nearest" });
  };

  /* Who is led to another tab from far below sees its beginning. */
  const change = (values, typed = false) => {
    searching = typed;
    const leads = values.tab !== undefined && values.tab !== show.tab && !(values.fact >= 0) && !returning;
    Object.assign(show, values);
    return leads ? look()?.then(() => document.querySelector("[role=tablist]")?.scrollIntoView({ block: "nearest" })) : look();
  };

  /* What is chosen is told a moment later, with what follows at once. */
  const put = (values, wait = TELLING_MS) => {
    setup = { ...setup, ...values };
    clearTimeout(telling);
    telling = setTimeout(look, wait);
  };

  /* The inputs of the page library tell all that they hold when a page opens, before they show what was chosen. */
  const choose = (values) => {
    if (ready) put(values);
    else Object.entries(values).forEach(([name, value]) => early.set(name, [...(early.get(name) ?? []), value]));
  };

  /* What inputs are to show when a page opens: what was chosen last, and what somebody was quick enough to choose meanwhile.
     usual: what they begin with; choices: of those that show nothing else. */
  const lastChosen = async (usual, choices) => {
    await whenOpened;
    const quick = [...early].filter(([name, told]) => told.some((value) => !same(value, usual[name])));
    for (const [name, told] of quick) setup[name] = told.at(-1);
    setTimeout(() => {
      ready = true;
      if (quick.length) look();
    });
    const shown = (name) => setup[name] ?? setup.further?.[name] ?? usual[name];
    return Object.keys(usual).map((name) => (choices[name]?.includes(shown(name)) === false ? usual[name] : shown(name)));
  };

  /* Brings a file: uploads it, and has a button of the server take it. A newer one for the same button counts alone. */
  const brought = {};
  const bring = async (file, action, accept) => {
    const ends = (accept ?? "").split(",").filter(Boolean);
    if (ends.length && !ends.some((end) => file.name.toLowerCase().endsWith(end))) return warn(`${file.name} is not in use: choose a file that ends in ${ends.join(", ")}.`);
    const mine = (brought[action] = (brought[action] ?? 0) + 1);
    warn("");
    change({ uploading: file.name });
    const [path, problem] = await uploaded(file);
    if (mine !== brought[action]) return;
    show.uploading = "";
    if (path) return look({ name: action, about: path, fields: {} });
    warn(problem);
    look();
  };

  /* Where an uploaded file lies on the server, or why it does not: the server says so in a sentence. */
  const uploaded = async (file) => {
    const form = new FormData();
    form.append("files", file);
    try {
      const answer = await fetch("gradio_api/upload", { method: "POST", body: form });
      if (answer.ok) return [(await answer.json())[0], ""];
      if (answer.headers.get("content-type")?.startsWith("text/plain")) return ["", await answer.text()];
    } catch {
      /* it broke off */
    }
    return ["", "The file could not be uploaded."];
  };

  const chooseFile = ({ dataset: { bring: action, accept } }) => {
    const field = Object.assign(document.createElement("input"), { type: "file", accept });
    field.addEventListener("change", () => field.files.length && bring(field.files[0], action, accept));
    field.click();
  };

  const paste = (button) => {
    const text = button.parentElement.querySelector("textarea").value;
    if (text.trim()) bring(new File([text], text.includes("\t") ? "pasted.tsv" : "pasted.csv"), button.dataset.paste);
  };

  /* A field of a row of models: the row is told with it. */
  const rowsWith = (id, values) => ({ rows: (setup?.rows ?? []).map((row) => (row.id === id ? { ...row, ...values } : row)) });
  const ofRow = (field) => rowsWith(field.closest("[data-row]").dataset.row, { [field.dataset.of]: field.type === "number" ? Number(field.value) : field.value });

  const numberOr = (field) => (field.dataset.number === undefined || field.value === "" ? valueOf(field) : Number(field.value));
  const ticked = (field) => [...field.closest("mf-part").querySelectorAll(`[data-choose-list="${field.dataset.chooseList}"]:checked`)].map((one) => one.value);

  const toggled = (list, value) => {
    const kept = list.split(",").filter((one) => one && !one.startsWith(value));
    return kept.length < list.split(",").filter(Boolean).length ? kept : [...kept, value];
  };

  /* ---------------------------------------------------------------------------------------------------- clicks and keys */

  const chosen = (field) => !["radio", "checkbox"].includes(field.type) || field.checked;
  const fieldsOf = (button) => {
    const within = button.closest("[data-fields]");
    const fields = Object.fromEntries([...(within?.querySelectorAll("[name]") ?? [])].filter(chosen).map((field) => [field.name, field.value]));
    return within?.dataset.timed ? { ...fields, seconds: String((performance.now() - shownAt) / 1000) } : fields;
  };

  /* What was filled in and not saved yet survives a reload of the page, in this tab. */
  const keepDraft = (form) => {
    const fields = [...form.querySelectorAll("[name]")].filter(chosen).map((field) => [field.name, field.value]);
    window.sessionStorage.setItem(`medfact-draft-${form.dataset.draft}`, JSON.stringify(fields));
  };
  const fillDraft = (form) => {
    const kept = new Map(JSON.parse(window.sessionStorage.getItem(`medfact-draft-${form.dataset.draft}`) ?? "[]"));
    if (!kept.size) return;
    for (const field of form.querySelectorAll("[name]")) {
      if (["radio", "checkbox"].includes(field.type)) field.checked = kept.get(field.name) === field.value;
      else if (kept.has(field.name)) field.value = kept.get(field.name);
    }
  };

  /* A form against the clock: when no second is left, its button is pressed. Half of the time and the last five seconds are said. */
  const countDown = (form) => {
    clearInterval(countDown.timer);
    const seconds = Number(form.dataset.countdown);
    if (!seconds) return;
    countDown.timer = setInterval(() => {
      const left = Math.max(0, Math.ceil(seconds - (performance.now() - shownAt) / 1000));
      if (!form.isConnected) return clearInterval(countDown.timer);
      form.querySelector("[data-left]").textContent = left;
      form.classList.toggle("mf-hurry", left <= 5);
      if ([seconds / 2, 5].includes(left)) form.querySelector("[data-told]").textContent = `${left} seconds left`;
      if (!left) clearInterval(countDown.timer), form.querySelector("[data-finish]").click();
    }, 200);
  };

  /* The questions of a game come one after the other: the style shows the first without an answer. The last one ends the game. */
  const answerWith = (button) => {
    const form = button.closest("[data-answers]");
    button.closest("[data-question]").querySelector("input").value = button.dataset.says;
    if (form.dataset.draft) keepDraft(form);
    const next = [...form.querySelectorAll("[data-question]")].find((one) => !one.querySelector("input").value);
    if (next) next.querySelector("[tabindex]").focus({ preventScroll: true });
    else form.querySelector("[data-finish]").click();
  };
  const answerByKey = (key) => {
    const up = [...document.querySelectorAll(`[data-answers] [data-answer="${CSS.escape(key)}"]`)].find((one) => one.offsetParent);
    up?.click();
    return Boolean(up);
  };

  const press = async (button, action) => {
    button.setAttribute("aria-disabled", "true"); // until the answer says what it may do; it keeps the focus
    const { busy, then } = button.dataset;
    const draft = button.closest("[data-draft]")?.dataset.draft;
    if (busy) button.textContent = busy;
    await look({ ...action, fields: { ...fieldsOf(button), ...action.fields } });
    const there = then && document.getElementById(then);
    if (there) there.scrollIntoView({ block: "nearest" }); // on a phone it may lie far above
    button.removeAttribute("aria-disabled");
    if (draft && document.querySelector("[data-draft]")?.dataset.draft !== draft) window.sessionStorage.removeItem(`medfact-draft-${draft}`);
    for (const field of button.closest("[data-fields]")?.querySelectorAll("input[type=password]") ?? []) field.value = "";
    parts.forEach((_, name) => place(name));
    const again = draft && document.querySelector(`[data-draft="${CSS.escape(draft)}"]`);
    if (again) fillDraft(again); // it was not taken: what was filled in stays
    if (there && !button.offsetParent) there.querySelector("h1")?.focus({ preventScroll: true }); // the button went with its form
    else if (document.activeElement === document.body && button.isConnected) button.focus({ preventScroll: true });
  };

  /* Whether the server has not answered yet to what is chosen. */
  const isUntold = () => setup !== null && !same(setup, settled);

  /* A button that waits for what was chosen just before is pressed once the server knows that, if it may be then. */
  const pressLater = async (button) => {
    const { key } = button.dataset;
    if (!key || acting || !isUntold()) return;
    while (isUntold() && !failures) await Promise.all([look(), new Promise((done) => setTimeout(done, TELLING_MS))]);
    const now = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (now?.getAttribute("aria-disabled") !== "true") now?.click();
  };

  const copy = async (button) => {
    const text = document.getElementById(button.dataset.copy)?.textContent ?? window.location.href;
    let copied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    if (!copied) {
      const area = Object.assign(document.createElement("textarea"), { value: text, className: "mf-off-screen" });
      document.body.append(area);
      area.select();
      copied = document.execCommand("copy");
      area.remove();
      button.focus();
    }
    if (!copied) return warn(`This browser refused to copy. Select and copy it here: ${text}`, true);
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = before), 1500);
  };

  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll(".mf-menu[open]")) if (!menu.contains(event.target) || event.target.closest("li")) menu.open = false;
    const target = event.target.closest("[data-show], [data-action], [data-copy], [data-svg], [data-png], [data-toggle], [data-dark], [data-says], [data-bring], [data-paste]");
    if (!target || target.disabled) return;
    if (target.getAttribute("aria-disabled") === "true") return void pressLater(target);
    const { show: values, action, copy: copied, svg, png, toggle } = target.dataset;
    if (values !== undefined) change(JSON.parse(values))?.then(() => document.getElementById(target.dataset.then)?.scrollIntoView({ block: "nearest" }));
    else if (target.dataset.dark !== undefined) switchColours();
    else if (target.dataset.says !== undefined) answerWith(target);
    else if (target.dataset.bring !== undefined) chooseFile(target);
    else if (target.dataset.paste !== undefined) paste(target);
    else if (action !== undefined) press(target, JSON.parse(action));
    else if (toggle !== undefined) change({ [toggle]: toggled(show[toggle] ?? "", target.dataset.value).map((one) => (one === target.dataset.value ? `${one}@${Date.now()}` : one)).join(",") });
    else if (copied !== undefined) copy(target);
    else if (svg ?? png) figures.save(document.getElementById(svg ?? png), svg ? "svg" : "png");
  });

  const valueOf = (field) => (field.type === "checkbox" ? field.checked : field.value);

  document.addEventListener("change", ({ target }) => {
    if (placing) return;
    const { set, tick, agree, keys, of, keyOf, choose: chosen, chooseList, list = "chosen" } = target.dataset ?? {};
    if (keys !== undefined) switchKeys(!target.checked);
    else if (agree !== undefined) put({ agreed: [...(setup?.agreed ?? []).filter((one) => one !== agree), ...(target.checked ? [agree] : [])] });
    else if (of !== undefined) put(ofRow(target));
    else if (keyOf !== undefined) keepKey(target);
    else if (chosen !== undefined) put({ [chosen]: numberOr(target) });
    else if (chooseList !== undefined) put({ [chooseList]: ticked(target) });
    else if (tick !== undefined) change({ [list]: toggled(show[list] ?? "", tick).join(",") });
    else if (set === "page") change({ page: target.value });
    else if (set !== undefined && target.type !== "search") change({ [set]: valueOf(target), page: 0 });
  });

  /* A key goes to the server as soon as it is typed, which keeps it in memory; nothing here does. */
  const keepKey = async (field) => {
    const [key, id] = [field.value, field.dataset.keyOf];
    setup = { ...setup, ...rowsWith(id, { had_key: key !== "" }) };
    await look({ name: "keep_key", about: id, fields: { key } });
    if (field.value === key) field.value = "";
  };

  for (const kind of ["dragover", "dragleave", "drop"])
    document.addEventListener(kind, (event) => {
      const zone = event.target.closest?.("[data-drop]");
      if (!zone) return;
      event.preventDefault();
      zone.classList.toggle("mf-over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) bring(event.dataTransfer.files[0], zone.dataset.drop, zone.dataset.accept);
    });

  let typing;
  document.addEventListener("input", ({ target }) => {
    const form = target.closest("[data-draft]");
    if (form) keepDraft(form);
    if (target.dataset?.of !== undefined && target.type !== "radio") put(ofRow(target), TYPING_MS);
    if (target.dataset?.choose && target.dataset.live !== undefined) put({ [target.dataset.choose]: target.value }, TYPING_MS);
    if (!target.dataset?.set || (target.type !== "search" && target.dataset.live === undefined)) return;
    clearTimeout(typing);
    typing = setTimeout(() => change({ [target.dataset.set]: target.value, page: 0 }, target.type === "search"), TYPING_MS);
  });

  const STEPS = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 };

  /* One tab stop for a list; arrow keys move within it. In a drawer, ← and → go to the fact before and after. */
  document.addEventListener("keydown", (event) => {
    const by = STEPS[event.key];
    if (event.key === "Enter" && event.target.matches("input[type=text][data-set]")) event.target.blur(); // what was typed is told; keys act again
    if (event.key === "Enter" && event.target.matches("[data-enter] input")) {
      event.target.blur();
      event.target.closest("[data-enter]").querySelector("[data-enters]")?.click();
    }
    if (event.key === "Escape") document.querySelector("[data-reveal] [data-close]")?.click();
    const typed = event.target.matches("input:not([type=radio], [type=checkbox]), textarea, select") || event.ctrlKey || event.altKey || event.metaKey;
    const within = document.querySelector("[data-answers]") ?? document; // a slip of the finger ends no game
    const acts = !typed && !event.repeat && !keysAreOff(); // a key that is held down is pressed once
    const hot = !acts ? null : within.querySelector(`[data-hotkey~="${CSS.escape(event.key)}"]`);
    if (acts && answerByKey(event.key)) event.preventDefault();
    hot?.closest("details")?.setAttribute("open", "");
    if (hot && hot.offsetParent) {
      event.preventDefault();
      hot.focus();
      hot.click();
    }
    if (!by || event.target.matches("input:not([type=radio]), textarea, select")) return;
    const drawer = event.target.closest("[data-reveal]");
    if (drawer && event.key.match(/Left|Right/)) return drawer.querySelector(by > 0 ? "[data-next]" : "[data-previous]")?.click();
    const list = event.target.closest("[data-roving]");
    if (!list) return;
    const items = [...list.querySelectorAll("[data-item]")];
    const here = items.indexOf(event.target.closest("[data-item]"));
    const next = here < 0 ? null : items[here + by]; // what is opened within a list is no item of it
    if (!next) return;
    event.preventDefault();
    stopAt(next);
  });

  /* --------------------------------------------------------------------------------------------------------- figures */

  const figures = (() => {
    let library; // large: it is fetched when the first figure comes near the window, and the numbers stand
    const whenIdle = window.requestIdleCallback ?? ((call) => setTimeout(call, 300));
    const fetchLibrary = () =>
      (library ??= new Promise((loaded, failed) => {
        const script = Object.assign(document.createElement("script"), { src: "page/plotly.min.js", onload: loaded, onerror: failed });
        requestAnimationFrame(() => requestAnimationFrame(() => whenIdle(() => document.head.append(script), { timeout: 2000 })));
      }).catch(() => (library = undefined)));

    const near = new WeakMap(); // node → whether it is close to the window
    const shown = new WeakMap(); // node → what was drawn last
    const css = (name) => getComputedStyle(document.querySelector(".gradio-container") ?? document.body).getPropertyValue(name).trim();

    const themed = (layout) => {
      const [text, grid] = [css("--body-text-color") || "#222", css("--border-color-primary") || "#ccc"];
      const axes = Object.keys(layout).filter((name) => /^[xy]axis/.test(name));
      const colours = Object.fromEntries(axes.map((name) => [name, { ...layout[name], title: { ...layout[name].title, font: { size: 13 } }, gridcolor: grid, linecolor: grid, zerolinecolor: grid }]));
      return { ...layout, ...colours, font: { color: text, family: "system-ui, sans-serif", size: 13 } };
    };

    /* The figures' colours are those for white paper; dark mode has others in their place (`--mf-line-…` of the style). */
    const inMode = (plot) => {
      const light = getComputedStyle(document.documentElement), now = getComputedStyle(document.body);
      const names = Array.from({ length: 8 }, (_, place) => `--mf-line-${place}`);
      return names.reduce((text, name) => text.replaceAll(light.getPropertyValue(name).trim(), now.getPropertyValue(name).trim().toLowerCase()), plot);
    };

    /* A point or bar leads to the facts that it stands for. */
    const follow = (node) => {
      if (node.dataset.followed) return;
      node.dataset.followed = "yes";
      node.on("plotly_click", ({ points: [{ data, pointNumber }] }) => data.meta?.[pointNumber] && change(data.meta[pointNumber]));
    };

    const draw = async (node) => {
      if (!near.get(node) || !node.isConnected) return;
      await fetchLibrary();
      const wanted = `${node.dataset.plot}|${node.clientWidth}|${document.body.className}`;
      if (!window.Plotly || shown.get(node) === wanted) return;
      shown.set(node, wanted);
      const { data, layout } = JSON.parse(inMode(node.dataset.plot));
      await window.Plotly.react(node, data, { ...themed(layout), width: node.clientWidth || undefined }, { displayModeBar: false, showSendToCloud: false });
      follow(node);
    };

    const seen = new IntersectionObserver(
      (entries) =>
        entries.forEach(({ target, isIntersecting }) => {
          near.set(target, isIntersecting);
          draw(target);
        }),
      { rootMargin: "300px" },
    );
    const sized = new ResizeObserver((entries) => entries.forEach(({ target }) => requestAnimationFrame(() => draw(target))));
    new MutationObserver(() => document.querySelectorAll("[data-plot]").forEach(draw)).observe(document.body ?? document.documentElement, { attributes: true, attributeFilter: ["class"] });

    const watch = (node) => {
      if (near.has(node)) return draw(node);
      near.set(node, false);
      seen.observe(node);
      sized.observe(node);
    };

    const lines = (text, most) => {
      const found = [""];
      for (const word of text.split(" ")) {
        const last = found.length - 1;
        if (found[last] && `${found[last]} ${word}`.length > most) found.push(word);
        else found[last] += `${found[last] ? " " : ""}${word}`;
      }
      return found.map((line) => line.replaceAll("&", "&amp;").replaceAll("<", "&lt;")); // the library reads some markup
    };

    const savePicture = async ({ href, id }) => {
      const image = Object.assign(new Image(), { src: href });
      await image.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: 2 * image.naturalWidth, height: 2 * image.naturalHeight });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      Object.assign(document.createElement("a"), { href: canvas.toDataURL("image/png"), download: `medfact-${id}.png` }).click();
    };
    const save = async (node, format = "svg") => {
      if (node.href) return savePicture(node);
      await fetchLibrary();
      const { data, layout } = JSON.parse(node.dataset.plot);
      const title = lines(node.dataset.title ?? "", 105);
      const room = node.dataset.title ? 20 * title.length + 12 : 0;
      const paper = {
        ...layout,
        width: 900,
        height: layout.height + room,
        margin: { ...layout.margin, t: (layout.margin?.t ?? 36) + room },
        title: { text: title.join("<br>"), font: { size: 15 }, x: 0.01, xanchor: "left", y: 1, yref: "container", yanchor: "top", pad: { t: 10 } },
        paper_bgcolor: "#ffffff",
        font: { color: "#222222", family: "sans-serif", size: 13 },
      };
      window.Plotly.downloadImage({ data, layout: paper }, { format, filename: `medfact-${node.id}`, width: 900, height: paper.height, scale: format === "png" ? 2 : 1 });
    };
    return { watch, save };
  })();

  /* ---------------------------------------------------------------------------------------------------- for the inputs */

  window.medfact = { choose, lastChosen };
  window.addEventListener("popstate", ({ state }) => {
    if (!state?.medfact) return; // a link within this page
    clearTimeout(typing);
    if (document.activeElement?.matches("input[type=search]")) document.activeElement.blur(); // it shows what was searched for there
    returning = true;
    address = window.location.search;
    change(state.medfact);
  });
  /* What was chosen in the last moment before the page is left is told all the same. */
  window.addEventListener("pagehide", () => {
    if (setup === null || same(setup, settled)) return;
    const body = JSON.stringify({ page: PAGE, show, setup, drawn });
    fetch("updates", { method: "POST", headers: { "Content-Type": "application/json" }, body, keepalive: true }).catch(() => {});
  });
  window.addEventListener("pageshow", ({ persisted }) => persisted && look());
  document.addEventListener("visibilitychange", () => document.hidden || look());
  look();
})();
