// Without this script every page works; with it, figures refresh and a message can be
// dropped anywhere on the page.
"use strict";
(() => {
  const every = 10000;
  let failures = 0;
  // A screen reader says what has changed, and only that. Ages, which change all the time, are no news.
  const said = document.querySelector("[data-said]");
  const newsOf = (live) => live?.querySelector("[data-news]")?.dataset.news;
  let last = newsOf(document);
  const say = (news) => {
    if (said && news && news !== last) said.textContent = last = news;
  };
  const refresh = async () => {
    const live = document.querySelector("[data-live]");
    if (!live || document.hidden) return;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-live]");
      say(newsOf(fresh));
      const isInUse = live.contains(document.activeElement) && document.activeElement !== document.body;
      if (fresh && !isInUse) live.replaceWith(document.adoptNode(fresh));
      failures = 0;
    } catch {
      // One failure may be a connection that was closed for a newer one.
      if (++failures === 1) {
        setTimeout(refresh, 1000);
        return;
      }
      // Figures that are not refreshed must not look fresh.
      const state = document.querySelector(".state");
      if (state && !state.dataset.lost) {
        state.dataset.lost = "1";
        state.className = "state fault";
        say(state.lastElementChild.textContent = "The daemon does not answer. These figures are old.");
      }
    }
  };
  setInterval(refresh, every);
  document.addEventListener("visibilitychange", refresh); // after hours in the background

  const form = document.querySelector("form[data-drop]");
  if (!form) return;
  const file = form.querySelector("input[type=file]");
  addEventListener("dragover", (e) => { e.preventDefault(); form.classList.add("drop"); });
  addEventListener("dragleave", () => form.classList.remove("drop"));
  addEventListener("drop", (e) => {
    e.preventDefault();
    form.classList.remove("drop");
    if (e.dataTransfer.files.length !== 1) return;
    file.files = e.dataTransfer.files;
    form.requestSubmit();
  });
})();
