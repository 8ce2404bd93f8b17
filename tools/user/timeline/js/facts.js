// facts.js: the line at the top, the line of keys, and what a trace cannot tell.

function element(name, text = '', className = '') {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

function showFacts({head, tracks, runs, tasks, until}) {
  document.getElementById('title').textContent = cut(head.name || 'a trace', 200);
  document.getElementById('title').title = cut(head.name, 1000);
  document.title = `${cut(head.name || 'trace', 60)}: thrum timeline`;
  const facts = document.getElementById('facts');
  facts.textContent = [lengthText(until), counted(tracks.length, 'track'), counted(tasks.rows, 'task'),
    counted(runs.rows, 'run'), counted(head.events, 'event')].join(' · ');
  if (head.dropped) {
    facts.append(' · ', element('b', `${countText(head.dropped)} older events were dropped`));
  }
  if (head.untraced) {
    facts.append(' · ', element('b', `${counted(head.untraced, 'thread was', 'threads were')} not traced`));
  }
}

const KEYS = [
  [['wheel', 'w', 's', '↑', '↓'], 'zoom'], [['drag', 'a', 'd', '←', '→'], 'move'], [['PgUp', 'PgDn'], 'tracks'],
  [['shift+drag'], 'choose a time'], [['0'], 'all'], [['f'], 'fit selection'], [['/'], 'search'], [['n', 'N'], 'next hit, previous'],
  [['[', ']'], 'the task’s run before, after'], [['Esc'], 'let go'],
];

function showHelp() {
  const help = document.getElementById('help');
  for (const [keys, what] of KEYS) {
    const span = document.createElement('span');
    keys.forEach((key) => span.append(element('kbd', key), ' '));
    span.append(what);
    help.append(span, ' ');
  }
}

const SIGN_TEXTS = {left: '◀', diamond: '◆', circle: '●', square: '■', frame: '□', down: '▼', up: '▲', bar: '┃', glass: '⧗'};

const UNKNOWN = [
  'Who made a waiting task ready, and when: so a wait includes the time that the task was ready and no worker had come to '
    + 'it, and no arrow leads from the task that unlocked, sent or signalled. What is said of it here is drawn from what '
    + 'is there: the latest poll, and the wake that ended the sleep of the worker.',
  'How a wait ended: whether what was waited for came, the deadline passed, or the wait was cancelled.',
  'Who started a task, and when. A task is seen from its first run on.',
  'Which task holds what another waits for. Objects have addresses, no names; that of a task is its handle’s, not its '
    + 'number.',
  'What was stolen, and how much.',
  'What threads do that are neither workers nor bound, the threads of blocking calls among them.',
  'A run, or a sleep, that lasts from before the start until after the end.',
];

// The tab that explains the picture.
function showAbout(panel, trace) {
  panel.append(element('p', 'Each bar is a run: a stretch of time for which a worker ran one task without leaving it. Its '
    + 'colour is that of the task’s function. Runs that are narrower than a pixel are drawn together, in the colour of the '
    + 'longest, the paler the less of the time was run. Light bars are sleeps. The signs below the bars:'));
  const signs = document.createElement('ul');
  for (const kind of trace.head.marks) {
    const item = element('li');
    const sign = element('span', SIGN_TEXTS[SIGNS[kind][0]]);
    sign.style.color = `var(--${SIGNS[kind][1]})`;
    item.append(sign, ` ${kind}: ${SIGNS[kind][2]}`);
    signs.append(item);
  }
  panel.append(signs);
  if (trace.head.dropped) {
    panel.append(element('p', 'Older events were dropped, of each worker for itself. So runs may be missing near the '
      + 'beginning, and what looks like one wait there may have been several.'));
  }
  panel.append(element('p', 'What a trace does not have, and this page cannot tell:'));
  const unknown = document.createElement('ul');
  UNKNOWN.forEach((text) => unknown.append(element('li', text)));
  panel.append(unknown);
}
