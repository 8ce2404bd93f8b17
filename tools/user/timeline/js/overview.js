// overview.js: the whole trace in one strip: how many workers ran tasks, how many tasks waited, and where the view is.

const overview = {picture: null, most: 0};

// How many tasks wait, at the middle of each of so many parts of the trace.
function waitingIn(trace, parts) {
  const {runs, head} = trace;
  const change = new Int32Array(parts + 1);
  const partOf = (ns) => Math.min(parts, Math.max(0, Math.ceil(ns / trace.until * parts - 0.5)));
  for (let run = 0; run < runs.rows; run++) {
    if (head.ends[runs.ended[run]] === 'waits') {
      change[partOf(runs.end[run])]++;
      change[partOf(runs.end[run] + pauseAfter(trace, run))]--;
    }
  }
  let waiting = 0;
  return change.subarray(0, parts).map((difference) => waiting += difference);
}

// How many workers are busy in each part, from 0 to all of them.
function busyIn(trace, parts) {
  const {runs} = trace;
  const busy = new Float64Array(parts);
  const part = trace.until / parts;
  for (const {first, end} of trace.tracks) {
    let run = first;
    for (let i = 0; i < parts && run < end; i++) {
      const from = i * part;
      const next = firstIndex(run, end, (r) => runs.end[r] > from + part);
      let sum = runs.sum[next] - runs.sum[run];
      sum -= run < next ? Math.max(0, from - runs.begin[run]) : 0;
      sum += next < end ? Math.max(0, from + part - Math.max(from, runs.begin[next])) : 0;
      busy[i] += Math.min(1, sum / part);
      run = next;
    }
  }
  return busy;
}

function paintOverview(trace, width, height, ratio) {
  const picture = document.createElement('canvas');
  picture.width = Math.round(width * ratio);
  picture.height = Math.round(height * ratio);
  const context = picture.getContext('2d');
  context.scale(ratio, ratio);
  const parts = Math.max(1, Math.floor(width - LABELS));
  const busy = busyIn(trace, parts);
  const waiting = waitingIn(trace, parts);
  const all = Math.max(1, trace.tracks.length);
  overview.most = waiting.reduce((most, n) => Math.max(most, n), 0);
  context.fillStyle = paint.busy;
  busy.forEach((n, i) => context.fillRect(LABELS + i, height - n / all * (height - 6), 1, height));
  context.strokeStyle = paint.waiting;
  context.beginPath();
  waiting.forEach((n, i) => context.lineTo(LABELS + i + 0.5, height - 2 - n / Math.max(1, overview.most) * (height - 8)));
  context.stroke();
  context.font = '11px system-ui, "DejaVu Sans", sans-serif';
  context.textBaseline = 'middle';
  context.fillStyle = paint.busy;
  context.fillRect(10, height / 2 - 14, 8, 8);
  context.fillStyle = paint.waiting;
  context.fillRect(10, height / 2 + 9, 8, 2);
  context.fillStyle = paint.text;
  context.fillText(`busy, of ${all}`, 24, height / 2 - 9.5, LABELS - 30);
  context.fillText(`waiting, to ${countText(overview.most)}`, 24, height / 2 + 10, LABELS - 30);
  return picture;
}

function drawOverview(canvas, trace) {
  const [context, width, height, ratio] = sized(canvas);
  if (!overview.picture || overview.picture.width !== Math.round(width * ratio)) {
    overview.picture = paintOverview(trace, width, height, ratio);
  }
  context.fillStyle = paint.ground;
  context.fillRect(0, 0, width, height);
  context.drawImage(overview.picture, 0, 0, width, height);
  const x = (ns) => LABELS + Math.min(Math.max(ns / trace.until, 0), 1) * (width - LABELS);
  const from = x(view.from);
  const to = Math.max(x(view.to), from + 2);
  context.fillStyle = paint.ground;
  context.globalAlpha = 0.6;
  context.fillRect(LABELS, 0, from - LABELS, height);
  context.fillRect(to, 0, width - to, height);
  context.globalAlpha = 1;
  context.strokeStyle = paint.accent;
  context.lineWidth = 1.5;
  context.strokeRect(from + 0.75, 0.75, Math.max(to - from - 1.5, 1), height - 1.5);
}

// Where a click on the strip leads: that place is the new middle.
function overviewTo(canvas, trace, x) {
  const width = canvas.clientWidth;
  const at = (x - LABELS) / (width - LABELS) * trace.until;
  const span = view.goal.to - view.goal.from;
  setGoal(at - span / 2, at + span / 2);
}
