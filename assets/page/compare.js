/* The views of the page Compare. */
(() => {
  const { views, parts } = window.medfact;
  const { note } = parts;

  views.pairs = (value) => note(value.none);
})();
