// longest.js: how much of a track's time was run in a range of runs, and which run of a range is the longest, without
// looking at all of them: so a million runs are drawn as fast as a few.

const FAN = 16;

// Sums of lengths before each run, and levels, each with the longest of 16 of the level below.
function prepareRanges(trace) {
  const {runs} = trace;
  runs.sum = new Float64Array(runs.rows + 1);
  for (let i = 0; i < runs.rows; i++) {
    runs.sum[i + 1] = runs.sum[i] + runs.length[i];
  }
  trace.levels = [];
  let below = null;
  for (let rows = Math.ceil(runs.rows / FAN); rows > 1; rows = Math.ceil(rows / FAN)) {
    const level = new Uint32Array(rows);
    const end = below ? below.length : runs.rows;
    for (let i = 0; i < rows; i++) {
      let best = below ? below[i * FAN] : i * FAN;
      for (let j = i * FAN + 1; j < Math.min(end, (i + 1) * FAN); j++) {
        const run = below ? below[j] : j;
        best = runs.length[run] > runs.length[best] ? run : best;
      }
      level[i] = best;
    }
    trace.levels.push(below = level);
  }
}

// The longest of the runs [from, to), which are not none.
function longestOf(trace, from, to) {
  const {length} = trace.runs;
  let best = from;
  const take = (run) => {
    best = length[run] > length[best] ? run : best;
  };
  let level = -1;
  while (from < to) {
    const row = level >= 0 ? trace.levels[level] : null;
    const higher = level + 1 < trace.levels.length;
    while (from < to && (!higher || from % FAN)) {
      take(row ? row[from] : from);
      from++;
    }
    while (from < to && to % FAN) {
      to--;
      take(row ? row[to] : to);
    }
    from /= FAN;
    to /= FAN;
    level++;
  }
  return best;
}
