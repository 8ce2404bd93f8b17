// search.js: finds runs by their name, function, task number, or what they then wait for.

// `is[run]`: whether a run is a hit; `sum[run]`: how many before it are; `hits`: all of them, in order of time.
const search = {active: false, text: '', is: null, sum: null, hits: new Uint32Array(0), at: -1};

function searchFor(trace, text) {
  const box = document.getElementById('search');
  box.value = box.value.trim() === text ? box.value : text;
  Object.assign(search, {active: text !== '', text, at: -1, hits: new Uint32Array(0)});
  if (search.active) {
    findHits(trace, text.toLowerCase());
  }
  showHits();
  if (tabs.shown === 'lengths') {
    showTab(trace, 'lengths');
  }
  redraw();
}

function findHits(trace, text) {
  const {runs, tasks, strings, order} = trace;
  const has = Uint8Array.from(strings, (string) => string.toLowerCase().includes(text) ? 1 : 0);
  const waitsFor = new Map(); // of each pair of kind and object whether its words have the text
  const ofTask = new Int8Array(tasks.rows);
  for (let task = 0; task < tasks.rows; task++) {
    ofTask[task] = has[tasks.function[task]] || numberText(trace, task) === text ? 1 : 0;
  }
  search.is = new Uint8Array(runs.rows);
  search.sum = new Uint32Array(runs.rows + 1);
  for (let run = 0; run < runs.rows; run++) {
    let is = has[runs.name[run]] || ofTask[runs.task[run]];
    if (!is && runs.on[run]) {
      const pair = runs.on[run] * 4294967296 + runs.object[run];
      if (!waitsFor.has(pair)) {
        waitsFor.set(pair, causeText(trace, run).toLowerCase().includes(text) ? 1 : 0);
      }
      is = waitsFor.get(pair);
    }
    search.is[run] = is;
    search.sum[run + 1] = search.sum[run] + is;
  }
  search.hits = order.filter((run) => search.is[run]);
}

function showHits() {
  const out = document.getElementById('hits');
  const {hits, at, active} = search;
  out.textContent = !active ? '' : !hits.length ? 'no hits'
    : at < 0 ? counted(hits.length, 'hit') : `${countText(at + 1)} of ${countText(hits.length)}`;
}

// Goes to the next hit (1) or the previous one (-1), from the one before, else from what is selected or in view.
function nextHit(trace, direction) {
  const {hits} = search;
  if (!hits.length) {
    return;
  }
  if (search.at < 0) {
    const from = selection.kind === 'run' ? trace.runs.begin[selection.index] : Math.max(view.goal.from, -1);
    const next = firstIndex(0, hits.length, (i) => trace.runs.begin[hits[i]] >= from);
    search.at = direction > 0 ? next - 1 : next;
  }
  search.at = (search.at + direction + hits.length) % hits.length;
  showHits();
  selectRun(trace, hits[search.at]);
}
