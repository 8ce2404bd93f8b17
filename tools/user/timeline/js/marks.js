// marks.js: small signs below a track's bar, for what happened at a point of time.

const STRIP = 8; // the height of the strip of signs
// For each kind of mark: its sign, the colour's name, and what it means.
const SIGNS = {
  steal: ['left', 'theft', 'stole work'],
  rescue: ['diamond', 'theft', 'rescued work that its worker did not come to'],
  wake: ['circle', 'wake', 'woke a worker'],
  'take over': ['square', 'theft', 'a spare took over for a worker that was held up'],
  'retire': ['frame', 'theft', 'a spare retired again'],
  read: ['down', 'read', 'a call has read'],
  write: ['up', 'read', 'a call has written'],
  poll: ['bar', 'poll', 'asked which descriptors are ready'],
  stall: ['glass', 'hit', 'a task kept its worker for long'],
};

function drawMarks(context, trace, {marks, index}) {
  const y = trackY(index) + BAR + 1;
  const apart = 5 * nsPerPixel();
  let i = firstIndex(0, marks.rows, (m) => marks.begin[m] >= view.from);
  while (i < marks.rows && marks.begin[i] <= view.to) {
    const [sign, colour] = SIGNS[trace.head.marks[marks.kind[i]]];
    const next = nextAfter(i, marks.rows, marks.begin, marks.begin[i] + apart);
    context.fillStyle = context.strokeStyle = paint[colour];
    if (next > i + 1) { // too many to be told apart
      context.fillRect(xOf(marks.begin[i]), y + 1, Math.min(4, next - i), STRIP - 2);
    } else {
      drawSign(context, sign, xOf(marks.begin[i]), y + STRIP / 2);
    }
    i = next;
  }
}

const CORNERS = {
  left: [[-4, 0], [3, -4], [3, 4]],
  up: [[0, -4], [3.5, 3], [-3.5, 3]],
  down: [[0, 4], [3.5, -3], [-3.5, -3]],
  diamond: [[0, -4], [4, 0], [0, 4], [-4, 0]],
  square: [[-3, -3], [3, -3], [3, 3], [-3, 3]],
  frame: [[-3, -3], [3, -3], [3, 3], [-3, 3]],
  bar: [[-1, -4], [1, -4], [1, 4], [-1, 4]],
  glass: [[-3, -4], [3, -4], [-3, 4], [3, 4]],
};

function drawSign(context, sign, x, y) {
  context.beginPath();
  if (sign === 'circle') {
    context.arc(x, y, 3, 0, 7);
  } else {
    CORNERS[sign].forEach(([dx, dy], i) => context[i ? 'lineTo' : 'moveTo'](x + dx, y + dy));
    context.closePath();
  }
  if (sign === 'frame') {
    context.lineWidth = 1;
    context.stroke();
  } else {
    context.fill();
  }
}

// The mark at a place, within a few pixels; -1 for none.
function markAt({marks}, x) {
  const next = firstIndex(0, marks.rows, (m) => marks.begin[m] >= timeAt(x));
  const apart = (m) => m >= 0 && m < marks.rows ? Math.abs(xOf(marks.begin[m]) - x) : Infinity;
  const nearest = apart(next - 1) < apart(next) ? next - 1 : next;
  return apart(nearest) <= 5 ? nearest : -1;
}

// What a mark says, in words.
function markText(trace, {marks}, i) {
  const kind = trace.head.marks[marks.kind[i]];
  const number = marks.number[i] - 1;
  const worker = number < 0 ? 'nobody known' : nameOfWorker(trace, number);
  switch (kind) {
    case 'read': return `read ${counted(marks.bytes[i], 'byte')} from fd ${number}`;
    case 'write': return `wrote ${counted(marks.bytes[i], 'byte')} to fd ${number}`;
    case 'poll': return `polled: ${counted(Math.max(0, number), 'event')}`;
    case 'wake': return `woke ${worker}`;
    case 'steal': return number < 0 ? 'stole work from the shared queue' : `stole work from ${worker}`;
    case 'rescue': return number < 0 ? 'rescued work' : `rescued work of ${worker}`;
    case 'stall': return `the task kept its worker for ${Math.max(0, number)} ms`;
    case 'take over': return `took over for ${worker}`;
    default: return 'retired again';
  }
}

const APART = 1 << 20; // columns.py: the numbers of workers of one process, from those of the next one

function nameOfWorker(trace, number) {
  const track = trace.byNumber.get(number);
  return track ? track.name : `worker ${number % APART}`;
}
