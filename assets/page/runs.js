/* The view of the page Runs. */
(() => {
  const { views, parts } = window.medfact;
  const { note } = parts;

  views.runs = (value) => note(value.none);
})();
