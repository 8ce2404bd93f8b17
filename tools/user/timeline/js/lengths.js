// lengths.js: how long runs were: a histogram whose steps are 1, 2, 5, 10 and so on.

const STEPS = [];
for (let power = 1; power < 1e12; power *= 10) {
  STEPS.push(power, 2 * power, 5 * power);
}

// How many runs there are in each step, how many of them were searched for, and their lengths in order.
function countLengths(trace) {
  const lengthIn = runInRange(trace);
  const counts = new Float64Array(STEPS.length);
  const hits = new Float64Array(STEPS.length);
  const lengths = new Float64Array(trace.runs.rows);
  let n = 0;
  for (let i = 0; i < trace.runs.rows; i++) {
    const length = lengthIn(i);
    if (length < 0) {
      continue;
    }
    lengths[n++] = length;
    const step = Math.max(0, firstIndex(0, STEPS.length, (s) => STEPS[s] > length) - 1);
    counts[step]++;
    hits[step] += search.active ? search.is[i] : 0;
  }
  return {counts, hits, lengths: lengths.subarray(0, n).sort()};
}

function showLengths(panel, trace) {
  const {counts, hits, lengths} = countLengths(trace);
  if (!lengths.length) {
    panel.append(element('p', 'No task has run here.'));
    return;
  }
  const part = (share) => lengthText(lengths[Math.min(lengths.length - 1, Math.floor(lengths.length * share))]);
  panel.append(element('p', `${counted(lengths.length, 'run')}: half of them shorter than ${part(0.5)}, `
    + `90 % than ${part(0.9)}, 99 % than ${part(0.99)}; the longest ${part(1)}.`
    + (search.active ? ' The darker part is what was searched for.' : '')));
  const canvas = document.createElement('canvas');
  canvas.id = 'lengths';
  canvas.setAttribute('aria-label', 'histogram of the lengths of runs');
  panel.append(canvas);
  drawLengths(canvas, counts, hits);
}

function drawLengths(canvas, counts, hits) {
  const [context, width, height] = sized(canvas);
  const first = counts.findIndex((n) => n > 0);
  const end = counts.findLastIndex((n) => n > 0) + 1;
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  const bar = Math.min(72, width / (end - first));
  const room = height - 40;
  context.fillStyle = paint.ground;
  context.fillRect(0, 0, width, height);
  context.font = '11px system-ui, "DejaVu Sans", sans-serif';
  context.textAlign = 'center';
  for (let i = first; i < end; i++) {
    const x = (i - first) * bar;
    const tall = counts[i] / most * room;
    context.fillStyle = paint.busy;
    context.fillRect(x + 1, 18 + room - tall, bar - 2, counts[i] ? Math.max(tall, 1) : 0);
    context.fillStyle = paint.hit;
    context.fillRect(x + 1, 18 + room - hits[i] / most * room, bar - 2, hits[i] / most * room);
    context.fillStyle = paint.muted;
    context.fillRect(x, 18 + room, bar, 1);
    if (bar > 34) {
      context.fillText(counts[i] ? countText(counts[i]) : '', x + bar / 2, 12 + room - tall, bar);
    }
    if (bar > 44 || i % 3 === 0) {
      context.textAlign = 'left';
      context.fillText(stepText(STEPS[i]), x + 1, height - 8);
      context.textAlign = 'center';
    }
  }
}

function stepText(ns) {
  const [size, unit] = UNITS.find(([size]) => ns >= size);
  return `${ns / size} ${unit}`;
}
