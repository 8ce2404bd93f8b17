// find.js: what a trace tells about why something was so: what a task waited for, and what ended that.

const FROM_THREAD = 4294967295;
const FROM_TEXT = 4294967294;
const RESUMED = 1;

// A task's number, as thrum_dump prints it.
function numberText({tasks, strings}, task) {
  const fiber = tasks.fiber[task];
  return fiber === FROM_TEXT ? strings[tasks.run[task]] || 'no number'
    : fiber === FROM_THREAD ? `thread ${tasks.run[task]}` : `${fiber}.${tasks.run[task]}`;
}

// A text that may run from right to left, so that what stands around it keeps its order.
function isolated(text) {
  return /[^\x20-\x7e]/.test(text) ? `\u2068${text}\u2069` : text;
}

// What a task waits for behind a run.
function causeText({runs, head, strings}, run) {
  const how = head.ends[runs.ended[run]];
  if (how === 'yielded') {
    return 'yielded: others run first';
  }
  const thing = isolated(strings[runs.object[run]]);
  return how === 'waits' ? strings[runs.on[run]] + (thing ? ` ${thing}` : '') : how;
}

// The same without the one object, for sums.
function kindOfCause({runs, head, strings}, run) {
  const how = head.ends[runs.ended[run]];
  return how === 'waits' ? strings[runs.on[run]] : how === 'yielded' ? 'yielded: others run first' : how;
}

// The latest look of a process at its descriptors before a time, but not before another; null: there is none.
function lastPoll({polls}, file, from, until) {
  let i = firstIndex(0, polls.length, (p) => polls[p].at > until) - 1;
  while (i >= 0 && polls[i].at >= from && polls[i].file !== file) {
    i--;
  }
  return i >= 0 && polls[i].at >= from ? polls[i] : null;
}

// The run of a track at a time; -1: none.
function runOf({runs}, track, at) {
  const run = firstIndex(track.first, track.end, (r) => runs.end[r] >= at);
  return run < track.end && runs.begin[run] <= at ? run : -1;
}

// Who has woken the worker of a run out of the sleep right before it: the mark's time, track and run; null: not seen.
function wakerOf(trace, run) {
  const {runs, tracks} = trace;
  const track = tracks[runs.track[run]];
  const {sleeps} = track;
  const sleep = firstIndex(0, sleeps.rows, (s) => sleeps.end[s] > runs.begin[run]) - 1;
  const idle = run > track.first ? runs.end[run - 1] : -Infinity;
  if (sleep < 0 || sleeps.end[sleep] < idle || sleeps.wakeMark[sleep] < 0) {
    return null;
  }
  const by = tracks[sleeps.wakeTrack[sleep]];
  const at = by.marks.begin[sleeps.wakeMark[sleep]];
  return {at, track: by, run: runOf(trace, by, at)};
}

// What a worker was doing, in words.
function placeText({runs, strings}, run, track) {
  return run >= 0 ? `“${cut(strings[runs.name[run]], 200)}” of ${track.name}` : `${track.name}, between tasks`;
}

// What is known about why a run began when it did: a text, and a run to go to (-1: none).
function endedBy(trace, run) {
  const {runs, tracks} = trace;
  const before = runs.before[run];
  const since = before < 0 ? 0 : runs.end[before];
  const on = before < 0 ? '' : kindOfCause(trace, before);
  if (/descriptor|connection/.test(on)) {
    const poll = lastPoll(trace, tracks[runs.track[run]].file, since, runs.begin[run]);
    if (poll) {
      const text = `latest poll: ${tracks[poll.track].name}, ${counted(poll.events, 'event')}, `
        + `${lengthText(runs.begin[run] - poll.at)} before`;
      return {text, run: -1};
    }
  }
  const waker = wakerOf(trace, run);
  if (waker && waker.at >= since) {
    return {text: `its worker was woken by ${placeText(trace, waker.run, waker.track)}, `
      + `${lengthText(Math.max(0, runs.begin[run] - waker.at))} before`, run: waker.run};
  }
  return {text: on === 'blocking call' ? 'the call’s end, or a cancel' : on === 'sleep' ? 'its time, or a cancel' : '', run: -1};
}

// The marks of a run's track within it, as rows [from, to).
function marksWithin({runs, tracks}, run) {
  const {marks} = tracks[runs.track[run]];
  const from = firstIndex(0, marks.rows, (m) => marks.begin[m] >= runs.begin[run]);
  return [from, firstIndex(from, marks.rows, (m) => marks.begin[m] > runs.end[run])];
}
