// units.js: numbers and texts as people read them.

const UNITS = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

// A length of time, with three digits that matter.
function lengthText(ns) {
  for (const [size, unit] of UNITS) {
    if (ns >= size) {
      const n = ns / size;
      return `${n >= 100 || size === 1 ? Math.round(n) : n.toPrecision(3)} ${unit}`;
    }
  }
  return '0 ns';
}

// A point of time since the trace's start; `step` is what must still be told apart.
function timeText(ns, step, largest = ns) {
  const [size, unit] = UNITS.find(([size]) => Math.abs(largest) >= size) || UNITS[3];
  const places = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / size) - 1e-9)));
  return `${(ns / size).toFixed(places)} ${unit}`;
}

function countText(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

function counted(n, one, many = `${one}s`) {
  return `${countText(n)} ${n === 1 ? one : many}`;
}

function shareText(part, whole) {
  return whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : '';
}

// The beginning of a text, of so many characters at most; no character is cut in two.
function cut(text, room) {
  if (text.length <= room) {
    return text;
  }
  const last = text.charCodeAt(room - 2);
  return room < 2 ? '' : `${text.slice(0, last >= 0xd800 && last < 0xdc00 ? room - 2 : room - 1)}…`;
}

// The first index in [from, to) for which `is` holds, if it then holds for all that follow.
function firstIndex(from, to, is) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (is(middle)) {
      to = middle;
    } else {
      from = middle + 1;
    }
  }
  return from;
}
