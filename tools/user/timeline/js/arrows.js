// arrows.js: arrows from where a task gave its worker up to where it went on, from wakes to the ends of sleeps, and
// from the worker that something was taken from. Only as many are drawn as can be told apart.

const SEEN_MAX = 600; // where more runs and marks than that are seen, arrows are left out
const OWN_MAX = 1500; // arrows of the selected task

const arrows = {crowded: false, pale: false};

// A curve that leaves downwards (1) or upwards (-1) and comes in from below (1) or from above (-1).
function drawArrow(context, x1, y1, leaves, x2, y2, comes) {
  if ((x1 < LABELS && x2 < LABELS) || (x1 > view.width && x2 > view.width)) {
    return;
  }
  const bow = Math.min(40, 6 + Math.abs(x2 - x1) / 20 + Math.abs(y2 - y1) / 2);
  context.beginPath();
  context.moveTo(x1, y1);
  context.bezierCurveTo(x1, y1 + leaves * bow, x2, y2 + comes * bow, x2, y2 + comes * 4);
  context.stroke();
  context.beginPath();
  context.moveTo(x2, y2);
  context.lineTo(x2 - 3.5, y2 + comes * 6);
  context.lineTo(x2 + 3.5, y2 + comes * 6);
  context.fill();
}

// The way of a task from one of its runs to the next.
function drawStep(context, {runs}, from, to) {
  const x1 = xOf(runs.end[from]);
  const x2 = xOf(runs.begin[to]);
  const down = runs.track[to] >= runs.track[from] ? 1 : -1;
  const comes = runs.track[to] > runs.track[from] ? -1 : 1;
  if (Math.abs(x2 - x1) + Math.abs(runs.track[from] - runs.track[to]) * 20 > 6) {
    drawArrow(context, x1, trackY(runs.track[from]) + (down > 0 ? BAR : 0), down,
      x2, trackY(runs.track[to]) + (comes > 0 ? BAR : 0), comes);
  }
}

function runsSeen(trace, track) {
  const {runs} = trace;
  const first = firstIndex(track.first, track.end, (r) => runs.end[r] >= view.from);
  return [first, firstIndex(first, track.end, (r) => runs.begin[r] > view.to)];
}

function marksSeen({marks}) {
  const first = firstIndex(0, marks.rows, (m) => marks.begin[m] >= view.from);
  return [first, firstIndex(first, marks.rows, (m) => marks.begin[m] > view.to)];
}

function countSeen(trace, tracks) {
  const countOf = ([first, end]) => end - first;
  const seen = tracks.reduce((sum, track) => sum + countOf(runsSeen(trace, track)) + countOf(marksSeen(track)), 0);
  Object.assign(arrows, {crowded: seen > SEEN_MAX, pale: seen > SEEN_MAX / 3});
}

function drawWays(context, trace, tracks) {
  const {runs} = trace;
  context.strokeStyle = context.fillStyle = paint.way;
  context.globalAlpha = selection.task >= 0 || search.active ? 0.15 : arrows.pale ? 0.25 : 0.45;
  context.lineWidth = 1;
  for (const track of tracks) {
    const [first, end] = runsSeen(trace, track);
    for (let run = first; run < end; run++) {
      const before = runs.before[run];
      if (runs.after[run] >= 0) {
        drawStep(context, trace, run, runs.after[run]);
      }
      if (before >= 0 && runs.end[before] < view.from) { // else it is drawn from there
        drawStep(context, trace, before, run);
      }
    }
  }
  context.globalAlpha = 1;
}

function drawMarkArrows(context, trace, track, kinds) {
  const {marks, index} = track;
  const [from, to] = marksSeen(track);
  context.lineWidth = 1;
  context.globalAlpha = arrows.pale ? 0.5 : 0.8;
  for (let i = from; i < to; i++) {
    const kind = trace.head.marks[marks.kind[i]];
    const other = trace.byNumber.get(marks.number[i] - 1);
    if (!kinds.includes(kind) || !other || other === track) {
      continue;
    }
    context.strokeStyle = context.fillStyle = paint[SIGNS[kind][1]];
    const x = xOf(marks.begin[i]);
    const here = trackY(index) + BAR + 1 + STRIP / 2;
    const down = other.index > index ? 1 : -1;
    const there = trackY(other.index) + (down > 0 ? 0 : BAR);
    if (kind === 'wake') {
      drawArrow(context, x, here, down, Number.isNaN(marks.to[i]) ? x : xOf(marks.to[i]), there, -down);
    } else {
      drawArrow(context, x, there, -down, x, here + down * 4, down);
    }
  }
  context.globalAlpha = 1;
}
