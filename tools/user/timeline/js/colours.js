// colours.js: a colour, and a pattern, for each function.
//
// The colours are those of Okabe and Ito, which people who see colours differently tell apart; where they do not
// suffice, stripes, dots and lines are laid over them. A function's colour comes from its name. Two whose names lead to
// the same one are given different ones, in alphabetical order: so colours are the same in every trace that has the
// same functions.

const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442'];
const INKS = ['#ffffff', '#000000', '#000000', '#000000', '#000000', '#000000', '#000000'];
const PATTERNS = 4; // none, stripes, dots, lines
const SLOTS = COLOURS.length * PATTERNS;

function hashOf(text) {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 16777619) >>> 0;
  }
  return hash ^ (hash >>> 15);
}

// What gives a run its colour: the number of its function's name, else that of its own.
function keyOf(trace, run) {
  return trace.tasks.function[trace.runs.task[run]] || trace.runs.name[run];
}

// Gives each key one of the SLOTS: colours first, then patterns.
function giveColours(trace) {
  const keys = new Uint8Array(trace.strings.length);
  for (let i = 0; i < trace.runs.rows; i++) {
    keys[keyOf(trace, i)] = 1;
  }
  const used = [...keys.keys()].filter((key) => keys[key])
    .map((key) => ({key, text: trace.strings[key], hash: hashOf(trace.strings[key])}))
    .sort((a, b) => a.text < b.text ? -1 : a.text > b.text ? 1 : 0);
  const taken = new Array(SLOTS).fill(0);
  trace.slots = new Uint8Array(trace.strings.length);
  used.forEach(({key, hash}, i) => {
    const round = Math.floor(i / COLOURS.length) % PATTERNS;
    const free = (slot) => taken[slot] <= Math.floor(i / SLOTS);
    let slot = round * COLOURS.length + hash % COLOURS.length;
    for (let tries = 0; tries < COLOURS.length && !free(slot); tries++) {
      slot = round * COLOURS.length + (slot + 1) % COLOURS.length;
    }
    taken[slot]++;
    trace.slots[key] = slot;
  });
}

function colourOf(slot) {
  return COLOURS[slot % COLOURS.length];
}

// The same as the words of an ImageData have it, on a processor that is little-endian: blue, green, red.
const PIXELS = COLOURS.map((colour) => {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return blue * 65536 + green * 256 + red;
});

function pixelOf(slot) {
  return PIXELS[slot % COLOURS.length];
}

function inkOf(slot) {
  return INKS[slot % COLOURS.length];
}

const fills = new Map(); // slot: what a canvas fills with

function fillOf(context, slot) {
  if (slot < COLOURS.length) {
    return COLOURS[slot];
  }
  if (!fills.has(slot)) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 8;
    paintTile(tile.getContext('2d'), slot);
    fills.set(slot, context.createPattern(tile, 'repeat'));
  }
  return fills.get(slot);
}

function paintTile(tile, slot) {
  tile.fillStyle = colourOf(slot);
  tile.fillRect(0, 0, 8, 8);
  tile.fillStyle = tile.strokeStyle = inkOf(slot) === '#000000' ? 'rgb(0 0 0 / 35%)' : 'rgb(255 255 255 / 45%)';
  tile.lineWidth = 2;
  const pattern = Math.floor(slot / COLOURS.length);
  if (pattern === 1) {
    for (const x of [-8, 0, 8]) {
      tile.beginPath();
      tile.moveTo(x - 1, 9);
      tile.lineTo(x + 9, -1);
      tile.stroke();
    }
  } else if (pattern === 2) {
    tile.fillRect(1, 1, 2, 2);
    tile.fillRect(5, 5, 2, 2);
  } else {
    tile.fillRect(0, 3, 8, 1);
    tile.fillRect(0, 7, 8, 1);
  }
}

// A small picture of a function's colour, for a table.
function swatchOf(slot) {
  const swatch = document.createElement('canvas');
  swatch.width = 22;
  swatch.height = 12;
  swatch.className = 'swatch';
  const context = swatch.getContext('2d');
  context.fillStyle = fillOf(context, slot);
  context.fillRect(0, 0, 22, 12);
  return swatch;
}

// The page's own colours, as the style says them for light and dark.
const paint = {};

function readStyle() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['ground', 'raised', 'text', 'muted', 'line', 'accent', 'sleep', 'backoff', 'way', 'wake', 'theft',
    'hit', 'busy', 'waiting', 'read', 'poll']) {
    paint[name] = style.getPropertyValue(`--${name}`).trim();
  }
}
