/*
 * Which of Sphinx's hits come first: a word of the index (WORDS and PLACES of pages.py), a name or a heading that is the
 * query, then names that begin with it. A parameter's name, the pages about the sources and the change log come last.
 */
"use strict";
const asked = (new URLSearchParams(location.search).get("q") || "").trim().toLowerCase().replace(/^-/, "");
const ranks = { 0: 15, 1: 5, 2: -5 };

var Scorer = {
  score: (hit) => {
    const [page, title, anchor, description, score] = hit;
    if (description && description.startsWith("C function parameter")) return score - 100;
    const late = /^(src|tests|bench|docs|CHANGELOG|HACKING|porting)\b/.test(page) ? 50 : 0;
    if (anchor && anchor.startsWith("#index-") && score === 100) {
      hit[1] = title + ": " + asked;
      return page.startsWith("reference/") ? 2001 : 2000;
    }
    /* An object's last part, or a section's own heading. */
    const name = title.toLowerCase().split(description ? "." : " > ").pop().replace(/^-|\(\)$/g, "");
    const short = name.replace(/^thrum_/, "");
    if (name === asked || short === asked || short === asked.replace(/ /g, "_")) return (late ? 100 : 1000) + score;
    if (description && short.startsWith(asked)) return 200 + score - short.length;
    return score - late;
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: ranks, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
