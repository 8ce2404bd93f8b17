// data.js: unpacks what the page carries. A run is a stretch that a task ran; all runs have a number, track by track.

const KINDS = {B: Uint8Array, I: Uint32Array, Q: Float64Array};

async function unpackBytes(text) {
  const packed = atob(text);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) {
    bytes[i] = packed.charCodeAt(i);
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Words of 64 bits as numbers; they are below 2 ** 53.
function longs(bytes) {
  const halves = new Uint32Array(bytes.buffer);
  const out = new Float64Array(halves.length / 2);
  for (let i = 0; i < out.length; i++) {
    out[i] = halves[2 * i] + halves[2 * i + 1] * 4294967296;
  }
  return out;
}

function readTables(layouts, bytes) {
  let at = 0;
  return layouts.map(({rows, columns}) => {
    const table = {rows};
    for (const [name, kind] of columns) {
      const size = rows * KINDS[kind].BYTES_PER_ELEMENT;
      const part = bytes.slice(at, at + size);
      table[name] = kind === 'Q' ? longs(part) : new KINDS[kind](part.buffer);
      at += size;
    }
    if (table.begin) {
      for (let i = 1; i < rows; i++) {
        table.begin[i] += table.begin[i - 1];
      }
    }
    return table;
  });
}

// All runs in one table, with the track and the end of each.
function joinRuns(tables) {
  const count = tables.reduce((sum, table) => sum + table.rows, 0);
  const runs = {rows: count, track: new Uint32Array(count), end: new Float64Array(count)};
  for (const name of ['begin', 'length', 'name', 'task', 'on', 'object', 'ended', 'flags']) {
    const kind = name === 'begin' || name === 'length' ? 'Q' : name === 'ended' || name === 'flags' ? 'B' : 'I';
    runs[name] = new KINDS[kind](count);
    let first = 0;
    for (const table of tables) {
      runs[name].set(table[name], first);
      first += table.rows;
    }
  }
  let first = 0;
  tables.forEach((table, track) => {
    runs.track.fill(track, first, first + table.rows);
    first += table.rows;
  });
  for (let i = 0; i < count; i++) {
    runs.end[i] = runs.begin[i] + runs.length[i];
  }
  return runs;
}

// The trace: its head, tracks (each with its runs [first, end), sleeps and marks), runs, tasks and strings.
async function readTrace() {
  const head = JSON.parse(document.getElementById('head').textContent);
  const data = document.getElementById('data');
  const [tasks, ...tables] = readTables(head.tables, await unpackBytes(data.textContent));
  data.remove();
  const runs = joinRuns(head.tracks.map((_, i) => tables[3 * i]));
  let first = 0;
  let until = head.length_ns;
  const tracks = head.tracks.map((track, i) => {
    const [own, sleeps, marks] = tables.slice(3 * i, 3 * i + 3);
    sleeps.end = sleeps.begin.map((begin, j) => begin + sleeps.length[j]);
    for (const last of [runs.end[first + own.rows - 1], sleeps.end[sleeps.rows - 1], marks.begin[marks.rows - 1]]) {
      until = Math.max(until, own.rows || sleeps.rows || marks.rows ? last || 0 : 0);
    }
    first += own.rows;
    return {...track, index: i, first: first - own.rows, end: first, sleeps, marks};
  });
  return {head, tracks, runs, tasks, strings: head.strings, until: until || 1};
}
