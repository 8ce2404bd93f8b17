// view.js: which part of the trace is seen, and how it moves. Where the view is to be (`goal`) is set at once; what is
// shown glides there.

const LABELS = 132; // pixels at the left for the names of tracks
const AXIS = 24; // pixels at the top for times
const TRACK = 40; // the height of a track: bar, marks, space
const BAR = 24; // the height of its bar
const WAY = 46; // the height of the selected task's lane
const SPAN_MIN = 50; // ns

const view = {from: 0, to: 1, goal: {from: 0, to: 1}, top: 0, width: 1, height: 1, until: 1, tracks: 0, lane: false};

function xOf(ns) {
  return LABELS + (ns - view.from) / (view.to - view.from) * (view.width - LABELS);
}

function timeAt(x) {
  return view.from + (x - LABELS) / (view.width - LABELS) * (view.to - view.from);
}

function nsPerPixel() {
  return (view.to - view.from) / (view.width - LABELS);
}

// Sets where the view is to be; a margin of a tenth beyond the trace's ends is allowed.
function setGoal(from, to, at_once = false) {
  const margin = view.until * 0.1;
  const span = Math.min(Math.max(to - from, SPAN_MIN), view.until + 2 * margin);
  const middle = (from + to) / 2;
  const begin = Math.min(Math.max(to - from < SPAN_MIN ? middle - span / 2 : from, -margin), view.until + margin - span);
  view.goal = {from: begin, to: begin + span};
  if (at_once) {
    Object.assign(view, view.goal);
  }
  redraw();
}

function showAll(at_once) {
  setGoal(-view.until * 0.01, view.until * 1.01, at_once);
}

// A range in the middle of the view, a sixth of it free at each side.
function fit(from, to) {
  const free = Math.max(to - from, SPAN_MIN) * 0.25;
  setGoal(from - free, to + free);
}

function zoomAt(x, factor) {
  const at = view.goal.from + (x - LABELS) / (view.width - LABELS) * (view.goal.to - view.goal.from);
  const span = Math.max(SPAN_MIN, (view.goal.to - view.goal.from) * factor);
  const share = (at - view.goal.from) / (view.goal.to - view.goal.from);
  setGoal(at - span * share, at + span * (1 - share));
}

function panBy(pixels, at_once = false) {
  const ns = pixels * (view.goal.to - view.goal.from) / (view.width - LABELS);
  setGoal(view.goal.from + ns, view.goal.to + ns, at_once);
}

function scrollBy(pixels) {
  const room = view.height - AXIS - (view.lane ? WAY : 0);
  view.top = Math.min(Math.max(view.top + pixels, 0), Math.max(0, view.tracks * TRACK - room));
  redraw();
}

// Brings a range, and a track, into view; the zoom stays, unless the range would be a speck or does not fit.
function reveal(from, to, track) {
  const span = view.goal.to - view.goal.from;
  if (to - from > span * 0.8 || to - from < span * 0.002) {
    fit(from, to);
  } else if (from < view.goal.from + span * 0.05 || to > view.goal.to - span * 0.05) {
    const middle = (from + to) / 2;
    setGoal(middle - span / 2, middle + span / 2);
  }
  const y = track * TRACK - view.top;
  const room = view.height - AXIS - (view.lane ? WAY : 0);
  if (y < 0 || y + TRACK > room) {
    scrollBy(y < 0 ? y : y + TRACK - room);
  }
}

// One step towards the goal. True: it is reached.
function glide() {
  const span = view.goal.to - view.goal.from;
  const far = Math.abs(view.goal.from - view.from) + Math.abs(view.goal.to - view.to);
  if (far < span / 2000 || matchMedia('(prefers-reduced-motion: reduce)').matches) {
    Object.assign(view, view.goal);
    return true;
  }
  const {from, to} = view;
  view.from += (view.goal.from - view.from) * 0.4;
  view.to += (view.goal.to - view.to) * 0.4;
  if (view.from === from && view.to === to) { // late in a long trace numbers are too coarse for less
    Object.assign(view, view.goal);
    return true;
  }
  return false;
}

function trackY(track) {
  return AXIS + track * TRACK - view.top + 4;
}

// The tracks that can be seen: [first, end).
function tracksSeen() {
  const first = Math.max(0, Math.floor(view.top / TRACK));
  return [first, Math.min(view.tracks, Math.ceil((view.top + view.height - AXIS) / TRACK))];
}
