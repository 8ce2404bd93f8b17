// input.js: what mouse and keys do.

const drag = {on: false, moved: false, chooses: false, x: 0, y: 0, at: 0};

function placeOf(event) {
  const box = event.currentTarget.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

// What is at a place of the picture: the kind, the track, the index; null for nothing.
function thingAt(trace, x, y) {
  if (x < LABELS || y < AXIS) {
    return null;
  }
  if (view.lane && y > view.height - WAY) {
    const at = timeAt(x);
    const next = firstIndex(0, way.runs.length, (k) => trace.runs.end[way.runs[k]] >= timeAt(x - 1));
    const run = next < way.runs.length && trace.runs.begin[way.runs[next]] <= timeAt(x + 1) ? next : next - 1;
    return run >= 0 && at >= trace.runs.begin[way.runs[0]]
      ? {kind: 'run', track: trace.runs.track[way.runs[run]], index: way.runs[run], pause: run < next} : null;
  }
  const number = Math.floor((y - AXIS + view.top) / TRACK);
  const track = trace.tracks[number];
  if (!track) {
    return null;
  }
  const below = y - trackY(number);
  const mark = below > BAR ? markAt(track, x) : -1;
  if (mark >= 0) {
    return {kind: 'mark', track: number, index: mark};
  }
  const run = below >= 0 && below <= BAR ? runAt(trace, track, x) : -1;
  if (run >= 0) {
    return {kind: 'run', track: number, index: run};
  }
  const sleep = below >= 0 && below <= BAR ? sleepAt(track, x) : -1;
  return sleep >= 0 ? {kind: 'sleep', track: number, index: sleep} : null;
}

function tipText(trace, thing) {
  const {runs, strings, tracks} = trace;
  const {sleeps} = tracks[thing.track];
  switch (thing.kind) {
    case 'run': return `${cut(strings[runs.name[thing.index]], 120)}\n`
      + (thing.pause ? `${causeText(trace, thing.index)}, ${lengthText(pauseAfter(trace, thing.index))}`
        : `${lengthText(runs.length[thing.index])}, then: ${cut(causeText(trace, thing.index), 120)}`);
    case 'sleep': return `${strings[sleeps.name[thing.index]]}, ${lengthText(sleeps.length[thing.index])}`;
    default: return markText(trace, tracks[thing.track], thing.index);
  }
}

function showTip(trace, x, y) {
  const tip = document.getElementById('tip');
  const thing = thingAt(trace, x, y);
  tip.hidden = !thing;
  if (thing) {
    tip.textContent = tipText(trace, thing);
    tip.style.left = `${Math.max(0, Math.min(x + 14, view.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 18 + tip.offsetHeight > view.height ? Math.max(0, y - tip.offsetHeight - 8) : y + 18}px`;
  }
}

function listenToMouse(trace, picture) {
  picture.addEventListener('wheel', (event) => {
    event.preventDefault();
    const [x] = placeOf(event);
    const line = event.deltaMode ? 20 : 1;
    if (event.shiftKey) {
      scrollBy((event.deltaY || event.deltaX) * line);
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      panBy(event.deltaX * line);
    } else {
      zoomAt(Math.max(x, LABELS), Math.exp(Math.min(Math.max(event.deltaY * line, -300), 300) / 400));
    }
  }, {passive: false});
  picture.addEventListener('pointerdown', (event) => {
    const [x, y] = placeOf(event);
    if (event.button === 0) {
      picture.setPointerCapture(event.pointerId);
      picture.focus({preventScroll: true});
      Object.assign(drag, {on: true, moved: false, chooses: event.shiftKey, x, y, at: timeAt(x)});
    }
  });
  picture.addEventListener('pointermove', (event) => {
    const [x, y] = placeOf(event);
    if (!drag.on) {
      showTip(trace, x, y);
      return;
    }
    drag.moved ||= Math.abs(x - drag.x) + Math.abs(y - drag.y) > 4;
    if (drag.moved) {
      dragTo(trace, picture, x, y);
    }
  });
  picture.addEventListener('pointerup', (event) => {
    const [x, y] = placeOf(event);
    if (drag.on && !drag.moved) {
      const thing = thingAt(trace, x, y);
      Object.assign(selection, {from: 0, to: 0});
      select(trace, thing ? thing.kind : '', thing ? thing.track : 0, thing ? thing.index : -1);
    }
    drag.on = false;
    picture.classList.remove('dragged');
  });
  picture.addEventListener('pointerleave', () => {
    document.getElementById('tip').hidden = true;
  });
}

function dragTo(trace, picture, x, y) {
  document.getElementById('tip').hidden = true;
  if (drag.chooses) {
    const at = timeAt(Math.max(x, LABELS));
    Object.assign(selection, {from: Math.max(0, Math.min(at, drag.at)), to: Math.min(view.until, Math.max(at, drag.at))});
    showDetails(trace);
    redraw();
    return;
  }
  picture.classList.add('dragged');
  panBy(drag.x - x, true);
  scrollBy(drag.y - y);
  Object.assign(drag, {x, y});
}

function listenToOverview(trace, canvas) {
  const to = (event) => {
    if (event.buttons & 1) {
      overviewTo(canvas, trace, placeOf(event)[0]);
    }
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    to(event);
  });
  canvas.addEventListener('pointermove', to);
}

function letGo(trace) {
  Object.assign(selection, {from: 0, to: 0});
  select(trace, '');
  searchFor(trace, '');
  document.getElementById('search').value = '';
  document.getElementById('picture').focus();
}

function keyActions(trace) {
  const middle = () => (view.width + LABELS) / 2;
  const zoom = (factor) => () => zoomAt(middle(), factor);
  const pan = (share) => () => panBy(share * (view.width - LABELS));
  const ofTask = (column) => () => selection.kind === 'run' && selectRun(trace, trace.runs[column][selection.index]);
  return {
    w: zoom(0.7), ArrowUp: zoom(0.7), s: zoom(1 / 0.7), ArrowDown: zoom(1 / 0.7),
    a: pan(-0.15), ArrowLeft: pan(-0.15), d: pan(0.15), ArrowRight: pan(0.15),
    PageUp: () => scrollBy(-4 * TRACK), PageDown: () => scrollBy(4 * TRACK),
    0: () => showAll(), n: () => nextHit(trace, 1), N: () => nextHit(trace, -1),
    '[': ofTask('before'), ']': ofTask('after'),
    f: () => {
      const range = selectedRange(trace);
      if (range) {
        fit(...range);
      }
    },
    '/': () => document.getElementById('search').select(),
    Escape: () => letGo(trace),
  };
}

function listenToKeys(trace) {
  const actions = keyActions(trace);
  const box = document.getElementById('search');
  document.addEventListener('keydown', (event) => {
    const typing = document.activeElement === box;
    const inTable = document.activeElement.closest?.('#table') && event.key.startsWith('Arrow');
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
    if (!action || event.ctrlKey || event.altKey || event.metaKey || inTable || (typing && event.key !== 'Escape')) {
      return;
    }
    event.preventDefault();
    action();
  });
  box.addEventListener('input', () => searchFor(trace, box.value.trim()));
  document.getElementById('search-form').addEventListener('submit', (event) => {
    event.preventDefault();
    document.getElementById('picture').focus();
    nextHit(trace, 1);
  });
}
