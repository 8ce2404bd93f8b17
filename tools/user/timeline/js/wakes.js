// wakes.js: which sleep a wake has ended, and which wake has ended a sleep.

const SKEW = 2000; // ns by which the counters of two processors may differ

// The sleep that a time of another worker lies in, or else lies next to; -1: there is none.
function sleepAround(sleeps, at) {
  const sleep = firstIndex(0, sleeps.rows, (s) => sleeps.end[s] >= at);
  if (sleep < sleeps.rows && sleeps.begin[sleep] <= at) {
    return sleep;
  }
  if (sleep > 0 && sleeps.end[sleep - 1] >= at - SKEW) {
    return sleep - 1;
  }
  return sleep < sleeps.rows && sleeps.begin[sleep] <= at + SKEW ? sleep : -1;
}

// Adds to each mark "wake" the end of the sleep that it ended (`to`; NaN: none is seen), and to each sleep the mark
// and its track. A wake is noted before the system is asked to wake, so the sleep ends after it.
function joinWakes(trace) {
  const wake = trace.head.marks.indexOf('wake');
  trace.byNumber = new Map(trace.tracks.map((track) => [track.number, track]));
  for (const {sleeps, marks} of trace.tracks) {
    sleeps.wakeTrack = new Int32Array(sleeps.rows).fill(-1);
    sleeps.wakeMark = new Int32Array(sleeps.rows).fill(-1);
    marks.to = new Float64Array(marks.rows).fill(NaN);
  }
  for (const {marks, index} of trace.tracks) {
    for (let i = 0; i < marks.rows; i++) {
      const woken = marks.kind[i] === wake ? trace.byNumber.get(marks.number[i] - 1) : undefined;
      if (!woken) {
        continue;
      }
      const {sleeps} = woken;
      const sleep = sleepAround(sleeps, marks.begin[i]);
      if (sleep < 0) {
        continue;
      }
      marks.to[i] = sleeps.end[sleep];
      const other = sleeps.wakeMark[sleep];
      if (other < 0 || marks.begin[i] < trace.tracks[sleeps.wakeTrack[sleep]].marks.begin[other]) {
        sleeps.wakeTrack[sleep] = index; // the first of several
        sleeps.wakeMark[sleep] = i;
      }
    }
  }
}

// All marks "poll", in order of time: it tells which look at the descriptors came last before something.
function gatherPolls(trace) {
  const poll = trace.head.marks.indexOf('poll');
  const polls = [];
  for (const {marks, index, file} of trace.tracks) {
    for (let i = 0; i < marks.rows; i++) {
      if (marks.kind[i] === poll) {
        polls.push({at: marks.begin[i], track: index, file, events: marks.number[i] - 1});
      }
    }
  }
  trace.polls = polls.sort((a, b) => a.at - b.at);
}
