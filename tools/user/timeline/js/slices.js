// slices.js: the bars of a track: what was run, and sleeps. What is narrower than a pixel is drawn together: in the
// colour of the longest, the stronger the more of the pixel's time was run. Each pixel costs two searches, however
// many runs are in it.

const LETTER = 6.63; // the width of a letter of the font below
const FONT = '11px ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace';

function drawTrack(context, trace, track) {
  const y = trackY(track.index);
  drawSleeps(context, trace, track, y);
  drawRuns(context, trace, track, y);
}

function drawSleeps(context, trace, {sleeps}, y) {
  const scale = nsPerPixel();
  let i = firstIndex(0, sleeps.rows, (s) => sleeps.end[s] > view.from);
  while (i < sleeps.rows && sleeps.begin[i] < view.to) {
    const x = Math.max(LABELS, xOf(sleeps.begin[i]));
    const width = Math.min(view.width, xOf(sleeps.end[i])) - x;
    const parked = trace.strings[sleeps.name[i]] === 'parked';
    context.fillStyle = parked ? paint.sleep : paint.backoff;
    context.fillRect(x, y, Math.max(width, 1), BAR);
    if (width > 60) {
      context.fillStyle = paint.muted;
      context.fillText(cut(trace.strings[sleeps.name[i]], Math.floor((width - 8) / LETTER)), x + 5, y + BAR / 2 + 0.5);
    }
    i = nextAfter(i, sleeps.rows, sleeps.end, sleeps.end[i] + scale);
  }
}

// The first row behind i that ends after a time. Mostly it is one of the next few, so these are tried first.
function nextAfter(i, rows, end, ns) {
  let next = i + 1;
  for (let tries = 0; tries < 6 && next < rows && end[next] <= ns; tries++) {
    next++;
  }
  return next < rows && end[next] <= ns ? firstIndex(next, rows, (r) => end[r] > ns) : next;
}

// The pixels in which several runs are drawn together: a row of a picture, which is then stretched to a bar.
const row = {canvas: null, context: null, image: null, pixels: null, used: false};

function prepareRow(width) {
  if (!row.canvas) {
    row.canvas = document.createElement('canvas');
    row.context = row.canvas.getContext('2d');
  }
  if (row.canvas.width !== width) {
    row.canvas.width = width;
    row.canvas.height = 1;
    row.image = row.context.createImageData(width, 1);
    row.pixels = new Uint32Array(row.image.data.buffer);
  }
  row.pixels.fill(0);
  row.used = false;
}

function drawRuns(context, trace, track, y) {
  const {runs} = trace;
  const scale = nsPerPixel();
  prepareRow(Math.max(1, Math.ceil(view.width)));
  let i = firstIndex(track.first, track.end, (r) => runs.end[r] > view.from);
  while (i < track.end && runs.begin[i] < view.to) {
    if (runs.length[i] >= 2 * scale) {
      drawRun(context, trace, i, y);
      i++;
      continue;
    }
    const x = Math.floor(xOf(runs.begin[i]));
    let next = nextAfter(i, track.end, runs.begin, timeAt(x + 1));
    if (next > i + 1 && runs.length[next - 1] >= 2 * scale) {
      next--; // it gets a bar of its own
    }
    setPixel(trace, i, next, x, scale);
    i = next;
  }
  context.globalAlpha = 1;
  if (row.used) {
    row.context.putImageData(row.image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(row.canvas, 0, 0, row.canvas.width, 1, 0, y, row.canvas.width, BAR);
  }
}

function dimmed(from, to) {
  return search.active && search.sum[to] === search.sum[from];
}

function setPixel(trace, from, to, x, scale) {
  const {runs} = trace;
  const longest = longestOf(trace, from, to);
  const share = Math.min(1, (runs.sum[to] - runs.sum[from]) / scale);
  const alpha = dimmed(from, to) ? 0.15 : 0.35 + 0.65 * share;
  row.pixels[x] = pixelOf(trace.slots[keyOf(trace, longest)]) + Math.round(255 * alpha) * 16777216;
  row.used = true;
}

function drawRun(context, trace, run, y) {
  const {runs, strings} = trace;
  const slot = trace.slots[keyOf(trace, run)];
  const left = xOf(runs.begin[run]);
  const right = xOf(runs.end[run]);
  const x = Math.max(LABELS - 4, left);
  const width = Math.min(view.width + 4, right) - x;
  context.globalAlpha = dimmed(run, run + 1) ? 0.15 : 1;
  context.fillStyle = width > 6 ? fillOf(context, slot) : colourOf(slot);
  context.fillRect(x, y, width > 3 ? width - 1 : width, BAR);
  const room = Math.floor((Math.min(right, view.width) - Math.max(left, LABELS) - 8) / LETTER);
  if (room > 2 && context.globalAlpha === 1) {
    label(context, strings[runs.name[run]], Math.max(left, LABELS) + 4, y, room, slot);
  }
}

function label(context, name, x, y, room, slot) {
  const text = cut(name, room);
  if (slot >= COLOURS.length) { // ground for the letters, over the pattern
    context.fillStyle = colourOf(slot);
    context.fillRect(x - 2, y + 4, Math.min(text.length, room) * LETTER + 4, BAR - 8);
  }
  context.fillStyle = inkOf(slot);
  context.fillText(text, x, y + BAR / 2 + 0.5, (room + 0.5) * LETTER);
}

function outline(context, from, to, y, colour, height = BAR) {
  const x = Math.max(LABELS - 4, xOf(from));
  const right = Math.min(view.width + 4, xOf(to));
  if (right >= LABELS && x <= view.width) {
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.strokeRect(x - 1, y - 1, Math.max(right - x, 1) + 1, height + 2);
  }
}

// The run, or else the sleep, at a place of a track; -1 for none. A pixel shows the longest of what is in it.
function runAt(trace, track, x) {
  const {runs} = trace;
  const from = timeAt(x - 1.5);
  const to = timeAt(x + 1.5);
  const at = timeAt(x);
  const exact = firstIndex(track.first, track.end, (r) => runs.end[r] > at);
  if (exact < track.end && runs.begin[exact] <= at && runs.length[exact] > to - from) {
    return exact;
  }
  const first = firstIndex(track.first, track.end, (r) => runs.end[r] >= from);
  const end = firstIndex(first, track.end, (r) => runs.begin[r] > to);
  return first < end ? longestOf(trace, first, end) : -1;
}

function sleepAt({sleeps}, x) {
  const at = timeAt(x);
  const sleep = firstIndex(0, sleeps.rows, (s) => sleeps.end[s] > at);
  return sleep < sleeps.rows && sleeps.begin[sleep] <= at ? sleep : -1;
}
