// chains.js: the order of all runs in time, and which run of a task follows which.

// Merges the tracks two by two: each has its runs in order.
function orderInTime({tracks, runs}) {
  let parts = tracks.map(({first, end}) => Uint32Array.from({length: end - first}, (_, i) => first + i));
  while (parts.length > 1) {
    const merged = [];
    for (let i = 0; i < parts.length; i += 2) {
      merged.push(i + 1 < parts.length ? merge(parts[i], parts[i + 1], runs.begin) : parts[i]);
    }
    parts = merged;
  }
  return parts[0] || new Uint32Array(0);
}

function merge(a, b, begin) {
  const out = new Uint32Array(a.length + b.length);
  let i = 0;
  let j = 0;
  for (let k = 0; k < out.length; k++) {
    out[k] = j === b.length || (i < a.length && begin[a[i]] <= begin[b[j]]) ? a[i++] : b[j++];
  }
  return out;
}

// Adds to each run the one before and the one after of the same task; -1: there is none.
function chain(trace) {
  const {runs, tasks} = trace;
  const latest = new Int32Array(tasks.rows).fill(-1);
  trace.order = orderInTime(trace);
  runs.before = new Int32Array(runs.rows).fill(-1);
  runs.after = new Int32Array(runs.rows).fill(-1);
  for (const run of trace.order) {
    const before = latest[runs.task[run]];
    runs.before[run] = before;
    if (before >= 0) {
      runs.after[before] = run;
    }
    latest[runs.task[run]] = run;
  }
}

// How long a task did not run after a run; to the trace's end, if it is not seen to go on. -1: it has ended.
function pauseAfter(trace, run) {
  const {runs} = trace;
  const after = runs.after[run];
  if (after >= 0) {
    return Math.max(0, runs.begin[after] - runs.end[run]);
  }
  const how = trace.head.ends[runs.ended[run]];
  return how === 'waits' || how === 'yielded' ? trace.until - runs.end[run] : -1;
}
