/* Which of Sphinx's hits come first: a name or a heading that is the query, then those that begin with it. */
"use strict";
const asked = (new URLSearchParams(location.search).get("q") || "").trim().toLowerCase().replace(/^-/, "");
const ranks = { 0: 15, 1: 5, 2: -5 };

var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    /* An object's last part, or a section's own heading. */
    const name = title.toLowerCase().split(description ? "." : " > ").pop().replace(/^-|\(\)$/g, "");
    const short = name.replace(/^thrum_/, "");
    if (name === asked || short === asked) return 1000 + score;
    if (description && short.startsWith(asked)) return 200 + score - short.length;
    return score;
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: ranks, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
