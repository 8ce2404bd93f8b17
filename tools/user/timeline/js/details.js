// details.js: all that is known about what was selected.

// `kind` is '', 'run', 'sleep' or 'mark'; `task` is the task of a selected run (-1: none); `from` and `to` are a chosen
// range of time, if `to` is greater.
const selection = {kind: '', track: 0, index: -1, task: -1, from: 0, to: 0};

function select(trace, kind, track = 0, index = -1) {
  Object.assign(selection, {kind, track, index, task: kind === 'run' ? trace.runs.task[index] : -1});
  takeWay(trace, kind === 'run' ? index : -1);
  view.lane = selection.task >= 0;
  scrollBy(0);
  showDetails(trace);
  redraw();
}

function selectRun(trace, run, seen = true) {
  if (run < 0) {
    return;
  }
  select(trace, 'run', trace.runs.track[run], run);
  if (seen) {
    reveal(trace.runs.begin[run], trace.runs.end[run], trace.runs.track[run]);
  }
}

// Where the selection begins and ends; null: nothing is selected.
function selectedRange({runs, tracks}) {
  const {kind, track, index} = selection;
  if (selection.to > selection.from) {
    return [selection.from, selection.to];
  }
  switch (kind) {
    case 'run': return [runs.begin[index], runs.end[index]];
    case 'sleep': return [tracks[track].sleeps.begin[index], tracks[track].sleeps.end[index]];
    case 'mark': return [tracks[track].marks.begin[index] - 500, tracks[track].marks.begin[index] + 500];
    default: return null;
  }
}

function showDetails(trace) {
  const box = document.getElementById('details');
  box.replaceChildren();
  box.scrollTop = 0;
  if (selection.to > selection.from) {
    rangeDetails(trace, box);
  } else if (selection.kind === 'run') {
    runDetails(trace, box, selection.index);
  } else if (selection.kind === 'sleep') {
    sleepDetails(trace, box);
  } else if (selection.kind === 'mark') {
    markDetails(trace, box);
  } else {
    box.append(element('p', 'Click on a bar or on a sign to see what it was, why it began and what came of it.'));
  }
}

// Rows of a name and a text, or a node.
function listOf(rows) {
  const list = document.createElement('dl');
  for (const [name, value] of rows) {
    if (value !== '' && value !== null) {
      const said = document.createElement('dd');
      said.append(typeof value === 'string' ? cut(value, 4000) : value);
      list.append(element('dt', name), said);
    }
  }
  return list;
}

function linkTo(trace, text, run) {
  if (run < 0) {
    return text;
  }
  const link = element('button', text);
  link.onclick = () => selectRun(trace, run);
  return link;
}

function exact(ns) {
  return timeText(ns, 1);
}

function runDetails(trace, box, run) {
  const {runs, tracks, strings, tasks} = trace;
  const title = element('h2');
  title.append(swatchOf(trace.slots[keyOf(trace, run)]), cut(strings[runs.name[run]] || '(no name)', 4000));
  const before = runs.before[run];
  const after = runs.after[run];
  const reason = endedBy(trace, run);
  const began = before >= 0 ? `${causeText(trace, before)}, ${lengthText(pauseAfter(trace, before))}`
    : runs.flags[run] & RESUMED ? 'something, before what the trace has' : 'nothing: its first run';
  const pause = pauseAfter(trace, run);
  const how = trace.head.ends[runs.ended[run]];
  const next = how === 'finished' || how === 'running' || pause < 0 ? how
    : `${causeText(trace, run)}, ${lengthText(pause)}${after < 0 ? ' and longer' : ''}`;
  box.append(title, listOf([
    ['function', strings[tasks.function[runs.task[run]]]],
    ['task', numberText(trace, runs.task[run])],
    ['on', tracks[runs.track[run]].name],
    ['begins', exact(runs.begin[run])],
    ['length', lengthText(runs.length[run])],
    ['waited for', linkTo(trace, began, before)],
    ['woken by', reason.text ? linkTo(trace, reason.text, reason.run) : before >= 0 ? 'not in the trace' : ''],
    [how === 'waits' || how === 'yielded' ? 'then waits for' : 'then', linkTo(trace, next, after)],
    ['within it', marksList(trace, run)],
  ]));
}

// What happened within a run; the first ones, if it is much.
function marksList(trace, run) {
  const [from, to] = marksWithin(trace, run);
  if (from === to) {
    return '';
  }
  const track = trace.tracks[trace.runs.track[run]];
  const list = element('div');
  for (let i = from; i < Math.min(to, from + 12); i++) {
    list.append(element('div', `${lengthText(track.marks.begin[i] - trace.runs.begin[run])}: ${markText(trace, track, i)}`));
  }
  if (to - from > 12) {
    list.append(element('div', `and ${countText(to - from - 12)} more`));
  }
  return list;
}

function sleepDetails(trace, box) {
  const track = trace.tracks[selection.track];
  const {sleeps} = track;
  const i = selection.index;
  const parked = trace.strings[sleeps.name[i]] === 'parked';
  const wake = sleeps.wakeMark[i];
  let woken = 'no wake of a traced worker: a time, an event, or another thread';
  if (wake >= 0) {
    const by = trace.tracks[sleeps.wakeTrack[i]];
    const at = by.marks.begin[wake];
    const run = runOf(trace, by, at);
    woken = linkTo(trace, `${placeText(trace, run, by)}, ${lengthText(Math.max(0, sleeps.end[i] - at))} before it ran again`, run);
  }
  box.append(element('h2', parked ? 'parked: the worker sleeps' : trace.strings[sleeps.name[i]]), listOf([
    ['on', track.name],
    ['begins', exact(sleeps.begin[i])],
    ['length', lengthText(sleeps.length[i])],
    ['woken by', woken],
  ]));
}

function markDetails(trace, box) {
  const track = trace.tracks[selection.track];
  const i = selection.index;
  const at = track.marks.begin[i];
  const run = runOf(trace, track, at);
  box.append(element('h2', markText(trace, track, i)), listOf([
    ['on', track.name],
    ['at', exact(at)],
    ['within', run >= 0 ? linkTo(trace, trace.strings[trace.runs.name[run]], run) : 'no task: the worker’s own code'],
    ['slept until', Number.isNaN(track.marks.to[i]) ? ''
      : `${exact(track.marks.to[i])}, ${lengthText(Math.max(0, track.marks.to[i] - at))} later`],
  ]));
}

function rangeDetails(trace, box) {
  const {from, to} = selection;
  const busy = trace.tracks.map((track) => [track.name, shareText(busyWithin(trace, track, from, to), to - from)]);
  box.append(element('h2', `${lengthText(to - from)} chosen`),
    listOf([['from', exact(from)], ['to', exact(to)], ...busy.slice(0, 64).map(([name, share]) => [`${cut(name, 18)} ran`, share])]),
    element('p', 'f makes it fill the picture; the tables can be of what is in view.'));
}

function busyWithin({runs}, track, from, to) {
  const first = firstIndex(track.first, track.end, (r) => runs.end[r] > from);
  const end = firstIndex(first, track.end, (r) => runs.begin[r] >= to);
  if (first >= end) {
    return 0;
  }
  return runs.sum[end] - runs.sum[first] - Math.max(0, from - runs.begin[first]) - Math.max(0, runs.end[end - 1] - to);
}
