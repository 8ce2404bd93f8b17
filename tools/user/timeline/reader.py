"""
reader.py: reads the file of a trace, event by event, and says where it is damaged.

A trace may have millions of events, so the file is never in memory as a whole. thrum_trace_write writes an event a
line: a block of such lines is read at once, which is fast. What is laid out otherwise is read one event at a time.
"""
import codecs
import json

BLOCK = 1 << 22  # bytes that are read at a time
VALUE_MAX = 64 << 20  # characters of one value: those of a trace have a few hundred
SPACE = " \t\r\n"


class Damaged(Exception):
    """The file is no trace, or not a whole one. The text says why, in one line."""


def no_number(text):
    raise ValueError(f"{text} is no number of JSON's")


DECODER = json.JSONDecoder(parse_constant=no_number)


class Source:
    """The text of a file, as far as it has been read and not yet been taken."""

    def __init__(self, file):
        self.file = file
        self.decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self.text = ""
        self.at = 0
        self.ended = False
        self.events = 0

    def more(self):
        """Reads a block more. False at the end of the file."""
        if self.ended:
            return False
        # As much again as is kept: a value of many blocks is not decoded once for each.
        block = self.file.read(max(BLOCK, len(self.text) - self.at))
        self.ended = not block
        self.text = self.text[self.at:] + self.decode(block, self.ended)
        self.at = 0
        return True

    def peek(self):
        """The next character that is no space; "" at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in SPACE:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def fail(self):
        if self.peek() == "":
            raise Damaged(f"it is cut off after {self.events} events" if self.events else "it is cut off")
        if self.events:
            raise Damaged(f"it is damaged after {self.events} events")
        raise Damaged("this is no trace of thrum's")

    def want(self, character):
        if self.peek() != character:
            self.fail()
        self.at += 1

    def value(self):
        """The next value of JSON's. A block that ends within it is no end of the file."""
        while True:
            self.peek()
            try:
                value, end = DECODER.raw_decode(self.text, self.at)
                if end < len(self.text) or not self.more():
                    self.at = end
                    return value
            except RecursionError:
                raise Damaged(f"it is damaged after {self.events} events: brackets without end") from None
            except ValueError:
                if len(self.text) - self.at > VALUE_MAX:
                    raise Damaged(f"it is damaged after {self.events} events, or has a value of more than {VALUE_MAX >> 20} MB") from None
                if not self.more():
                    if self.events or self.text[self.at:self.at + 1] in ("", "{", '"', "["):
                        raise Damaged(f"it is cut off or damaged after {self.events} events") from None
                    self.fail()


def take_lines(source):
    """The events of the lines that are there, if they are an event each, else None."""
    end = source.text.rfind("},\n", source.at)
    if end < 0:
        return None
    try:
        events = json.loads("[" + source.text[source.at:end + 1] + "]", parse_constant=no_number)
    except (ValueError, RecursionError):
        return None
    source.at = end + 3
    return events


def give(source, events, take):
    """Gives events to `take`, and says which one it was if it cannot be taken."""
    number = source.events
    try:
        for number, event in enumerate(events, number + 1):
            take(event)
    except (ValueError, TypeError, AttributeError, OverflowError) as why:
        what = why if type(why) is ValueError else "a member, or all of it, is of the wrong kind"
        raise Damaged(f"event {number} is damaged: {what}") from None
    source.events = number


def take_array(source, take):
    """Gives every element of an array to `take`."""
    source.want("[")
    if source.peek() == "]":
        source.at += 1
        return
    by_lines = True
    while True:
        if len(source.text) - source.at < BLOCK // 2:
            source.more()
        events = take_lines(source) if by_lines else None
        if events is not None:
            give(source, events, take)
            continue
        by_lines = False  # near the end; or it is laid out otherwise; or damaged, and value() finds where
        give(source, [source.value()], take)
        if source.peek() == "]":
            source.at += 1
            return
        source.want(",")


def read_trace(file, columns):
    """Reads a whole trace into columns, and returns them."""
    source = Source(file)
    found = False
    if source.peek() == "":
        raise Damaged("the file is empty")
    source.want("{")
    while True:
        if source.peek() != '"':
            source.fail()
        key = source.value()
        source.want(":")
        if key == "traceEvents" and not found:
            found = True
            take_array(source, columns.take)
        else:
            value = source.value()
            if key == "otherData":
                columns.take_rest(value)
        if source.peek() == "}":
            break
        source.want(",")
    source.at += 1
    if source.peek() != "":
        raise Damaged("something follows its end")
    if not found:
        raise Damaged("this is no trace of thrum's: it has no traceEvents")
    columns.events += source.events
    return columns
