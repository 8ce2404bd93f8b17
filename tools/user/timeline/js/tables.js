// tables.js: the tabs below the picture: the longest waits, sums by cause and by function, lengths of runs.

const ROWS_MAX = 200;
const TABS = [['waits', 'longest waits', showWaits], ['causes', 'causes of waits', showCauses],
  ['functions', 'functions', showFunctions], ['lengths', 'lengths of runs', showLengths], ['about', 'about', showAbout]];

const tabs = {shown: 'waits', inView: false};

function makeTabs(trace) {
  const nav = document.getElementById('tabs');
  for (const [name, text] of TABS) {
    const tab = element('button', text);
    tab.id = `tab-${name}`;
    tab.setAttribute('role', 'tab');
    tab.onclick = () => showTab(trace, name);
    nav.append(tab);
  }
  const only = element('label', '');
  const box = document.createElement('input');
  box.type = 'checkbox';
  box.id = 'in-view';
  box.onchange = () => {
    tabs.inView = box.checked;
    showTab(trace, tabs.shown);
  };
  only.append(box, ' only what is in view');
  nav.append(only);
}

function showTab(trace, name) {
  tabs.shown = name;
  for (const [other] of TABS) {
    document.getElementById(`tab-${other}`).setAttribute('aria-selected', String(other === name));
  }
  const panel = document.getElementById('table');
  panel.replaceChildren();
  TABS.find(([other]) => other === name)[2](panel, trace);
}

// The range of time that the tables are about.
function tableRange(trace) {
  return tabs.inView ? [view.goal.from, view.goal.to] : [-Infinity, Infinity];
}

// A table. A column is [title, whether it is of numbers]; a row [cells, what a click does], a cell a text or nodes.
function tableOf(columns, rows) {
  const table = document.createElement('table');
  const head = table.createTHead().insertRow();
  for (const [title, numbers] of columns) {
    head.append(element('th', title, numbers ? 'number' : ''));
  }
  const body = table.createTBody();
  for (const [cells, go] of rows) {
    const row = body.insertRow();
    cells.forEach((cell, i) => {
      const made = element('td', '', columns[i][1] ? 'number' : 'text');
      made.append(...(Array.isArray(cell) ? cell : [cut(cell, 300)]));
      made.title = Array.isArray(cell) ? '' : cut(cell, 1000);
      row.append(made);
    });
    if (go) {
      row.dataset.go = '';
      row.onclick = () => {
        body.querySelector('.chosen')?.classList.remove('chosen');
        row.classList.add('chosen');
        go();
      };
    }
  }
  return table;
}

// The runs behind which the longest waits are, the longest first.
function longestWaits(trace) {
  const {runs} = trace;
  const [from, to] = tableRange(trace);
  const best = []; // sorted, the longest first
  for (let run = 0; run < runs.rows; run++) {
    const length = pauseAfter(trace, run);
    if (length <= 0 || (best.length === ROWS_MAX && length <= best[ROWS_MAX - 1].length)
        || runs.end[run] > to || runs.end[run] + length < from) {
      continue;
    }
    const place = firstIndex(0, best.length, (i) => best[i].length < length);
    best.splice(place, 0, {run, length});
    best.length = Math.min(best.length, ROWS_MAX);
  }
  return best;
}

function showWaits(panel, trace) {
  const {runs, strings, tracks} = trace;
  const waits = longestWaits(trace);
  if (!waits.length) {
    panel.append(element('p', 'No task has waited here.'));
    return;
  }
  panel.append(tableOf([['length', true], ['task', false], ['waits for', false], ['since', true], ['on', false],
    ['goes on', false], ['woken by, as far as is seen', false]], waits.map(({run, length}) => {
    const after = runs.after[run];
    const cells = [lengthText(length), [swatchOf(trace.slots[keyOf(trace, run)]), cut(strings[runs.name[run]] || '(no name)', 200)],
      causeText(trace, run), timeText(runs.end[run], 1000), tracks[runs.track[run]].name,
      after < 0 ? 'not in the trace' : tracks[runs.track[after]].name, after < 0 ? '' : endedBy(trace, after).text];
    return [cells, () => {
      selectRun(trace, run, false);
      reveal(runs.end[run], runs.end[run] + length, runs.track[run]);
    }];
  })));
}

// Sums over what lies in the range: for each key count, sum and longest.
function sums(rows, keyOfRow, lengthOf) {
  const found = new Map();
  for (let i = 0; i < rows; i++) {
    const length = lengthOf(i);
    if (length < 0) {
      continue;
    }
    const key = keyOfRow(i);
    const sum = found.get(key) || {key, count: 0, total: 0, longest: 0, at: i};
    sum.count++;
    sum.total += length;
    if (length > sum.longest) {
      sum.longest = length;
      sum.at = i;
    }
    found.set(key, sum);
  }
  return [...found.values()].sort((a, b) => b.total - a.total);
}

function showCauses(panel, trace) {
  const {runs} = trace;
  const [from, to] = tableRange(trace);
  const rows = sums(runs.rows, (i) => runs.ended[i] * 4294967296 + runs.on[i], (i) => {
    const length = pauseAfter(trace, i);
    return runs.end[i] > to || runs.end[i] + length < from ? -1 : length;
  });
  const all = rows.reduce((sum, row) => sum + row.total, 0);
  panel.append(tableOf([['all together', true], ['share', true], ['waits', true], ['on average', true], ['longest', true],
    ['waits for', false]], rows.slice(0, ROWS_MAX).map((row) => [[lengthText(row.total), shareText(row.total, all), countText(row.count),
    lengthText(row.total / row.count), lengthText(row.longest), kindOfCause(trace, row.at)], () => {
    selectRun(trace, row.at, false);
    reveal(runs.end[row.at], runs.end[row.at] + row.longest, runs.track[row.at]);
  }])));
}

function runInRange(trace) {
  const {runs} = trace;
  const [from, to] = tableRange(trace);
  return (i) => runs.begin[i] > to || runs.end[i] < from ? -1 : runs.length[i];
}

function showFunctions(panel, trace) {
  const {runs, strings} = trace;
  const rows = sums(runs.rows, (i) => keyOf(trace, i), runInRange(trace));
  const all = rows.reduce((sum, row) => sum + row.total, 0);
  panel.append(tableOf([['all together', true], ['share', true], ['runs', true], ['on average', true], ['longest', true],
    ['function', false]], rows.slice(0, ROWS_MAX).map((row) => [[lengthText(row.total), shareText(row.total, all),
    countText(row.count), lengthText(row.total / row.count), lengthText(row.longest),
    [swatchOf(trace.slots[row.key]), cut(strings[row.key] || '(no name)', 300)]], () => {
    searchFor(trace, strings[row.key]);
    selectRun(trace, row.at);
  }])));
}
