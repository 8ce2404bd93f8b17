// axis.js: the times at the top, and the names of the tracks at the left.

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= least * 0.999);
}

function drawAxis(context) {
  const step = Math.max(1, niceStep(nsPerPixel() * 110));
  const largest = Math.max(Math.abs(view.from), Math.abs(view.to));
  context.fillStyle = paint.raised;
  context.fillRect(0, 0, view.width, AXIS);
  context.font = '11px system-ui, "DejaVu Sans", sans-serif';
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  for (let ns = Math.max(0, Math.ceil(view.from / step) * step); ns <= Math.min(view.to, view.until); ns += step) {
    const x = Math.round(xOf(ns));
    if (x < LABELS) {
      continue;
    }
    context.fillStyle = paint.line;
    context.fillRect(x, 0, 1, view.height);
    context.fillStyle = paint.muted;
    const text = timeText(ns, step, largest);
    if (x + 4 + context.measureText(text).width < view.width) {
      context.fillText(text, x + 4, AXIS / 2);
    }
  }
}

// What lies before the start and behind the end of the trace.
function drawOutside(context) {
  context.fillStyle = paint.raised;
  const from = xOf(0);
  const to = xOf(view.until);
  if (from > LABELS) {
    context.fillRect(LABELS, AXIS, from - LABELS, view.height);
  }
  if (to < view.width) {
    context.fillRect(Math.max(LABELS, to), AXIS, view.width, view.height);
  }
}

function drawLabels(context, trace) {
  context.fillStyle = paint.raised;
  context.fillRect(0, 0, LABELS - 1, view.height);
  context.fillStyle = paint.line;
  context.fillRect(LABELS - 1, 0, 1, view.height);
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  const [first, end] = tracksSeen();
  for (let i = first; i < end; i++) {
    const track = trace.tracks[i];
    const busy = trace.runs.sum[track.end] - trace.runs.sum[track.first];
    const y = trackY(i);
    context.fillStyle = paint.text;
    context.font = '12px system-ui, "DejaVu Sans", sans-serif';
    context.fillText(cut(track.name, 18), 10, y + 8, LABELS - 18);
    context.fillStyle = paint.muted;
    context.font = '10.5px system-ui, "DejaVu Sans", sans-serif';
    context.fillText(`ran ${shareText(busy, view.until)}`, 10, y + 23, LABELS - 18);
  }
  context.fillStyle = paint.raised; // above tracks that are scrolled
  context.fillRect(0, 0, LABELS - 1, AXIS);
}
