// way.js: the selected task's own lane at the bottom: its runs, and between them what it waited for.

const way = {runs: new Uint32Array(0), task: -1};

// Collects the runs of a task, in order; -1: none.
function takeWay(trace, run) {
  const {runs} = trace;
  const task = run < 0 ? -1 : runs.task[run];
  if (task === way.task) {
    return;
  }
  way.task = task;
  const found = [];
  let first = run;
  while (first >= 0 && runs.before[first] >= 0) {
    first = runs.before[first];
  }
  for (; first >= 0; first = runs.after[first]) {
    found.push(first);
  }
  way.runs = Uint32Array.from(found);
}

function wayY() {
  return view.height - WAY + 14;
}

function drawWay(context, trace) {
  const {runs} = trace;
  context.fillStyle = paint.raised;
  context.fillRect(0, view.height - WAY, view.width, WAY);
  context.fillStyle = paint.line;
  context.fillRect(0, view.height - WAY, view.width, 1);
  context.font = FONT;
  const own = way.runs;
  const scale = nsPerPixel();
  let i = Math.max(0, firstIndex(0, own.length, (k) => runs.end[own[k]] > view.from) - 1);
  while (i < own.length && runs.begin[own[i]] < view.to) {
    drawPause(context, trace, own[i]);
    drawRun(context, trace, own[i], wayY());
    const least = runs.end[own[i]] + scale / 2;
    i = firstIndex(i + 1, own.length, (k) => runs.end[own[k]] > least);
  }
  context.globalAlpha = 1;
  context.fillStyle = paint.raised;
  context.fillRect(0, view.height - WAY + 1, LABELS - 1, WAY);
  context.fillStyle = paint.text;
  context.font = '12px system-ui, "DejaVu Sans", sans-serif';
  context.fillText('the task', 10, wayY() + 4, LABELS - 18);
  context.fillStyle = paint.muted;
  context.font = '10.5px system-ui, "DejaVu Sans", sans-serif';
  context.fillText(cut(numberText(trace, way.task), 20), 10, wayY() + 19, LABELS - 18);
}

// What a task did between two runs.
function drawPause(context, trace, run) {
  const {runs} = trace;
  const length = pauseAfter(trace, run);
  if (length <= 0) {
    return;
  }
  const x = Math.max(LABELS, xOf(runs.end[run]));
  const right = Math.min(view.width, xOf(runs.end[run] + length));
  if (right - x < 1) {
    return;
  }
  context.fillStyle = paint.backoff;
  context.fillRect(x, wayY() + 3, right - x, BAR - 6);
  const room = Math.floor((right - x - 8) / LETTER);
  if (room > 4) {
    context.fillStyle = paint.text;
    context.fillText(cut(`${causeText(trace, run)}, ${lengthText(length)}`, room), x + 4, wayY() + BAR / 2 + 0.5,
      (room + 0.5) * LETTER);
  }
}

// The selected task's arrows, over all others.
function drawOwnWays(context, trace) {
  const {runs} = trace;
  const own = way.runs;
  const first = Math.max(0, firstIndex(0, own.length, (k) => runs.end[own[k]] > view.from) - 1);
  const end = firstIndex(first, own.length, (k) => runs.begin[own[k]] > view.to);
  context.strokeStyle = context.fillStyle = paint.accent;
  context.lineWidth = 1.5;
  for (let k = first; k < Math.min(end, first + OWN_MAX); k++) {
    outline(context, runs.begin[own[k]], runs.end[own[k]], trackY(runs.track[own[k]]), paint.accent);
    if (k + 1 < own.length) {
      drawStep(context, trace, own[k], own[k + 1]);
    }
  }
}
