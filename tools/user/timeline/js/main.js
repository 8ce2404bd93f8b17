// main.js: reads the trace, and draws when something has changed.

const shown = {ways: true, wakes: true, thefts: true};
const frames = {pending: false, drawn: 0, ms: 0}; // `ms`: what the latest took
let drawAll = () => {};

function redraw() {
  if (!frames.pending) {
    frames.pending = true;
    requestAnimationFrame(() => drawAll());
  }
}

// The context of a canvas whose size in pixels is made that of the screen; with its width, height and their ratio.
function sized(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext('2d', {alpha: false}) || canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return [context, width, height, ratio];
}

function drawPicture(canvas, trace) {
  const [context, width, height] = sized(canvas);
  Object.assign(view, {width, height});
  context.fillStyle = paint.ground;
  context.fillRect(0, 0, width, height);
  drawOutside(context);
  drawAxis(context);
  const tracks = trace.tracks.slice(...tracksSeen());
  context.save();
  context.beginPath();
  context.rect(0, AXIS, width, height);
  context.clip();
  context.font = FONT;
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  tracks.forEach((track) => drawTrack(context, trace, track));
  drawOver(context, trace, tracks);
  drawLabels(context, trace);
  if (view.lane) {
    drawWay(context, trace);
  }
  context.restore();
  context.fillStyle = paint.raised;
  context.fillRect(0, 0, LABELS - 1, AXIS);
  if (arrows.crowded && Object.values(shown).some(Boolean)) {
    context.fillStyle = paint.muted;
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    context.fillText('zoom in for arrows', 10, AXIS / 2);
  }
}

// What lies over the bars: arrows, signs, the selection.
function drawOver(context, trace, tracks) {
  const kinds = [...(shown.wakes ? ['wake'] : []), ...(shown.thefts ? ['steal', 'rescue', 'take over'] : [])];
  countSeen(trace, tracks);
  if (shown.ways && !arrows.crowded) {
    drawWays(context, trace, tracks);
  }
  for (const track of tracks) {
    drawMarks(context, trace, track);
    if (!arrows.crowded) {
      drawMarkArrows(context, trace, track, kinds);
    }
  }
  if (selection.task >= 0) {
    drawOwnWays(context, trace);
  }
  const range = selectedRange(trace);
  if (selection.to > selection.from) {
    context.globalAlpha = 0.15;
    context.fillStyle = paint.accent;
    context.fillRect(xOf(range[0]), AXIS, xOf(range[1]) - xOf(range[0]), view.height);
    context.globalAlpha = 1;
  } else if (range && selection.kind !== 'mark') {
    outline(context, range[0], range[1], trackY(selection.track), paint.hit);
  } else if (range) {
    outline(context, (range[0] + range[1]) / 2, (range[0] + range[1]) / 2, trackY(selection.track) + BAR, paint.hit, STRIP);
  }
}

// The tables that are of what is in view follow it once it rests.
function followView(trace) {
  clearTimeout(followView.timer);
  followView.timer = setTimeout(() => showTab(trace, tabs.shown), 250);
}

function showMessage(text) {
  const message = document.getElementById('message');
  message.textContent = text;
  message.hidden = false;
  document.documentElement.dataset.state = 'message';
}

function isEmpty({tracks, runs}) {
  return !runs.rows && !tracks.some(({sleeps, marks}) => sleeps.rows || marks.rows);
}

function whyEmpty({head, tracks}) {
  return `This trace has no events${tracks.length ? `, though it has ${counted(tracks.length, 'track')}` : ''}.\n`
    + (head.dropped ? `${countText(head.dropped)} events were dropped.\n` : '')
    + 'Nothing ran, slept or was noted between the start of the trace and its end.';
}

function listen(trace) {
  const picture = document.getElementById('picture');
  listenToMouse(trace, picture);
  listenToOverview(trace, document.getElementById('overview'));
  listenToKeys(trace);
  for (const name of Object.keys(shown)) {
    document.getElementById(`show-${name}`).onchange = (event) => {
      shown[name] = event.target.checked;
      redraw();
    };
  }
  const restyle = () => {
    readStyle();
    overview.picture = null;
    showTab(trace, tabs.shown);
    redraw();
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', restyle);
  window.addEventListener('resize', () => {
    scrollBy(0);
    if (tabs.shown === 'lengths') {
      showTab(trace, 'lengths');
    }
  });
}

async function main() {
  if (typeof DecompressionStream !== 'function') {
    throw new Error('this browser is too old: it cannot unpack the trace (DecompressionStream)');
  }
  const trace = await readTrace();
  chain(trace);
  joinWakes(trace);
  gatherPolls(trace);
  prepareRanges(trace);
  giveColours(trace);
  readStyle();
  showFacts(trace);
  showHelp();
  Object.assign(view, {until: trace.until, tracks: trace.tracks.length});
  const [picture, strip] = [document.getElementById('picture'), document.getElementById('overview')];
  Object.assign(view, {width: picture.clientWidth, height: picture.clientHeight});
  makeTabs(trace);
  drawAll = () => {
    const began = performance.now();
    frames.pending = false;
    const rests = glide();
    drawPicture(picture, trace);
    drawOverview(strip, trace);
    frames.drawn++;
    frames.ms = performance.now() - began;
    if (!rests) {
      redraw();
    } else if (tabs.inView) {
      followView(trace);
    }
  };
  window.timeline = {trace, view, selection, search, frames}; // for the console, and for tests
  if (isEmpty(trace)) {
    showMessage(whyEmpty(trace));
    return;
  }
  showAll(true);
  showDetails(trace);
  showTab(trace, 'waits');
  listen(trace);
  document.documentElement.dataset.state = 'shown';
}

main().catch((why) => showMessage(`The trace cannot be shown: ${why.message}`));
